package faults

import (
	"context"
	"maps"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/lambdatest"
	"outboxrelay/internal/postgrestest"
	"outboxrelay/internal/relaytest"
)

// trial is a scene with a proxy before the database and one before the bus.
type trial struct {
	*relaytest.Scene
	database, bus *proxy

	mu        sync.Mutex
	responses []lambdatest.Response // of all runs
	over      time.Time             // when the fault ended; zero: not yet
	delivered time.Time             // when everything was recorded
}

func newTrial(t *testing.T) *trial {
	t.Helper()
	return (&trial{}).around(t, relaytest.New(t))
}

// alone gives the trial a server of its own, which may be stopped, and a stand-in
// of its own options.
func (f *trial) alone(t *testing.T, options postgrestest.Options, bus ...eventbridgetest.Option) *postgrestest.Server {
	t.Helper()
	server := postgrestest.NewServer(t, options)
	f.around(t, relaytest.NewOn(t, server, bus...))
	return server
}

// around puts the proxies before the servers of a scene.
func (f *trial) around(t *testing.T, scene *relaytest.Scene) *trial {
	t.Helper()
	f.Scene = scene
	f.database = newProxy(t, hostOf(t, scene.Login.URL))
	f.bus = newProxy(t, hostOf(t, scene.Bus.URL()))
	return f
}

// sandbox is the relay in a sandbox of the trial.
type sandbox struct {
	relaytest.Relay

	trial *trial
}

// start starts a relay that reaches both by way of the proxies, with a limit of 30
// seconds.
func (f *trial) start(t *testing.T, env relaytest.Settings) sandbox {
	t.Helper()
	return f.startWithin(t, 30*time.Second, env)
}

func (f *trial) startWithin(t *testing.T, limit time.Duration, env relaytest.Settings) sandbox {
	t.Helper()
	all := relaytest.Settings{
		"DATABASE_URL":                 f.database.before(t, f.Login.URL),
		"AWS_ENDPOINT_URL_EVENTBRIDGE": f.bus.before(t, f.Bus.URL()),
	}
	maps.Copy(all, env)
	return sandbox{f.StartWithin(t, limit, all), f}
}

// run runs the relay once, whatever comes of it.
func (s sandbox) run(t *testing.T) lambdatest.Response {
	t.Helper()
	return s.wait(t, s.Begin(t))
}

// wait waits for a run that was begun, whatever comes of it.
func (s sandbox) wait(t *testing.T, run *relaytest.Invocation) lambdatest.Response {
	t.Helper()
	response := run.Wait(t)
	s.trial.mu.Lock()
	defer s.trial.mu.Unlock()
	s.trial.responses = append(s.trial.responses, response)
	return response
}

// deliver runs the relay until everything is delivered, a few times at the most.
func (s sandbox) deliver(t *testing.T) {
	t.Helper()
	for range 5 {
		if s.trial.Pending(t) == 0 {
			break
		}
		s.run(t)
	}
	require.Zero(t, s.trial.Pending(t), "events are still pending after 5 runs")
	s.trial.delivered = time.Now()
}

// delivers waits until a run that is under way has delivered everything.
func (f *trial) delivers(t *testing.T) {
	t.Helper()
	f.await(t, "NOT EXISTS (SELECT FROM outbox WHERE published_at IS NULL)")
	f.delivered = time.Now()
}

// await asks the database again and again whether a condition holds. Of the login's
// sessions it knows as own.
func (f *trial) await(t *testing.T, condition string) {
	t.Helper()
	const own = "WITH own AS (SELECT * FROM pg_stat_activity WHERE usename = $1) "
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for limit := time.After(patience); !postgrestest.Scalar[bool](t, f.DB, own+"SELECT "+condition, f.Login.Name); {
		select {
		case <-poll.C:
		case <-limit:
			require.Fail(t, "it does not come to "+condition)
		}
	}
}

// patience is for what has to happen, and happens sooner.
const patience = 40 * time.Second

// polls are the settings of runs of a few seconds that poll.
var polls = relaytest.Settings{"RELAY_POLL_INTERVAL": "50ms", "RELAY_RESERVE": "1s", "PUT_EVENTS_TIMEOUT": "1s"}

// What await waits for.
const (
	idle    = "EXISTS (SELECT FROM own WHERE state = 'idle')"             // a run polls, and finds nothing
	blocked = "EXISTS (SELECT FROM own WHERE wait_event_type = 'Lock')"   // a statement waits for a lock
	writing = "EXISTS (SELECT FROM own WHERE wait_event = 'ClientWrite')" // an answer finds no room
)

// ends notes that from now on nothing is wrong. A fault that only strikes for a
// moment ends with that.
func (f *trial) ends() { f.over = time.Now() }

// errors are those of the runs that failed.
func (f *trial) errors() []string {
	var errors []string
	for _, response := range f.responses {
		if response.ErrorMessage != "" || response.Crashed || response.TimedOut {
			errors = append(errors, response.ErrorMessage)
		}
	}
	return errors
}

// requireReports says that runs failed as the fault says, and in no other way.
func (f *trial) requireReports(t *testing.T, fault fault) {
	t.Helper()
	for _, response := range f.responses {
		require.False(t, !fault.kills && (response.Crashed || response.TimedOut), response.ErrorMessage)
		if response.ErrorMessage != "" && !response.Crashed && !response.TimedOut {
			require.Equal(t, "RelayError", response.ErrorType)
			require.NotEmpty(t, fault.reports, "a run failed: %s", response.ErrorMessage)
			require.Contains(t, response.ErrorMessage, fault.reports)
		}
	}
	require.False(t, fault.reports != "" && len(f.errors()) == 0, "no run has failed")
}

// result sums up what came of the fault.
func (f *trial) result(t *testing.T, fault fault) result {
	t.Helper()
	require.NotZero(t, f.over, "the fault does not say when it was over")
	require.NotZero(t, f.delivered, "the fault was not played to its end")
	twice := 0
	for _, times := range f.Bus.AcceptedIDs() {
		if times > 1 {
			twice++
		}
	}
	if fault.upTo > 0 {
		require.LessOrEqual(t, twice, fault.upTo, "events were accepted twice")
	} else {
		require.Equal(t, fault.twice, twice, "so many events were to be accepted twice")
	}
	return result{recovered: max(0, f.delivered.Sub(f.over)), runs: len(f.responses), failed: len(f.errors()), twice: twice}
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	require.NoError(t, err)
	return parsed.Host
}

// whileAtTheBus lets something happen while the bus has accepted 20 events and not
// answered yet. What it returns waits for the run.
func (f *trial) whileAtTheBus(t *testing.T, relay sandbox, happens func()) (wait func()) {
	t.Helper()
	f.Bus.Always(eventbridgetest.Latency(slow))
	run := relay.Begin(t)
	require.NoError(t, f.Bus.WaitAccepted(t.Context(), 20))
	happens()
	return func() {
		t.Helper()
		relay.wait(t, run)
	}
}

// within is a context that ends with the test, or earlier.
func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}
