package main

import (
	"context"
	"io"
	"math"
	"net"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy passes connections on to the database, until one of its valves closes.
type proxy struct {
	requests *valve // from the function to the database
	replies  *valve

	target string
}

// socketBuffer keeps what is under way small, in bytes.
const socketBuffer = 64 << 10

// through returns the scene's DATABASE_URL by way of a proxy.
func (s *scene) through(t *testing.T) (string, *proxy) {
	t.Helper()
	address, err := url.Parse(s.login.URL)
	require.NoError(t, err)
	p := &proxy{requests: newValve(), replies: newValve(), target: address.Host}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var connections sync.WaitGroup
	connections.Go(func() { p.accept(ctx, listener, &connections) })
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		p.requests.open()
		p.replies.open()
		connections.Wait()
	})
	address.Host = listener.Addr().String()
	return address.String(), p
}

func (p *proxy) accept(ctx context.Context, listener net.Listener, connections *sync.WaitGroup) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		connections.Go(func() { p.serve(ctx, client) })
	}
}

func (p *proxy) serve(ctx context.Context, client net.Conn) {
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	end := context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = server.Close()
	})
	defer end()
	for _, conn := range []net.Conn{client, server} {
		_ = conn.(*net.TCPConn).SetReadBuffer(socketBuffer)
		_ = conn.(*net.TCPConn).SetWriteBuffer(socketBuffer)
	}
	var copies sync.WaitGroup
	copies.Go(func() { pump(server, client, p.requests) })
	copies.Go(func() { pump(client, server, p.replies) })
	copies.Wait()
}

// pump copies until one of the two ends, and then ends both.
func pump(to io.WriteCloser, from io.ReadCloser, valve *valve) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		valve.pass(n)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// valve lets bytes of one direction through, on all connections together.
type valve struct {
	mu      sync.Mutex
	left    int
	closed  chan struct{} // closed when the valve opens again
	stalled chan struct{} // closed when something waits
}

func newValve() *valve {
	return &valve{left: math.MaxInt, closed: make(chan struct{}), stalled: make(chan struct{})}
}

// closeAfter closes the valve, for once, when so many more bytes have passed.
func (v *valve) closeAfter(bytes int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.left = bytes
}

// open lets everything pass from now on.
func (v *valve) open() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.left = math.MaxInt
	select {
	case <-v.closed:
	default:
		close(v.closed)
	}
}

func (v *valve) pass(n int) {
	if v.take(n) {
		return
	}
	<-v.closed
}

func (v *valve) take(n int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n <= v.left {
		v.left -= n
		return true
	}
	v.left = 0
	select {
	case <-v.stalled:
	default:
		close(v.stalled)
	}
	return false
}

// blackhole is an address on loopback that swallows every attempt to connect,
// as a subnet without a route does: the queue of its listener is full, and the
// system answers no further SYN.
func blackhole(t *testing.T) string {
	t.Helper()
	listener, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(listener) })
	require.NoError(t, syscall.Bind(listener, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(listener, 0))
	name, err := syscall.Getsockname(listener)
	require.NoError(t, err)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*syscall.SockaddrInet4).Port))
	for {
		conn, err := (&net.Dialer{Timeout: 300 * time.Millisecond}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return address
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

// nobody is an address on loopback that refuses connections.
func nobody(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}
