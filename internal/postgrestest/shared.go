package postgrestest

import (
	"context"
	"sync"
	"testing"
)

var startShared = sync.OnceValues(func() (*Server, error) {
	return Start(context.Background(), Options{})
})

// Shared returns the server that this process's tests share. The first call starts it; if that fails, so does every call.
func Shared() (*Server, error) { return startShared() }

// NewServer starts a server for one test, for what would disturb others on the shared one: restarts, settings, TLS. It is stopped
// when the test ends.
func NewServer(tb testing.TB, options Options) *Server {
	tb.Helper()
	server, err := Start(tb.Context(), options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := server.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return server
}
