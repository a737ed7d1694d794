package awsjson

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Server serves a handler on loopback.
type Server struct {
	http    *httptest.Server
	closing chan struct{}
	once    sync.Once
}

// NewServer prepares a server; Serve opens it.
func NewServer() *Server { return &Server{closing: make(chan struct{})} }

// Serve listens on addr ("127.0.0.1:0" for any free port) and serves handler, over TLS if secure, until Close.
func (s *Server) Serve(handler http.Handler, addr string, secure bool) error {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}

	s.http = &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}}
	if secure {
		s.http.StartTLS()
	} else {
		s.http.Start()
	}
	return nil
}

// URL is the server's address without a trailing slash.
func (s *Server) URL() string { return s.http.URL }

// Client trusts the server's certificate.
func (s *Server) Client() *http.Client { return s.http.Client() }

// CertificatePEM is what a client has to trust when the server speaks TLS (AWS_CA_BUNDLE takes a file of it), else nil.
func (s *Server) CertificatePEM() []byte {
	certificate := s.http.Certificate()
	if certificate == nil {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}

// Close ends the requests that wait and closes the server. It may be called more than once.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.closing)
		s.http.Close()
	})
}

// Pause waits for d and reports whether the client is still there and the server still open.
func (s *Server) Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}

	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-s.closing:
		return false
	}
}

// Hang waits until the client goes away or the server closes.
func (s *Server) Hang(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.closing:
	}
}

// Abort ends the running handler and closes its connection without another byte, the way net/http offers.
func Abort() {
	panic(http.ErrAbortHandler) //nolint:forbidigo // net/http recovers this one; there is no other way to drop a connection
}
