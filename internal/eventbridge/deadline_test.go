package eventbridge

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

// wire is a network in memory, so that its time is the test's. What listens
// there does with a connection what it likes.
type wire struct {
	serve func(conn net.Conn)
	dial  func(ctx context.Context) error // nil: there is a connection at once

	mu      sync.Mutex
	dials   int
	conns   []net.Conn
	serving sync.WaitGroup
}

// dialled counts the attempts to connect.
func (w *wire) dialled() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dials
}

func (w *wire) dialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	w.mu.Lock()
	w.dials++
	w.mu.Unlock()
	if w.dial != nil {
		ctx, cancel := context.WithTimeout(ctx, connectTimeout) // as the dialer has it: the transport's context has no end
		defer cancel()
		if err := w.dial(ctx); err != nil {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
		}
	}
	ours, theirs := net.Pipe()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, theirs)
	w.serving.Go(func() { w.serve(theirs) })
	return ours, nil
}

// close ends what is open, and with it every goroutine of the HTTP client.
func (w *wire) close() {
	w.mu.Lock()
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	w.mu.Unlock()
	w.serving.Wait()
}

// publisherOn is a publisher as the relay has it, but for the network.
func publisherOn(t *testing.T, w *wire, url string, change func(*aws.Config)) *Publisher {
	t.Helper()
	cfg := awsConfig(url)
	if change != nil {
		change(&cfg)
	}
	cfg.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		tune(t, defaultConcurrency)
		t.DialContext = w.dialContext
	}).Freeze()
	return New(cfg, quiet(Config{Timeout: 5 * time.Second, BusCheck: BusRequire}))
}

// read takes a request off the wire.
func read(conn net.Conn) {
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err == nil {
		_, _ = io.Copy(io.Discard, request.Body)
	}
}

// says answers a request with the same bytes, and then nothing more.
func says(reply string) func(net.Conn) {
	return func(conn net.Conn) {
		read(conn)
		_, _ = io.WriteString(conn, reply)
		_, _ = io.Copy(io.Discard, conn) // until it is closed
	}
}

// drips answers with a beginning, and then a piece a second for ever.
func drips(beginning, piece string) func(net.Conn) {
	return func(conn net.Conn) {
		read(conn)
		_, err := io.WriteString(conn, beginning)
		for err == nil {
			<-time.After(time.Second)
			_, err = io.WriteString(conn, piece)
		}
	}
}

const (
	okHeaders    = "HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.1\r\n"
	errorHeaders = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Type: application/x-amz-json-1.1\r\n"
)

// whatHangs is what may keep a request for ever.
func whatHangs() map[string]func(net.Conn) {
	return map[string]func(net.Conn){
		"ItIsNotRead":            func(net.Conn) {},
		"NothingIsSaid":          says(""),
		"HalfAStatus":            says("HTTP/1.1 2"),
		"HalfTheHeaders":         says(okHeaders),
		"HeadersWithoutEnd":      drips(okHeaders, "X: y\r\n"),
		"ContinuedForEver":       drips("", "HTTP/1.1 100 Continue\r\n\r\n"),
		"NoBody":                 says(okHeaders + "Content-Length: 40\r\n\r\n"),
		"HalfABody":              says(okHeaders + "Content-Length: 40\r\n\r\n{\"Entries\":["),
		"HalfABodyWithoutLength": says(okHeaders + "\r\n{\"Entries\":["),
		"ABodyThatDrips":         drips(okHeaders+"\r\n{\"Entries\":[", " "),
		"ChunksThatDrip":         drips(okHeaders+"Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n"),
		"AnErrorWithoutBody":     says(errorHeaders + "Content-Length: 40\r\n\r\n"),
		"AnErrorThatDrips":       drips(errorHeaders+"\r\n{", " "),
	}
}

// calls are the publisher's calls.
func calls(t *testing.T, p *Publisher) map[string]func(context.Context) error {
	t.Helper()
	request := packed(t, p, anEvent())
	return map[string]func(context.Context) error{
		"Send":     func(ctx context.Context) error { _, err := p.Send(ctx, request); return err },
		"CheckBus": func(ctx context.Context) error { return p.CheckBus(ctx, "orders") },
	}
}

// requireEnds makes every call under no deadline, which has to take no longer than
// the publisher's limit, and under an earlier one, which has to hold too. It returns
// the error codes.
func requireEnds(t *testing.T, network func() *wire, url string, change func(*aws.Config)) (codes []string) {
	t.Helper()
	for _, limit := range []time.Duration{time.Hour, 1500 * time.Millisecond} {
		for _, name := range []string{"Send", "CheckBus"} {
			synctest.Test(t, func(t *testing.T) {
				w := network()
				defer w.close()
				ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
				defer cancel()
				began := time.Now()

				err := calls(t, publisherOn(t, w, url, change))[name](ctx)

				require.LessOrEqual(t, time.Since(began), min(limit, 5*time.Second), "%s outlives its limit", name)
				require.LessOrEqual(t, w.dialled(), 1, "%s is tried once", name)
				codes = append(codes, requireFault(t, err, outbox.Unavailable).Code)
				<-time.After(connectTimeout) // the transport goes on connecting, for the next request
			})
		}
	}
	return codes
}

func TestNoRequestOutlivesItsLimitWhateverTheOtherSideDoes(t *testing.T) {
	t.Parallel()
	for name, hangs := range whatHangs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, code := range requireEnds(t, func() *wire { return &wire{serve: hangs} }, "http://events.test", nil) {
				require.Contains(t, []string{codeTimeout, codeUnreadable, "HTTP503"}, code)
			}
		})
	}
}

func TestARequestEndsAtOnceWhereTheOtherSideEndsIt(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(net.Conn){
		"NothingIsSaid": func(conn net.Conn) { read(conn); _ = conn.Close() },
		"HalfABody": func(conn net.Conn) {
			read(conn)
			_, _ = io.WriteString(conn, okHeaders+"Content-Length: 40\r\n\r\n{")
			_ = conn.Close()
		},
		"ARetryIsAskedFor":   says(errorHeaders + "Content-Length: 2\r\n\r\n{}"),
		"ARedirectToItself":  says("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://events.test/\r\nContent-Length: 0\r\n\r\n"),
		"ABodyWithoutEnd":    flood,
		"HeadersWithoutEnd":  floodOfHeaders,
		"SomethingElse":      says("220 mail.test ESMTP\r\n"),
		"AnEmptyReplyOfNone": says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &wire{serve: serve}
				defer w.close()
				p := publisherOn(t, w, "http://events.test", nil)
				began := time.Now()
				_, err := p.Send(context.WithoutCancel(t.Context()), packed(t, p, anEvent()))
				require.Less(t, time.Since(began), time.Second)
				requireFault(t, err, outbox.Unavailable)
				require.Equal(t, 1, w.dialled(), "one attempt")
			})
		})
	}
}

// flood sends a body that does not end.
func flood(conn net.Conn) {
	read(conn)
	_, err := io.WriteString(conn, okHeaders+"\r\n{\"Entries\":[")
	for piece := strings.Repeat(" ", 1<<16); err == nil; {
		_, err = io.WriteString(conn, piece)
	}
}

// floodOfHeaders sends headers that do not end.
func floodOfHeaders(conn net.Conn) {
	read(conn)
	_, err := io.WriteString(conn, okHeaders)
	for piece := "X-More: " + strings.Repeat("y", 1<<12) + "\r\n"; err == nil; {
		_, err = io.WriteString(conn, piece)
	}
}

func TestNoConnectionIsWaitedForBeyondTheLimit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		dial           func(ctx context.Context) error
		whole, earlier string // codes: under the limit, and a deadline before that of a connection
	}{
		"NoAnswer": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, codeUnreachable, codeTimeout},
		"Refused":  {func(context.Context) error { return syscall.ECONNREFUSED }, codeUnreachable, codeUnreachable},
		"NoName": {func(context.Context) error {
			return &net.DNSError{Err: "server misbehaving", Name: "events.test", IsTemporary: true}
		}, codeUnreachable, codeUnreachable},
		"NoNameInTime": {func(ctx context.Context) error {
			<-ctx.Done()
			return &net.DNSError{Err: "i/o timeout", Name: "events.test", IsTimeout: true}
		}, codeUnreachable, codeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			codes := requireEnds(t, func() *wire { return &wire{dial: test.dial} }, "http://events.test", nil)
			require.Equal(t, []string{test.whole, test.whole, test.earlier, test.earlier}, codes)
		})
	}
}

func TestNoHandshakeIsWaitedForBeyondTheLimit(t *testing.T) {
	t.Parallel()
	silent := func() *wire { return &wire{serve: func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }} }
	codes := requireEnds(t, silent, "https://events.test", nil)
	require.Len(t, codes, 4)
}

func TestNoCredentialsAreWaitedForBeyondTheLimit(t *testing.T) {
	t.Parallel()
	slow := func(cfg *aws.Config) {
		cfg.Credentials = aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
			<-ctx.Done()
			return aws.Credentials{}, errors.Join(errors.New("no role can be assumed"), ctx.Err())
		})
	}
	codes := requireEnds(t, func() *wire { return &wire{} }, "http://events.test", slow)
	require.Equal(t, []string{codeTimeout, codeTimeout, codeTimeout, codeTimeout}, codes)
}

// A round of the relay shares the question whether the bus is there with others.
func TestACheckThatIsSharedEndsInTimeForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: says("")}
		defer w.close()
		p := publisherOn(t, w, "http://events.test", nil)
		began := time.Now()
		var wait sync.WaitGroup
		for i := range 10 {
			wait.Go(func() {
				<-time.After(time.Duration(i) * 100 * time.Millisecond)
				requireFault(t, p.CheckBus(t.Context(), "orders"), outbox.Unavailable)
			})
		}
		wait.Wait()
		require.Equal(t, 5*time.Second, time.Since(began))
		require.Equal(t, 1, w.dialled())
	})
}
