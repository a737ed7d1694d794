package postgres

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/postgrestest"
	"outboxrelay/internal/secretstest"
)

// within is the SDK's client of the stand-in without a network between them, so
// that its pauses are of virtual time.
type within struct {
	*secretstest.Server

	silent bool // nothing answers
	tried  int
}

// Do answers at once, or never.
func (w *within) Do(request *http.Request) (*http.Response, error) {
	w.tried++
	if w.silent {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	answer := httptest.NewRecorder()
	w.ServeHTTP(answer, request)
	return answer.Result(), nil
}

// virtually runs a test of a secret, whose user is u, in virtual time.
func virtually(t *testing.T, test func(t *testing.T, s *secret, server *within)) {
	t.Helper()
	server := &within{Server: secretstest.New(t)}
	server.Set(secretARN, `{"username":"u","password":"p"}`)
	client := secretsmanager.New(secretsmanager.Options{
		HTTPClient:  server,
		Region:      "eu-west-1",
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})
	synctest.Test(t, func(t *testing.T) {
		test(t, &secret{arn: secretARN, manager: client}, server)
	})
}

// stages are what the calls so far asked for.
func stages(server *secretstest.Server) (asked []string) {
	for _, call := range server.Calls() {
		asked = append(asked, call.VersionStage)
	}
	return asked
}

func TestKeepsASecretForItsTime(t *testing.T) {
	t.Parallel()

	server := secretstest.New(t)
	server.Set(secretARN, `{"username":"u","password":"p"}`)
	s := &secret{arn: secretARN, manager: manager(server)}
	start := time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

	for i := range 100 {
		_, err := s.read(t.Context(), start.Add(time.Duration(i)*time.Second), nil)
		require.NoError(t, err)
	}
	require.Equal(t, 1, server.CallCount())
	_, err := s.read(t.Context(), start.Add(secretTTL), nil)
	require.NoError(t, err)
	require.Equal(t, 2, server.CallCount())
}

func TestReadsASecretOnceForAllWhoWait(t *testing.T) {
	t.Parallel()

	server := secretstest.New(t)
	server.Set(secretARN, `{"username":"u","password":"p"}`)
	s := &secret{arn: secretARN, manager: manager(server)}

	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { _, _ = s.read(t.Context(), time.Now(), nil) })
	}
	all.Wait()

	require.Equal(t, 1, server.CallCount())
}

func TestDoesNotKeepAFailure(t *testing.T) {
	t.Parallel()

	server := secretstest.New(t)
	server.Set(secretARN, `{"username":"u","password":"p"}`)
	server.Script(secretstest.NotFound())
	s := &secret{arn: secretARN, manager: manager(server)}

	_, err := s.read(t.Context(), time.Now(), nil)
	require.Error(t, err)
	_, err = s.read(t.Context(), time.Now(), nil)
	require.NoError(t, err)
}

// outages are what says nothing about the secret.
func outages() map[string]func(*within) {
	always := func(fault secretstest.Fault) func(*within) { return func(server *within) { server.Always(fault) } }
	return map[string]func(*within){
		"Throttled":    always(secretstest.Throttle()),
		"BrokenThere":  always(secretstest.InternalServiceError()),
		"Unavailable":  always(secretstest.Refuse(503, "ServiceUnavailable", "no")),
		"TokenExpired": always(secretstest.Refuse(400, "ExpiredTokenException", "The security token included in the request is expired")),
		"NoAnswer":     func(server *within) { server.silent = true },
	}
}

// end ends an outage.
func (w *within) end() {
	w.Clear()
	w.silent = false
}

// The database takes the login, as far as anyone knows.
func TestALoginOutlivesItsTimeWhileSecretsManagerIsOut(t *testing.T) {
	t.Parallel()

	for name, outage := range outages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			virtually(t, func(t *testing.T, s *secret, server *within) {
				first, err := s.read(t.Context(), time.Now(), nil)
				require.NoError(t, err)
				server.Set(secretARN, `{"username":"u","password":"second"}`)
				outage(server)
				<-time.After(24 * time.Hour)

				late, began := time.Now(), server.tried
				login, err := s.read(t.Context(), late, nil)
				require.NoError(t, err)
				require.Same(t, first, login)
				require.LessOrEqual(t, time.Since(late), spareTimeout)
				tried := server.tried
				require.Greater(t, tried, began)

				login, err = s.read(t.Context(), late.Add(secretPause-1), nil)
				require.NoError(t, err)
				require.Same(t, first, login)
				require.Equal(t, tried, server.tried, "not at every connection")

				server.end()
				login, err = s.read(t.Context(), late.Add(secretPause), nil)
				require.NoError(t, err)
				require.Equal(t, "second", login.password)
			})
		})
	}
}

func TestALoginThatWasRefusedIsNotUsedForWantOfAnother(t *testing.T) {
	t.Parallel()

	for name, outage := range outages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			virtually(t, func(t *testing.T, s *secret, server *within) {
				first, err := s.read(t.Context(), time.Now(), nil)
				require.NoError(t, err)
				outage(server)

				_, err = s.read(t.Context(), time.Now(), first)
				require.ErrorContains(t, err, "cannot be read from AWS Secrets Manager")

				server.end()
				_, err = s.read(t.Context(), time.Now(), first)
				require.NoError(t, err)
			})
		})
	}
}

// Otherwise it would show when the last sandbox goes that has a login.
func TestADefiniteAnswerEndsALoginWithItsTime(t *testing.T) {
	t.Parallel()

	for name, change := range map[string]func(*within){
		"Denied":    func(server *within) { server.Always(secretstest.AccessDenied()) },
		"Missing":   func(server *within) { server.Always(secretstest.NotFound()) },
		"Encrypted": func(server *within) { server.Always(secretstest.Refuse(400, "DecryptionFailure", "no")) },
		"Deleted": func(server *within) {
			server.Always(secretstest.Refuse(400, "InvalidRequestException", "no"))
		},
		"Binary":     func(server *within) { server.SetBinary(secretARN, []byte("x")) },
		"NoPassword": func(server *within) { server.Set(secretARN, `{"username":"u"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			virtually(t, func(t *testing.T, s *secret, server *within) {
				_, err := s.read(t.Context(), time.Now(), nil)
				require.NoError(t, err)
				change(server)

				_, err = s.read(t.Context(), time.Now().Add(secretTTL-1), nil)
				require.NoError(t, err)
				_, err = s.read(t.Context(), time.Now().Add(secretTTL), nil)
				require.ErrorContains(t, err, "secret "+secretARN)
			})
		})
	}
}

func TestARunThatIsOverGetsNoLogin(t *testing.T) {
	t.Parallel()

	virtually(t, func(t *testing.T, s *secret, server *within) {
		_, err := s.read(t.Context(), time.Now(), nil)
		require.NoError(t, err)
		server.silent = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		_, err = s.read(ctx, time.Now().Add(secretTTL), nil)

		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestACallEndsInTime(t *testing.T) {
	t.Parallel()

	virtually(t, func(t *testing.T, s *secret, server *within) {
		server.silent = true
		start := time.Now()

		_, err := s.read(t.Context(), start, nil)

		require.ErrorContains(t, err, "no answer within 10s")
		require.Equal(t, secretTimeout, time.Since(start))

		start = time.Now()
		_, err = s.pending(t.Context())
		require.Error(t, err)
		require.Equal(t, spareTimeout, time.Since(start))
	})
}

// A sandbox is frozen between invocations, and so is its monotonic clock; a
// clock that is set back makes no login young.
func TestTheAgeOfALoginIsByTheWallClock(t *testing.T) {
	t.Parallel()

	server := secretstest.New(t)
	server.Set(secretARN, `{"username":"u","password":"p"}`)
	s, now := &secret{arn: secretARN, manager: manager(server)}, time.Now()
	_, err := s.read(t.Context(), now, nil)
	require.NoError(t, err)
	require.Contains(t, now.String(), " m=", "it has a reading of the monotonic clock")
	require.NotContains(t, s.at.String(), " m=")

	_, err = s.read(t.Context(), now.Add(-time.Second), nil)
	require.NoError(t, err)
	require.Equal(t, 2, server.CallCount())
	_, err = s.read(t.Context(), now.Add(secretTTL-2*time.Second), nil)
	require.NoError(t, err)
	require.Equal(t, 2, server.CallCount())
}

func TestSurvivesThrottling(t *testing.T) {
	t.Parallel()

	virtually(t, func(t *testing.T, s *secret, server *within) {
		server.Script(secretstest.Repeat(2, secretstest.Throttle())...)

		_, err := s.read(t.Context(), time.Now(), nil)

		require.NoError(t, err)
		require.Equal(t, 3, server.CallCount())
	})
}

// The SDK has a budget for retries, which hours of refusals use up.
func TestThrottlingBeyondAllRetriesLeavesTheNextRunItsOwn(t *testing.T) {
	t.Parallel()

	virtually(t, func(t *testing.T, s *secret, server *within) {
		server.Always(secretstest.Throttle())
		for range 200 {
			_, err := s.read(t.Context(), time.Now(), nil)
			require.ErrorContains(t, err, "; this may pass")
		}
		require.Equal(t, 600, server.CallCount())
		server.Clear()
		server.Script(secretstest.Repeat(2, secretstest.Throttle())...)

		_, err := s.read(t.Context(), time.Now(), nil)

		require.NoError(t, err)
	})
}

// The database has the new password before the secret has it.
func TestUsesTheLoginOfARotationThatIsUnderWay(t *testing.T) {
	t.Parallel()

	r := newRotation(t)
	r.server.SetPending(secretARN, full(r.db, r.login.Name, "second"))
	r.db.Exec(t, "alter role "+r.login.Name+" password 'second'")

	require.NoError(t, r.connect(t))
	require.Equal(t, []string{"AWSCURRENT", "AWSCURRENT", "AWSPENDING"}, stages(r.server))
	r.server.Promote(secretARN)
	require.NoError(t, r.connect(t))
	require.Equal(t, 3, r.server.CallCount(), "it is kept")
}

func TestALeftoverOfARotationIsNoLogin(t *testing.T) {
	t.Parallel()

	r := newRotation(t)
	r.server.SetPending(secretARN, full(r.db, r.login.Name, "leftover"))
	require.NoError(t, r.connect(t))
	require.Equal(t, 1, r.server.CallCount())

	r.db.Exec(t, "alter role "+r.login.Name+" password 'second'")
	err := r.connect(t)
	require.ErrorContains(t, err, "(SQLSTATE 28P01)")
	require.ErrorContains(t, err, "still holds this login")
	require.NotContains(t, err.Error(), "leftover")

	r.server.Set(secretARN, full(r.db, r.login.Name, "second"))
	require.NoError(t, r.connect(t))
}

// The rotation of alternating users: both logins work on.
func TestTheOtherUserIsTakenWithTheNextReading(t *testing.T) {
	t.Parallel()

	r := newRotation(t)
	other := r.db.CreateLogin(t)
	r.server.Set(secretARN, full(r.db, other.Name, other.Password))

	require.NoError(t, r.connect(t))
	require.Equal(t, r.login.Name, r.user)
	r.now = r.now.Add(secretTTL)
	require.NoError(t, r.connect(t))
	require.Equal(t, other.Name, r.user)
}

// rotation is a login that was used, and is about to change.
type rotation struct {
	db        *postgrestest.Database
	login     postgrestest.Login
	server    *secretstest.Server
	connector *Connector
	now       time.Time
	user      string // of the last connection
}

func newRotation(t *testing.T) *rotation {
	t.Helper()
	r := &rotation{db: postgrestest.New(t), server: secretstest.New(t), now: time.Now()}
	r.login = r.db.CreateLogin(t)
	r.server.Set(secretARN, full(r.db, r.login.Name, r.login.Password))
	var err error
	r.connector, err = NewConnector(Settings{SecretARN: secretARN, SSLMode: "disable"}, manager(r.server))
	require.NoError(t, err)
	require.NoError(t, r.connect(t))
	return r
}

func (r *rotation) connect(t *testing.T) error {
	t.Helper()
	conn, err := r.connector.connect(t.Context(), r.now)
	if err != nil {
		return err
	}
	r.user = conn.Config().User
	return conn.Close(t.Context())
}
