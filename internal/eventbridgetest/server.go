package eventbridgetest

import (
	"net/http"

	"outboxrelay/internal/eventbridgetest/awsjson"
)

// Server is a stand-in for EventBridge. All methods may be called from any goroutine.
type Server struct {
	*awsjson.Server // URL, Client, CertificatePEM, Close

	options        options
	buses          *busSet
	putFaults      faultSet
	describeFaults faultSet
	records        *records
}

// TB is what New needs of a test.
type TB interface {
	Helper()
	Cleanup(stop func())
	Fatalf(format string, args ...any)
}

// New starts a server that ends with the test.
func New(t TB, opts ...Option) *Server {
	t.Helper()

	s, err := Start(opts...)
	if err != nil {
		t.Fatalf("start EventBridge stand-in: %v", err)
	}

	t.Cleanup(s.Close)
	return s
}

// Start starts a server outside of a test; Close ends it and every request that waits.
func Start(opts ...Option) (*Server, error) {
	o := defaults(opts)
	s := &Server{Server: awsjson.NewServer(), options: o, buses: newBusSet(), records: newRecords(o.recording)}
	for _, bus := range o.buses {
		s.AddBus(bus)
	}
	if err := s.Serve(s, o.address, o.tls); err != nil {
		return nil, err
	}
	return s, nil
}

// ServeHTTP answers the two operations a relay needs.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch awsjson.Operation(r, "AWSEvents") {
	case "PutEvents":
		s.putEvents(w, r)
	case "DescribeEventBus":
		s.describeEventBus(w, r)
	default:
		err := awsjson.UnknownOperation()
		awsjson.WriteHeaders(w, requestID(0))
		w.WriteHeader(err.Status)
		_, _ = w.Write(err.Body())
	}
}
