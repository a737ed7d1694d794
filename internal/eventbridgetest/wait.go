package eventbridgetest

import (
	"context"
	"fmt"
)

// waiters is closed and replaced at every change; it is nil while nobody waits, so that recording costs nothing more.
type waiters struct{ changed chan struct{} }

func (w *waiters) wake() {
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

func (w *waiters) wait() <-chan struct{} {
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.changed
}

// WaitAccepted waits until n entries in all have been accepted, or fails with ctx.
func (s *Server) WaitAccepted(ctx context.Context, n int) error {
	return s.records.waitFor(ctx, fmt.Sprintf("wait for %d accepted entries", n), func(r *records) bool {
		return r.stats.Accepted >= n
	})
}

// WaitRequests waits until n PutEvents requests in all have been read, or fails with ctx.
func (s *Server) WaitRequests(ctx context.Context, n int) error {
	return s.records.waitFor(ctx, fmt.Sprintf("wait for %d requests", n), func(r *records) bool {
		return r.stats.Requests >= n
	})
}

// WaitDescribes waits until n DescribeEventBus requests in all have been read, or fails with ctx.
func (s *Server) WaitDescribes(ctx context.Context, n int) error {
	return s.records.waitFor(ctx, fmt.Sprintf("wait for %d DescribeEventBus requests", n), func(r *records) bool {
		return len(r.describes) >= n
	})
}

// WaitIdle waits until no PutEvents request is in flight, or fails with ctx.
func (s *Server) WaitIdle(ctx context.Context) error {
	return s.records.waitFor(ctx, "wait for the last request to end", func(r *records) bool { return r.inFlight == 0 })
}

func (r *records) waitFor(ctx context.Context, what string, done func(*records) bool) error {
	for {
		changed := r.changeUnless(done)
		if changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
}

// changeUnless is nil when done.
func (r *records) changeUnless(done func(*records) bool) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if done(r) {
		return nil
	}
	return r.waiters.wait()
}
