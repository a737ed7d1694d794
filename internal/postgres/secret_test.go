package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/postgrestest"
	"outboxrelay/internal/secretstest"
)

const secretARN = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:outbox/relay-AbCdEf"

// secretsFunc is a SecretsManager for tests.
type secretsFunc func(context.Context) (*secretsmanager.GetSecretValueOutput, error)

func (f secretsFunc) GetSecretValue(
	ctx context.Context, _ *secretsmanager.GetSecretValueInput, _ ...func(*secretsmanager.Options),
) (*secretsmanager.GetSecretValueOutput, error) {
	return f(ctx)
}

// holding is a SecretsManager with one secret.
func holding(text string) SecretsManager {
	return secretsFunc(func(context.Context) (*secretsmanager.GetSecretValueOutput, error) {
		return &secretsmanager.GetSecretValueOutput{SecretString: &text}, nil
	})
}

// manager is the SDK's client of the stand-in.
func manager(server *secretstest.Server) SecretsManager {
	return secretsmanager.New(secretsmanager.Options{
		BaseEndpoint: aws.String(server.URL()),
		Region:       "eu-west-1",
		Credentials:  credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})
}

// full is a secret as a template makes it.
func full(db *postgrestest.Database, user, password string) string {
	text, err := json.Marshal(map[string]any{
		"engine": "postgres", "host": "127.0.0.1", "port": db.Server.Port(), "dbname": db.Name,
		"username": user, "password": password, "dbInstanceIdentifier": "db-1",
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestLogsInWithAnyNameAndPassword(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	for i, text := range []string{
		`p@ss/w:rd?`, `100%sure`, `a b'c\d`, `x#y`, `[z]`, `"`, `$HOME`, `pässwörd€🔑`, `a&b=c`, ` blanks `, `host=evil sslmode=disable`, "two\nlines",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()

			user, name := fmt.Sprintf("%s %d", text, i), fmt.Sprintf("%s %s", db.Name, text)
			createLogin(t, db, user, text)
			createDatabase(t, db, name)
			server := secretstest.New(t)
			secret, err := json.Marshal(map[string]any{
				"host": "127.0.0.1", "port": db.Server.Port(), "dbname": name, "username": user, "password": text,
			})
			require.NoError(t, err)
			server.Set(secretARN, string(secret))

			conn := mustConnect(t, Settings{SecretARN: secretARN, SSLMode: "disable"}, manager(server))
			require.Equal(t, user, scalar(t, conn, "select current_user"))
			require.Equal(t, name, scalar(t, conn, "select current_database()"))

			server.Set(secretARN, strings.Replace(string(secret), `"password":`, `"password":"wrong","old":`, 1))
			err = connectFailure(t, Settings{SecretARN: secretARN, SSLMode: "disable"}, manager(server))
			require.ErrorContains(t, err, "(SQLSTATE 28P01)")
		})
	}
}

// createLogin makes a role that the server asks for its password.
func createLogin(t *testing.T, db *postgrestest.Database, name, password string) {
	t.Helper()
	quoted := pgx.Identifier{name}.Sanitize()
	db.Exec(t, fmt.Sprintf("create role %s login password '%s' in role postgrestest_password",
		quoted, strings.ReplaceAll(password, "'", "''")))
	t.Cleanup(func() { db.Exec(t, "drop role "+quoted) })
}

func createDatabase(t *testing.T, db *postgrestest.Database, name string) {
	t.Helper()
	quoted := pgx.Identifier{name}.Sanitize()
	db.Exec(t, "create database "+quoted)
	t.Cleanup(func() { db.Exec(t, "drop database "+quoted+" with (force)") })
}

func TestTakesEveryShapeOfSecret(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	login := db.CreateLogin(t)
	at := fmt.Sprintf("postgres://127.0.0.1:%d/%s?sslmode=disable", db.Server.Port(), db.Name)
	user := fmt.Sprintf(`"username":%q,"password":%q`, login.Name, login.Password)
	for name, test := range map[string]struct{ url, secret string }{
		"Everything":          {"", full(db, login.Name, login.Password)},
		"PortAsText":          {"", fmt.Sprintf(`{%s,"host":"127.0.0.1","port":"%d","dbname":%q}`, user, db.Server.Port(), db.Name)},
		"DatabaseByItsName":   {"", fmt.Sprintf(`{%s,"host":"127.0.0.1","port":%d,"database":%q}`, user, db.Server.Port(), db.Name)},
		"OnlyTheLogin":        {at, "{" + user + "}"},
		"EmptyAndNull":        {at, "{" + user + `,"host":"","port":null,"dbname":null,"engine":""}`},
		"SettingsPrevail":     {at, "{" + user + `,"host":"db.invalid","port":1,"dbname":"nowhere"}`},
		"SecretsLoginPrevail": {strings.Replace(at, "://", "://nobody:nothing@", 1), "{" + user + "}"},
		"ExtraMembers":        {at, "{" + user + `,"masterarn":"arn:x","tags":["a"],"engine":"aurora-postgresql"}`},
		"PortIsDefault": {
			fmt.Sprintf("host=%s port=%d sslmode=disable", db.Server.SocketDirectory(), db.Server.Port()),
			"{" + user + `,"dbname":"` + db.Name + `"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			server := secretstest.New(t)
			server.Set(secretARN, test.secret)
			conn := mustConnect(t, Settings{URL: test.url, SecretARN: secretARN, SSLMode: "disable"}, manager(server))

			require.Equal(t, login.Name, scalar(t, conn, "select current_user"))
			require.Equal(t, db.Name, scalar(t, conn, "select current_database()"))
		})
	}
}

func TestSaysWhatIsWrongWithASecret(t *testing.T) {
	t.Parallel()

	for secret, problem := range map[string]string{
		``:                               "is no JSON object",
		`hunter2`:                        "is no JSON object",
		`"hunter2"`:                      "is no JSON object",
		`["hunter2"]`:                    "is no JSON object",
		`{"password":"hunter2"`:          "is no JSON object",
		`null`:                           "has no username, has no password",
		`{}`:                             "has no username, has no password",
		`{"hunter2":"hunter2"}`:          "has no username, has no password",
		`{"user":"u","pass":"hunter2"}`:  "has no username, which user would have to be called, has no password, which pass would have to be called",
		`{"Username":"u"}`:               "has no username, which Username would have to be called",
		`{"username":"u","password":12}`: "has no text as password",
		`hunter2=hunter2`:                "is no JSON object",
		`12`:                             "is no JSON object",
		`true`:                           "is no JSON object",
		`{"username":"hunter2"}`:         "has no password",
		`{"username":"u","password":"p","host":"postgres://u:hunter2@db"}`:        "has a host with other things in it",
		`{"username":"u","password":"p","dbname":"postgres://u:hunter2@db/shop"}`: "has a URL as dbname",
		`{"username":"` + strings.Repeat("u", 300) + `","password":"hunter2"}`:    "has a username of 300 bytes: expected at most 255",
		`{"password":"hunter2"}`:                                                    "has no username",
		`{"username":"u","password":""}`:                                            "has no password",
		`{"username":"u","password":["hunter2"]}`:                                   "has no text as password",
		`{"username":"u","password":"hunter2","port":"hunter2"}`:                    "has a port that is no number from 1 to 65535",
		`{"username":"u","password":"hunter2","port":0}`:                            "has a port",
		`{"username":"u","password":"hunter2","port":65536}`:                        "has a port",
		`{"username":"u","password":"hunter2","port":[1]}`:                          "has a port",
		`{"username":"u","password":"hunter2","engine":"mysql"}`:                    "has an engine other than postgres",
		`{"username":"u","password":"hunter2","engine":"sqlserver","port":"1433"}`:  "has an engine other than postgres",
		`{"username":"u","password":"hunter2","engine":"hunter2"}`:                  "has an engine other than postgres",
		`{"username":"u","password":"hunter2","engine":5}`:                          "has no text as engine",
		`{"username":"u","password":"hunter2","port":5432.5}`:                       "has a port that is no number from 1 to 65535",
		`{"username":"u","password":"hunter2","port":-1}`:                           "has a port",
		`{"username":"u","password":"hunter2","host":{"hunter2":1}}`:                "has no text as host",
		`{"username":"u","password":"hunter2","dbname":"d"}`:                        "has no host: set PGHOST, or add host to it",
		`{"username":"u","password":"hunter2","host":"db.invalid"}`:                 "has no dbname: set PGDATABASE, or add dbname to it",
		`{"username":"u","password":"hunter2","host":"db.invalid","dbname":"hunt"}`: "check the host name",
	} {
		t.Run(secret, func(t *testing.T) {
			t.Parallel()

			server := secretstest.New(t)
			server.Set(secretARN, secret)
			err := connectFailure(t, Settings{SecretARN: secretARN}, manager(server))

			require.ErrorContains(t, err, problem)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
	t.Run("Binary", func(t *testing.T) {
		t.Parallel()

		server := secretstest.New(t)
		server.SetBinary(secretARN, []byte("hunter2"))
		err := connectFailure(t, Settings{SecretARN: secretARN}, manager(server))

		require.EqualError(t, err, "secret "+secretARN+" is binary: expected JSON text with username and password")
	})
}

func TestSaysWhyASecretCannotBeRead(t *testing.T) {
	t.Parallel()

	for advice, fault := range map[string]secretstest.Fault{
		"grant the function's role secretsmanager:GetSecretValue": secretstest.AccessDenied(),
		"check the ARN (DATABASE_SECRET_ARN)":                     secretstest.NotFound(),
		"kms:Decrypt":                                             secretstest.Refuse(400, "DecryptionFailure", "Secrets Manager can't decrypt"),
		"marked for deletion":                                     secretstest.Refuse(400, "InvalidRequestException", "You can't perform this operation"),
		"; this may pass":                                         secretstest.Refuse(400, "LimitExceededException", "no"),
	} {
		t.Run(advice, func(t *testing.T) {
			t.Parallel()

			server := secretstest.New(t)
			server.Always(fault)
			err := connectFailure(t, Settings{SecretARN: secretARN}, manager(server))

			require.ErrorContains(t, err, "secret "+secretARN+" cannot be read from AWS Secrets Manager: ")
			require.ErrorContains(t, err, advice)
		})
	}
}

func TestSaysThatSecretsManagerDoesNotAnswer(t *testing.T) {
	t.Parallel()

	server := secretstest.New(t)
	server.Always(secretstest.Hang())
	connector, err := NewConnector(Settings{SecretARN: secretARN}, manager(server))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()

	_, err = connector.Connect(ctx)

	require.ErrorContains(t, err, "an interface endpoint for secretsmanager, or a NAT gateway")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestReadsTheSecretAgainWhenTheLoginIsRefused(t *testing.T) {
	t.Parallel()

	for name, rotate := range map[string]func(*testing.T, *postgrestest.Database, postgrestest.Login) (user, code string){
		"PasswordChanged": func(t *testing.T, db *postgrestest.Database, login postgrestest.Login) (string, string) {
			t.Helper()
			db.Exec(t, "alter role "+login.Name+" password 'second'")
			return login.Name, "28P01"
		},
		"UserChanged": func(t *testing.T, db *postgrestest.Database, login postgrestest.Login) (string, string) {
			t.Helper()
			other := db.CreateLogin(t)
			db.Exec(t, "alter role "+other.Name+" password 'second'")
			db.Exec(t, "alter role "+login.Name+" nologin")
			return other.Name, "28000"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := postgrestest.New(t)
			login := db.CreateLogin(t)
			server := secretstest.New(t)
			server.Set(secretARN, full(db, login.Name, login.Password))
			connector, err := NewConnector(Settings{SecretARN: secretARN, SSLMode: "disable"}, manager(server))
			require.NoError(t, err)
			connectOnce := func() error {
				conn, err := connector.Connect(t.Context())
				if err == nil {
					err = conn.Close(t.Context())
				}
				return err
			}
			require.NoError(t, connectOnce())

			// The database first: until the secret follows, a run fails.
			user, code := rotate(t, db, login)
			err = connectOnce()
			require.ErrorContains(t, err, "(SQLSTATE "+code+")")
			require.ErrorContains(t, err, "the secret, read again, still holds this login")
			require.Equal(t, []string{"AWSCURRENT", "AWSCURRENT", "AWSPENDING"}, stages(server))

			server.Set(secretARN, full(db, user, "second"))
			require.NoError(t, connectOnce())
			require.NoError(t, connectOnce())
			require.Equal(t, 4, server.CallCount())
		})
	}
}

func TestSaysBothWhenTheSecretCannotBeReadAgain(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	login := db.CreateLogin(t)
	server := secretstest.New(t)
	server.Set(secretARN, full(db, login.Name, "wrong"))
	server.Script(secretstest.Fault{}, secretstest.AccessDenied())

	err := connectFailure(t, Settings{SecretARN: secretARN, SSLMode: "disable"}, manager(server))

	require.ErrorContains(t, err, "(SQLSTATE 28P01)")
	require.ErrorContains(t, err, "; then secret "+secretARN+" cannot be read")
}

// Not parallel: it changes the environment.
func TestVariablesPrevailOverTheSecret(t *testing.T) {
	db := postgrestest.New(t)
	login := db.CreateLogin(t)
	port := fmt.Sprint(db.Server.Port())
	t.Setenv("PGHOST", "127.0.0.1")
	t.Setenv("PGPORT", port)
	t.Setenv("PGDATABASE", db.Name)
	settings := Settings{SecretARN: secretARN, Host: "127.0.0.1", Port: port, Database: db.Name, SSLMode: "disable"}

	conn := mustConnect(t, settings, holding(fmt.Sprintf(
		`{"username":%q,"password":%q,"host":"db.invalid","port":1,"dbname":"nowhere"}`, login.Name, login.Password)))

	require.Equal(t, login.Name, scalar(t, conn, "select current_user"))
}
