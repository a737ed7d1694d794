package eventbridgetest

import (
	"time"
)

// Recording says how much the server remembers.
type Recording int

const (
	// RecordAll keeps every accepted entry and every request. The default.
	RecordAll Recording = iota
	// RecordIDs keeps how often each ID was accepted.
	RecordIDs
	// RecordCounts keeps numbers only.
	RecordCounts
)

// options of a server; the zero value of what a test does not set is replaced by defaults().
type options struct {
	address      string
	tls          bool
	recording    Recording
	maxBytes     int
	maxBodyBytes int
	now          func() time.Time
	latency      time.Duration
	buses        []string
}

// Option changes how a server is made.
type Option func(*options)

func defaults(opts []Option) options {
	o := options{address: "127.0.0.1:0", maxBytes: 1_000_000, now: time.Now}
	for _, opt := range opts {
		opt(&o)
	}
	if o.maxBodyBytes == 0 {
		o.maxBodyBytes = o.maxBytes*5/2 + 16*1024
	}
	return o
}

// WithMaxBytes sets the limit of a request's total size by AWS's formula. The default is 1,000,000.
func WithMaxBytes(n int) Option { return func(o *options) { o.maxBytes = n } }

// WithMaxBodyBytes sets the size of an HTTP body from which the answer is a bare 413. The default is two and a half times
// MaxBytes: escaping as JSON may double a legal detail.
func WithMaxBodyBytes(n int) Option { return func(o *options) { o.maxBodyBytes = n } }

// WithLatency is the time from accepting a request to answering it, for every request and whatever Clear takes back.
func WithLatency(d time.Duration) Option { return func(o *options) { o.latency = d } }

// WithBuses creates buses as AddBus does.
func WithBuses(namesOrARNs ...string) Option {
	return func(o *options) { o.buses = append(o.buses, namesOrARNs...) }
}

// WithRecording sets how much the server remembers. The default is RecordAll.
func WithRecording(r Recording) Option { return func(o *options) { o.recording = r } }

// WithClock sets the server's clock: arrival times, and what a signature's time is compared with.
func WithClock(now func() time.Time) Option { return func(o *options) { o.now = now } }

// WithTLS serves HTTPS with httptest's certificate; see Server.Client and Server.CertificatePEM.
func WithTLS() Option { return func(o *options) { o.tls = true } }

// WithAddress listens on a given loopback address instead of any free port.
func WithAddress(address string) Option { return func(o *options) { o.address = address } }
