package secretstest

import (
	"context"
	"fmt"
	"slices"
)

// Call is one GetSecretValue request as it asked.
type Call struct {
	SecretID     string
	VersionID    string
	VersionStage string // "" means AWSCURRENT
}

// Calls returns all calls in order, refused and hanging ones included.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// CallCount is the number of calls so far.
func (s *Server) CallCount() int { return len(s.Calls()) }

// WaitCalls waits until n calls in all have arrived, or fails with ctx.
func (s *Server) WaitCalls(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		count, called := len(s.calls), s.called
		s.mu.Unlock()
		if count >= n {
			return nil
		}
		select {
		case <-called:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d calls, have %d: %w", n, count, context.Cause(ctx))
		}
	}
}

// meet records a call and takes its fault.
func (s *Server) meet(asked request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.calls = append(s.calls, Call(asked))
	close(s.called)
	s.called = make(chan struct{})
	if len(s.script) == 0 {
		return s.always
	}

	fault := s.script[0]
	s.script = s.script[1:]
	return fault
}
