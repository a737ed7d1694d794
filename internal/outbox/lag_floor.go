package outbox

import "time"

const (
	// lagScanShare bounds the time spent on scans from the front: after one
	// that took t, the next comes not before lagScanShare times t.
	lagScanShare = 100
	// lagFrontScanMax is the longest time between two of them.
	lagFrontScanMax = 5 * time.Minute
)

// lagFloor is where measurements start. Rows that were published or deleted leave
// entries in the indexes that a long transaction keeps, and a scan from the
// front walks all of them; one from the floor walks those that are new.
//
// Rows that commit late or come back are below the floor. A scan from the front
// finds them: each measurement is one as long as they are cheap.
type lagFloor struct {
	seq       int64     // no pending row was seen up to here
	greatest  int64     // seq of any row that was seen
	published time.Time // no row was seen that had been published before

	scanned  time.Time // the last scan from the front
	scanNext time.Time // when the next one is due
}

func newLagFloor() *lagFloor { return &lagFloor{seq: front, greatest: front} }

// begin says where a measurement starts that is made now.
func (f *lagFloor) begin(now time.Time) LagScan {
	now = wall(now)
	if now.Before(f.scanned) || !now.Before(f.scanNext) {
		return f.fromFront()
	}
	return LagScan{After: f.seq, PublishedSince: f.published}
}

func (f *lagFloor) fromFront() LagScan { return LagScan{After: front} }

// found moves the floor to where the rows begin that were seen. Where nothing is
// pending, those to come have a greater seq than any that there was.
func (f *lagFloor) found(scan LagScan, measured Measurement, now time.Time) {
	f.greatest = max(f.greatest, measured.Greatest)
	f.seq = min(measured.First-1, f.greatest)
	if !measured.OldestPublished.IsZero() {
		f.published = measured.OldestPublished
	}
	if scan.fromFront() {
		f.scanned = wall(now)
		f.scanNext = f.scanned.Add(min(lagFrontScanMax, lagScanShare*measured.Took))
	}
}

// wall drops the monotonic clock from a time: it stands still while the sandbox
// is frozen between two measurements.
func wall(t time.Time) time.Time { return t.Round(0) }
