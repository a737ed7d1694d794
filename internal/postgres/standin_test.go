package postgres_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

// standIn takes a server's place and answers as a test wants, in virtual time.
type standIn struct {
	// answers are those to each round trip. After the last one it says nothing.
	answers [][]pgproto3.BackendMessage
	// leaves is how long it takes to end a connection; 0: it never does.
	leaves time.Duration

	line net.Conn     // its end of the first connection
	open atomic.Int32 // connections that are not closed
}

// answering leaves at once when it is asked to.
func answering(answers ...[]pgproto3.BackendMessage) *standIn {
	return &standIn{answers: answers, leaves: 1}
}

func (s *standIn) connect(ctx context.Context) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig("postgres://user@127.0.0.1/none?sslmode=disable")
	if err != nil {
		return nil, err
	}
	config.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		serve := s.cancel
		if s.line == nil {
			s.line, serve = server, s.serve
		}
		s.open.Add(1)
		go func() {
			serve(server)
			s.open.Add(-1)
		}()
		return client, nil
	}
	return pgx.ConnectConfig(ctx, config)
}

// session is one of an operator with the stand-in.
func (s *standIn) session(t *testing.T) outbox.AdminSession {
	t.Helper()
	t.Cleanup(func() { <-time.After(time.Minute) }) // by then the driver has given up what it was about to do
	return openAdminSession(t, s.connect)
}

// serve answers round trips until the client has gone.
func (s *standIn) serve(conn net.Conn) {
	backend, round := pgproto3.NewBackend(conn, conn), 0
	_, err := backend.ReceiveStartupMessage()
	s.send(backend, []pgproto3.BackendMessage{&pgproto3.AuthenticationOk{}, &pgproto3.ReadyForQuery{TxStatus: 'I'}})
	for err == nil {
		var message pgproto3.FrontendMessage
		message, err = backend.Receive()
		switch message.(type) {
		case *pgproto3.Sync:
			if round < len(s.answers) {
				s.send(backend, s.answers[round])
			}
			round++
		case *pgproto3.Terminate:
			if s.leaves > 0 {
				_ = conn.Close()
			}
		}
	}
}

func (s *standIn) send(backend *pgproto3.Backend, messages []pgproto3.BackendMessage) {
	for _, message := range messages {
		backend.Send(message)
	}
	if backend.Flush() == nil && slices.Contains(messages, cutHere) {
		_ = s.line.Close()
	}
}

// cancel is the connection by which a statement is cancelled.
func (s *standIn) cancel(conn net.Conn) {
	if s.leaves > 0 {
		_, _ = conn.Read(make([]byte, 100))
		<-time.After(s.leaves)
		_ = conn.Close()
	}
	for _, err := conn.Read(make([]byte, 100)); err == nil; {
		_, err = conn.Read(make([]byte, 100))
	}
}

// completed is what a server says of a statement, with rows in the binary format.
func completed(tag string, rows ...[][]byte) []pgproto3.BackendMessage {
	messages := []pgproto3.BackendMessage{&pgproto3.ParseComplete{}, &pgproto3.BindComplete{}}
	if len(rows) == 0 {
		messages = append(messages, &pgproto3.NoData{})
	} else {
		messages = append(messages, &pgproto3.RowDescription{Fields: make([]pgproto3.FieldDescription, len(rows[0]))})
	}
	for _, row := range rows {
		messages = append(messages, &pgproto3.DataRow{Values: row})
	}
	return append(messages, &pgproto3.CommandComplete{CommandTag: []byte(tag)})
}

func bigint(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// refused is an error, and what comes after it where the connection goes on.
func refused(severity, code string) []pgproto3.BackendMessage {
	return []pgproto3.BackendMessage{&pgproto3.ErrorResponse{Severity: severity, Code: code, Message: "no"}, ready}
}

var (
	ready pgproto3.BackendMessage = &pgproto3.ReadyForQuery{TxStatus: 'T'}
	// cutHere is a notice that nobody minds. The connection ends after it.
	cutHere pgproto3.BackendMessage = &pgproto3.NoticeResponse{}
)

// A server ends a statement by a limit of its own, and says what to do.
func TestFindingWaitsForEachOfItsStatements(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		session, began := (&standIn{}).session(t), time.Now()

		_, err := session.Find(t.Context(), outbox.Selection{IDs: ids(1), Limit: 1}, true)

		require.ErrorContains(t, err, "the database did not answer within 50s")
		require.Equal(t, 50*time.Second, time.Since(began))
	})
}

// The driver takes leave of a connection that failed in the background.
func TestNothingOfAConnectionIsLeftOnceItIsClosed(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		server := &standIn{leaves: 300 * time.Millisecond}
		session := server.session(t)
		_, err := session.Find(t.Context(), all, false)
		require.Error(t, err)

		session.Close(t.Context())

		synctest.Wait()
		require.Zero(t, server.open.Load())
	})
}

func TestAConnectionIsClosedAlsoWhereTheServerDoesNotLetGo(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		server := &standIn{}
		session := server.session(t)
		_, err := session.Find(t.Context(), all, false)
		require.Error(t, err)
		began := time.Now()

		session.Close(t.Context())

		require.Equal(t, 500*time.Millisecond, time.Since(began))
		synctest.Wait()
		require.EqualValues(t, 1, server.open.Load(), "only that by which the statement is to be cancelled")
	})
}

// What a server or a pooler may say in place of what is expected, and whether it
// leaves no doubt that nothing was changed. A pooler that has lost its server
// tells the client so, whatever that is waiting for.
func TestOnlyARefusalBeforeTheCommitIsCertain(t *testing.T) {
	t.Parallel()

	discarded := completed("DELETE 1", [][]byte{bigint(1)})
	for name, test := range map[string]struct {
		answer  []pgproto3.BackendMessage
		certain bool
	}{
		"TimeIsUp":                 {refused("ERROR", "57014"), true},
		"ATriggerRefuses":          {refused("ERROR", "P0001"), true},
		"ThePoolerLostItsServer":   {refused("FATAL", "08P01"), false},
		"AnyFatalError":            {refused("FATAL", "XX000"), false},
		"AnyPanic":                 {refused("PANIC", "XX000"), false},
		"AConnectionFailure":       {refused("ERROR", "08006"), false},
		"AShutdown":                {refused("ERROR", "57P01"), false},
		"TheCommitFails":           {slices.Concat(discarded, refused("ERROR", "23503")), false},
		"TheCommitsAnswerIsLost":   {slices.Concat(discarded, refused("FATAL", "08P01")), false},
		"TheCommitIsARollback":     {slices.Concat(discarded, completed("ROLLBACK"), []pgproto3.BackendMessage{ready}), false},
		"TheConnectionIsCutBefore": {[]pgproto3.BackendMessage{cutHere}, false},
		"TheConnectionIsCut":       {append(slices.Clone(discarded), cutHere), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				session := answering(test.answer).session(t)

				_, err := session.Discard(t.Context(), upTo(1))

				require.Error(t, err)
				require.Equal(t, test.certain, !errors.Is(err, outbox.ErrUncertain), "%v", err)
			})
		})
	}

	t.Run("TheCommitOfARedrive", func(t *testing.T) {
		t.Parallel()

		synctest.Test(t, func(t *testing.T) {
			redriven := completed("SELECT 1", [][]byte{bigint(1), {1}, {1}, {1}})
			session := answering(
				slices.Concat(completed("SELECT 0"), completed("SELECT 0"), []pgproto3.BackendMessage{ready}),
				append(redriven, ready),
				refused("FATAL", "08P01"),
			).session(t)

			_, err := session.Redrive(t.Context(), upTo(1))

			require.ErrorIs(t, err, outbox.ErrUncertain)
		})
	})
}

// The change is made then.
func TestAnErrorAfterTheCommitIsNone(t *testing.T) {
	t.Parallel()

	for name, last := range map[string][]pgproto3.BackendMessage{"TheConnectionIsCut": {cutHere}, "AShutdown": refused("FATAL", "57P01")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				answer := slices.Concat(completed("DELETE 1", [][]byte{bigint(1)}), completed("COMMIT"), last)
				session := answering(answer).session(t)

				gone, err := session.Discard(t.Context(), upTo(1))

				require.NoError(t, err)
				require.Equal(t, upTo(1), gone)
			})
		})
	}
}
