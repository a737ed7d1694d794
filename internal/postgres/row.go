package postgres

import (
	"encoding/binary"
	"math"
	"time"
)

// row is one row of a result in the binary format. A NULL reads as the zero
// value of what is asked for.
type row [][]byte

func (r row) text(i int) string { return string(r[i]) }

func (r row) int8(i int) int64 {
	if len(r[i]) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(r[i])) //nolint:gosec // the same bits, read as the server wrote them
}

func (r row) int4(i int) int {
	if len(r[i]) != 4 {
		return 0
	}
	return int(int32(binary.BigEndian.Uint32(r[i]))) //nolint:gosec // as above
}

func (r row) bool(i int) bool { return len(r[i]) == 1 && r[i][0] == 1 }

// time reads a timestamptz. NULL and infinity are no points in time.
func (r row) time(i int) (at time.Time, ok bool) {
	if len(r[i]) != 8 {
		return time.Time{}, false
	}
	switch micros := r.int8(i); micros {
	case math.MaxInt64, math.MinInt64:
		return time.Time{}, false
	default:
		const second = 1_000_000
		return time.Unix(epoch+micros/second, micros%second*1000).UTC(), true
	}
}

// age is the time from one column to another, where both are points in time.
// It is never negative: clocks differ, and what is in a row may be anything.
func (r row) age(at, since int) time.Duration {
	now, known := r.time(at)
	then, knownToo := r.time(since)
	if !known || !knownToo {
		return 0
	}
	return max(0, now.Sub(then))
}

// epoch is PostgreSQL's, 2000-01-01, in seconds of ours.
const epoch = 946_684_800
