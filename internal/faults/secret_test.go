package faults

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/relaytest"
	"outboxrelay/internal/secretstest"
)

// secretFaults are those of AWS Secrets Manager, and of what it holds.
var secretFaults = []fault{
	keptBack("Secrets Manager is down", "500 to every call of a run", "this may pass", secretstest.InternalServiceError()),
	keptBack("Secrets Manager throttles", "every call of a run is throttled", "this may pass", secretstest.Throttle()),
	keptBack("the secret is deleted until it is restored", "ResourceNotFoundException to every call of a run",
		"check the ARN (DATABASE_SECRET_ARN)", secretstest.NotFound()),
	keptBack("the function's role may not read the secret", "AccessDeniedException to every call of a run",
		"grant the function's role secretsmanager:GetSecretValue", secretstest.AccessDenied()),
	{
		name:    "a subnet has no route to Secrets Manager",
		how:     "an address that swallows every packet, for a run; then another sandbox with one that answers",
		reports: "interface endpoint for secretsmanager",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			secrets := f.secrets(t)
			f.startWithin(t, 15*time.Second, relaytest.BySecret("http://"+relaytest.Blackhole(t))).run(t)
			f.ends()
			f.start(t, relaytest.BySecret(secrets.URL())).deliver(t)
		},
	},
	{
		name: "Secrets Manager throttles for a moment",
		how:  "the first 2 calls are throttled",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			secrets := f.secrets(t)
			secrets.Script(secretstest.Repeat(2, secretstest.Throttle())...)
			relay := f.start(t, relaytest.BySecret(secrets.URL()))
			f.ends()
			relay.deliver(t)
			require.Len(t, f.responses, 1)
		},
	},
	{
		name: "Secrets Manager is down while the sandbox is warm",
		how:  "500 to every call once a run has read the secret",
		play: func(t *testing.T, f *trial) {
			secrets := f.secrets(t)
			relay := f.warm(t, relaytest.BySecret(secrets.URL()))
			secrets.Always(secretstest.InternalServiceError())
			f.deliversAtOnce(t, relay)
		},
	},
	{
		name: "a rotation is under way: the database has the password of the secret's pending version",
		how:  "a version of the secret at AWSPENDING, ALTER ROLE ... PASSWORD, a run of a warm sandbox and one of a new one; then AWSCURRENT",
		play: func(t *testing.T, f *trial) {
			secrets := f.secrets(t)
			relay := f.warm(t, relaytest.BySecret(secrets.URL()))
			secrets.SetPending(relaytest.SecretARN, f.Secret(t, f.Login.Name, "another one"))
			f.DB.Exec(t, "ALTER ROLE "+f.Login.Name+" PASSWORD 'another one'")
			for _, sandbox := range []sandbox{relay, f.start(t, relaytest.BySecret(secrets.URL()))} {
				f.Insert(t, 20)
				sandbox.run(t)
				require.Zero(t, f.Pending(t))
			}
			secrets.Promote(relaytest.SecretARN)
			f.deliversAtOnce(t, relay)
		},
	},
	{
		name:    "a rotation stops half way: the database has a password that the secret has not",
		how:     "ALTER ROLE ... PASSWORD, a run of a warm sandbox, then the new version of the secret",
		reports: "still holds this login",
		play: func(t *testing.T, f *trial) {
			secrets := f.secrets(t)
			relay := f.warm(t, relaytest.BySecret(secrets.URL()))
			f.Insert(t, 20)
			f.DB.Exec(t, "ALTER ROLE "+f.Login.Name+" PASSWORD 'another one'")
			relay.run(t)
			require.Equal(t, 20, f.Untouched(t))
			f.rotate(t, secrets)
			f.ends()
			relay.deliver(t)
		},
	},
	{
		name: "the password is rotated while the sandbox is frozen between two runs",
		how:  "SIGSTOP, ALTER ROLE ... PASSWORD and a new version of the secret, SIGCONT",
		play: func(t *testing.T, f *trial) {
			secrets := f.secrets(t)
			relay := f.warm(t, relaytest.BySecret(secrets.URL()))
			relay.asleep(t, func() { f.rotate(t, secrets) })
			f.deliversAtOnce(t, relay)
		},
	},
	{
		name: "the user is rotated while the sandbox is frozen between two runs",
		how:  "SIGSTOP, a new version of the secret with another user, and the one before may not log in any more, SIGCONT",
		play: func(t *testing.T, f *trial) {
			secrets := f.secrets(t)
			relay := f.warm(t, relaytest.BySecret(secrets.URL()))
			relay.asleep(t, func() { f.alternate(t, secrets) })
			f.deliversAtOnce(t, relay)
		},
	},
	{
		name: "the password is rotated while a batch is at the bus, and its session ends",
		how:  "ALTER ROLE ... PASSWORD, a new version of the secret and pg_terminate_backend, once the bus has accepted 20 events",
		play: func(t *testing.T, f *trial) { f.rotatedAtTheBus(t, f.rotate) },
	},
	{
		name: "the user is rotated while a batch is at the bus, and its session ends",
		how:  "a new version of the secret with another user, the one before may not log in any more, and pg_terminate_backend, once the bus has accepted 20 events",
		play: func(t *testing.T, f *trial) { f.rotatedAtTheBus(t, f.alternate) },
	},
	{
		name: "the password is rotated while a run polls",
		how:  "ALTER ROLE ... PASSWORD, a new version of the secret and pg_terminate_backend once the run has polled; 20 events are written after that",
		play: func(t *testing.T, f *trial) {
			secrets := f.secrets(t)
			env := relaytest.BySecret(secrets.URL())
			maps.Copy(env, polls)
			relay := f.startWithin(t, 7*time.Second, env)
			run := relay.Begin(t)
			f.await(t, idle)
			f.rotate(t, secrets)
			f.terminates(t)
			f.ends()
			f.Insert(t, 20)
			f.delivers(t)
			relay.wait(t, run)
		},
	},
}

// keptBack is a secret that cannot be read for a run.
func keptBack(name, how, reports string, refusal secretstest.Fault) fault {
	return fault{name: name, how: how, reports: reports, play: func(t *testing.T, f *trial) {
		t.Helper()
		f.Insert(t, 20)
		secrets := f.secrets(t)
		secrets.Always(refusal)
		relay := f.start(t, relaytest.BySecret(secrets.URL()))
		relay.run(t)
		require.NotZero(t, secrets.CallCount())
		secrets.Clear()
		f.ends()
		relay.deliver(t)
	}}
}

// secrets is a stand-in for Secrets Manager that has the login.
func (f *trial) secrets(t *testing.T) *secretstest.Server {
	t.Helper()
	secrets := secretstest.New(t)
	secrets.Set(relaytest.SecretARN, f.Secret(t, f.Login.Name, f.Login.Password))
	return secrets
}

// rotate gives the login another password.
func (f *trial) rotate(t *testing.T, secrets *secretstest.Server) {
	t.Helper()
	const password = "another one"
	f.DB.Exec(t, "ALTER ROLE "+f.Login.Name+" PASSWORD '"+password+"'")
	secrets.Set(relaytest.SecretARN, f.Secret(t, f.Login.Name, password))
}

// alternate puts another login in the place of the first one.
func (f *trial) alternate(t *testing.T, secrets *secretstest.Server) {
	t.Helper()
	other := f.DB.CreateLogin(t, "outbox_relay")
	secrets.Set(relaytest.SecretARN, f.Secret(t, other.Name, other.Password))
	f.DB.Exec(t, "ALTER ROLE "+f.Login.Name+" NOLOGIN")
}

// rotatedAtTheBus rotates the secret while a batch is at the bus.
func (f *trial) rotatedAtTheBus(t *testing.T, rotate func(*testing.T, *secretstest.Server)) {
	t.Helper()
	secrets := f.secrets(t)
	f.Insert(t, 20)
	relay := f.start(t, relaytest.BySecret(secrets.URL()))
	recorded := f.whileAtTheBus(t, relay, func() {
		rotate(t, secrets)
		f.terminates(t)
	})
	f.ends()
	recorded()
	relay.deliver(t)
	require.Len(t, f.responses, 1)
	require.GreaterOrEqual(t, secrets.CallCount(), 2)
}
