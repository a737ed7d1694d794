package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// writers is how many connections insert: enough for a stall to be seen as late
// inserts, and not as fewer of them.
const writers = 16

// inserts are an application that writes events at a steady rate, whatever
// becomes of them: each has a time at which it is due, and its latency counts
// from then, so that one that waits for another is late as well.
type inserts struct {
	conns []*pgx.Conn
	every time.Duration
}

// latencies of inserts.
type latencies struct{ p50, p99 time.Duration }

func (l latencies) String() string {
	return fmt.Sprintf("p50 %.1f ms p99 %.1f ms", milliseconds(l.p50), milliseconds(l.p99))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// openInserts connects as an application does.
func openInserts(ctx context.Context, outbox *outboxDatabase, rate int) (*inserts, error) {
	url, err := outbox.url(ctx, "outbox_writer")
	if err != nil {
		return nil, err
	}
	i := &inserts{every: time.Second / time.Duration(rate)}
	for range writers {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			i.close(ctx)
			return nil, err
		}
		i.conns = append(i.conns, conn)
	}
	return i, nil
}

func (i *inserts) close(ctx context.Context) {
	for _, conn := range i.conns {
		_ = conn.Close(ctx)
	}
}

// during inserts while something else is done, and returns how long it took.
func (i *inserts) during(ctx context.Context, do func(context.Context) error) (latencies, error) {
	var all []time.Duration
	var mu sync.Mutex
	var next atomic.Int64
	var over atomic.Bool
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for _, conn := range i.conns {
		group.Go(func() error {
			for !over.Load() {
				due := began.Add(time.Duration(next.Add(1)) * i.every)
				pause(ctx, time.Until(due))
				if err := insert(ctx, conn); err != nil {
					return err
				}
				late := time.Since(due)
				mu.Lock()
				all = append(all, late)
				mu.Unlock()
			}
			return nil
		})
	}
	group.Go(func() error {
		defer over.Store(true)
		return do(ctx)
	})
	if err := group.Wait(); err != nil {
		return latencies{}, err
	}
	slices.Sort(all)
	return latencies{all[len(all)/2], all[len(all)*99/100]}, nil
}

func insert(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload)
		VALUES ('order', 'order-1', 'OrderPlaced', '{"total": 19.90}')`)
	if err != nil {
		return fmt.Errorf("insert an event: %w", err)
	}
	return nil
}

// pause waits, but not beyond the end of the context.
func pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
