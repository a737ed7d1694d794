package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/postgrestest"
)

// tokens stands in for the signing, and for RDS: the database takes a token as it
// was made last.
type tokens struct {
	asked   []string // endpoint and user of each
	deny    int      // so many tokens that the database does not take, at first
	refused error
}

// iam is a database that is to be logged in to by token, with TLS alone and by a
// password in the clear, as with RDS.
type iam struct {
	db       *postgrestest.Database
	login    postgrestest.Login
	settings Settings
	*tokens
}

func newIAM(t *testing.T) *iam {
	t.Helper()
	ca := newAuthority(t, "Own CA")
	certFile, keyFile := ca.issue(t, "localhost")
	db := postgrestest.New(t, postgrestest.On(postgrestest.NewServer(t, postgrestest.Options{
		CertFile: certFile, KeyFile: keyFile, HBA: []string{"hostssl all +postgrestest_password all password"},
	})))
	i := &iam{db: db, login: db.CreateLogin(t), tokens: &tokens{}}
	i.settings = Settings{
		URL: fmt.Sprintf("postgres://%s@localhost:%d/%s?sslrootcert=%s", i.login.Name, db.Server.Port(), db.Name, ca.bundle(t)),
		Sign: func(_ context.Context, endpoint, user string) (string, error) {
			i.asked = append(i.asked, endpoint+" "+user)
			token := fmt.Sprintf("%s?Action=connect&DBUser=%s&X-Amz-Signature=%d", endpoint, user, len(i.asked))
			if len(i.asked) > i.deny {
				//nolint:contextcheck // it is the test's, which the connection's ends before
				db.Exec(t, fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", i.login.Name, token))
			}
			return token, i.refused
		},
	}
	return i
}

func (i *iam) expected() string {
	return fmt.Sprintf("localhost:%d %s", i.db.Server.Port(), i.login.Name)
}

// Those of one sandbox may be hours apart, and a token lasts for 15 minutes.
func TestEachConnectionHasATokenOfItsOwn(t *testing.T) {
	t.Parallel()

	i := newIAM(t)
	connector, err := NewConnector(i.settings, nil)
	require.NoError(t, err)
	require.Empty(t, i.asked, "nobody has connected")

	for n := 1; n <= 3; n++ {
		conn, err := connector.Connect(t.Context())
		require.NoError(t, err)
		require.Equal(t, i.login.Name, scalar(t, conn, "select current_user"))
		require.Len(t, i.asked, n)
		require.Equal(t, i.expected(), i.asked[n-1])
		require.NoError(t, conn.Close(t.Context()))
	}
	require.Empty(t, connector.config.Password, "nothing is kept")
}

func TestATokenThatIsRefusedIsFollowedByOneMore(t *testing.T) {
	t.Parallel()

	i := newIAM(t)
	i.deny = 1

	mustConnect(t, i.settings, nil)

	require.Equal(t, []string{i.expected(), i.expected()}, i.asked)
}

func TestSaysWhatIAMTakesWhereTokensAreRefused(t *testing.T) {
	t.Parallel()

	i := newIAM(t)
	i.deny = 9

	err := connectFailure(t, i.settings, nil)

	require.ErrorContains(t, err, "(SQLSTATE 28P01)")
	require.ErrorContains(t, err, "GRANT rds_iam to the user, grant the function's role rds-db:connect")
	require.NotContains(t, err.Error(), "X-Amz-Signature")
	require.Len(t, i.asked, 2)
}

// What is no refusal is not tried again.
func TestATokenThatCannotBeMadeOrSentIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()

	i := newIAM(t)
	i.refused = errors.New("no credentials")
	err := connectFailure(t, i.settings, nil)
	require.ErrorIs(t, err, i.refused)
	require.ErrorContains(t, err, fmt.Sprintf("sign a token for %s at localhost:%d: ", i.login.Name, i.db.Server.Port()))
	require.ErrorContains(t, err, "check the credentials of the function's role")
	require.Len(t, i.asked, 1)

	i.refused, i.settings.URL = nil, fmt.Sprintf("postgres://u@localhost:%d/app", closedPort(t))
	err = connectFailure(t, i.settings, nil)
	require.ErrorContains(t, err, "check the port")
	require.NotContains(t, err.Error(), "X-Amz-Signature")
	require.Len(t, i.asked, 2)
}

func TestRefusesSettingsThatTokensCannotBeUsedWith(t *testing.T) {
	t.Parallel()

	const noUser, noHost, noTLS = "there is no user: set PGUSER", "there is no host: set PGHOST", "the connection has no TLS"
	unsigned := func(context.Context, string, string) (string, error) { return "", nil }
	const several, password = "there are several hosts", "there is a password: take it out of DATABASE_URL"
	for name, test := range map[string]struct {
		settings Settings
		problems []string
	}{
		"Nothing":         {Settings{URL: ""}, []string{noUser, noHost}},
		"NoUser":          {Settings{URL: "postgres://db/app"}, []string{noUser}},
		"NoUserKeyword":   {Settings{URL: "host=db user=''"}, []string{noUser}},
		"NoHost":          {Settings{URL: "postgres://relay@/app"}, []string{noHost}},
		"NoHostByDefault": {Settings{User: "relay"}, []string{noHost}},
		"Several":         {Settings{URL: "postgres://relay@a,b/app"}, []string{several}},
		"Password":        {Settings{URL: "postgres://relay:hunter2@db/app"}, []string{password}},
		"Plaintext":       {Settings{URL: "postgres://relay@db/app?sslmode=disable"}, []string{noTLS}},
		"PlaintextByPG":   {Settings{URL: "postgres://relay@db/app", SSLMode: "disable"}, []string{noTLS}},
		"Socket":          {Settings{URL: "host=/run/postgresql user=relay"}, []string{noTLS}},
		"Everything":      {Settings{URL: "host=a,b password=hunter2 sslmode=disable"}, []string{noUser, password, several, noTLS}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			test.settings.Sign = unsigned
			_, err := NewConnector(test.settings, nil)

			require.ErrorContains(t, err, "connect to postgres: DATABASE_IAM_AUTH is true, but ")
			for _, problem := range []string{noUser, noHost, noTLS, several, password} {
				if slices.Contains(test.problems, problem) {
					require.ErrorContains(t, err, problem)
				} else {
					require.NotContains(t, err.Error(), problem)
				}
			}
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
	for _, mode := range []string{"allow", "prefer"} {
		_, err := NewConnector(Settings{URL: "postgres://relay@db/app", SSLMode: mode, Sign: unsigned}, nil)
		require.ErrorContains(t, err, "sslmode="+mode+" falls back to plaintext silently")
	}
}

// The clock stands still at the beginning of 2000.
func TestATokenIsAsRDSWantsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signer, err := RDSSigner(aws.Config{
			Region:      "eu-west-1",
			Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", "SESSION"),
		})
		require.NoError(t, err)

		token, err := signer(t.Context(), "outbox.cluster-1.eu-west-1.rds.amazonaws.com:5432", "relay user")

		require.NoError(t, err)
		parsed, err := url.Parse("https://" + token)
		require.NoError(t, err)
		require.Equal(t, "outbox.cluster-1.eu-west-1.rds.amazonaws.com:5432", parsed.Host)
		values := parsed.Query()
		require.Regexp(t, "^[0-9a-f]{64}$", values.Get("X-Amz-Signature"))
		values.Del("X-Amz-Signature")
		require.Equal(t, url.Values{
			"Action": {"connect"}, "DBUser": {"relay user"},
			"X-Amz-Algorithm": {"AWS4-HMAC-SHA256"}, "X-Amz-Credential": {"AKID/20000101/eu-west-1/rds-db/aws4_request"},
			"X-Amz-Date": {"20000101T000000Z"}, "X-Amz-Expires": {"900"}, "X-Amz-SignedHeaders": {"host"}, "X-Amz-Security-Token": {"SESSION"},
		}, values)

		<-time.After(time.Minute)
		again, err := signer(t.Context(), "outbox.cluster-1.eu-west-1.rds.amazonaws.com:5432", "relay user")
		require.NoError(t, err)
		require.NotEqual(t, token, again)
	})
}

// Those of a role are renewed while a sandbox lives.
func TestATokenIsSignedWithCredentialsThatAreGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made := 0
		signer, err := RDSSigner(aws.Config{Region: "eu-west-1", Credentials: aws.NewCredentialsCache(
			aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				made++
				return aws.Credentials{
					AccessKeyID: fmt.Sprintf("AKID%d", made), SecretAccessKey: "SECRET",
					CanExpire: true, Expires: time.Now().Add(10 * time.Minute),
				}, nil
			}))})
		require.NoError(t, err)

		for signed, expected := range []string{"AKID1", "AKID1", "AKID2"} {
			token, err := signer(t.Context(), "db:5432", "relay")
			require.NoError(t, err)
			require.Contains(t, token, "X-Amz-Credential="+expected+"%2F", "token %d", signed+1)
			<-time.After(6 * time.Minute)
		}
	})
}

func TestSaysThatCredentialsForATokenHaveExpired(t *testing.T) {
	t.Parallel()

	i := newIAM(t)
	for problem, provider := range map[string]aws.CredentialsProvider{
		"they expired at 2026-11-30T12:00:00Z": aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{
				AccessKeyID: "AKID", SecretAccessKey: "hunter2", SessionToken: "hunter2",
				CanExpire: true, Expires: time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC),
			}, nil
		}),
		"there are none": nil,
	} {
		var err error
		i.settings.Sign, err = RDSSigner(aws.Config{Region: "eu-west-1", Credentials: provider})
		require.NoError(t, err)

		err = connectFailure(t, i.settings, nil)

		require.ErrorContains(t, err, problem)
		require.ErrorContains(t, err, "check the credentials of the function's role")
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestWantsARegionForTokens(t *testing.T) {
	t.Parallel()

	_, err := RDSSigner(aws.Config{})

	require.EqualError(t, err, "DATABASE_IAM_AUTH is true, but no Region is set: set AWS_REGION to the database's")
}
