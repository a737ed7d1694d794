package secretstest

import (
	"net/http"
	"sync"
	"time"

	"outboxrelay/internal/eventbridgetest/awsjson"
)

// Server is a stand-in for Secrets Manager. All methods may be called from any goroutine.
type Server struct {
	*awsjson.Server // URL, Close

	mu      sync.Mutex
	secrets map[string]*secret // by ARN
	always  Fault
	script  []Fault
	calls   []Call
	called  chan struct{} // closed and replaced at every call
}

// TB is what New needs of a test.
type TB interface {
	Helper()
	Cleanup(stop func())
	Fatalf(format string, args ...any)
}

// New starts a server that ends with the test.
func New(t TB) *Server {
	t.Helper()

	s, err := Start()
	if err != nil {
		t.Fatalf("start Secrets Manager stand-in: %v", err)
	}

	t.Cleanup(s.Close)
	return s
}

// Start starts a server outside of a test; Close ends it and every request that waits.
func Start() (*Server, error) {
	s := &Server{Server: awsjson.NewServer(), secrets: map[string]*secret{}, called: make(chan struct{})}
	if err := s.Serve(s, "127.0.0.1:0", false); err != nil {
		return nil, err
	}
	return s, nil
}

// ServeHTTP answers GetSecretValue.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var err *awsjson.Error

	var body []byte
	if awsjson.Operation(r, "secretsmanager") == "GetSecretValue" {
		body, err = s.getSecretValue(r)
	} else {
		err = awsjson.UnknownOperation()
	}

	awsjson.WriteHeaders(w, "00000000-0000-4000-9000-000000000000")
	if err != nil {
		w.WriteHeader(err.Status)
		body = err.Body()
	}

	_, _ = w.Write(body) //nolint:gosec // what a test has set, for the SDK and not for a browser
}

func (s *Server) refuseSignature(r *http.Request) *awsjson.Error {
	_, err := awsjson.ReadSignature(r, time.Now())
	return err
}
