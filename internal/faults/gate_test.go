package faults

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/stretchr/testify/require"
)

// gate is a toxic that lets connections through until one of them comes to a
// place. From then on it holds back what both sides of that connection say, the
// end of it included, as a network does that has gone silent. New connections
// pass, unless it is said that every one is held.
//
// The gate has to be there before the connections are.
type gate struct {
	reached chan struct{} // closed when the place was reached

	in    string // the stream in which the place is
	at    place
	every bool // all connections are held, those to come among them

	mu          sync.Mutex
	over        bool // the place was reached
	connections []*connection
	known       map[string]int // connections of which a stream was seen
}

// place makes, for each connection, what tells the bytes that do not pass any
// more. It is asked of one chunk after the other.
type place func() func(chunk []byte) bool

// says is the place where some text begins, or a little before it.
func says(text string) place {
	return func() func([]byte) bool {
		var last []byte
		return func(chunk []byte) bool {
			seen := slices.Concat(last, chunk)
			last = bytes.Clone(seen[max(0, len(seen)-len(text)+1):])
			return bytes.Contains(seen, []byte(text))
		}
	}
}

// past is the place where so many bytes have passed.
func past(most int) place {
	return func() func([]byte) bool {
		passed := 0
		return func(chunk []byte) bool {
			passed += len(chunk)
			return passed > most
		}
	}
}

// nowhere is no place: the gate is shut by hand.
func nowhere() func([]byte) bool { return func([]byte) bool { return false } }

// Statements and answers as the protocol writes them. COMMIT alone would be in
// READ COMMITTED too.
const (
	committing = "COMMIT\x00"
	anEvent    = "OrderPlaced"
)

// connection is one by way of the gate.
type connection struct {
	held, released, reset signal
}

// signal can be given once.
type signal chan struct{}

func (s signal) given() bool {
	select {
	case <-s:
		return true
	default:
		return false
	}
}

func (s signal) give() {
	if !s.given() {
		close(s)
	}
}

// gates are the gates that toxics refer to.
var (
	gates    sync.Map
	gateKeys atomic.Int64
)

// gate puts a gate before all connections to come. What is held at the test's end
// is reset.
func (p *proxy) gate(t *testing.T, in string, at place) *gate {
	t.Helper()
	return p.put(t, &gate{in: in, at: at})
}

// gateEvery is a gate that holds every connection once one has come to the place.
func (p *proxy) gateEvery(t *testing.T, in string, at place) *gate {
	t.Helper()
	return p.put(t, &gate{in: in, at: at, every: true})
}

func (p *proxy) put(t *testing.T, g *gate) *gate {
	t.Helper()
	g.reached, g.known = make(chan struct{}), map[string]int{}
	key := gateKeys.Add(1)
	gates.Store(key, g)
	for _, each := range []string{requests, replies} {
		p.add(t, "gate", each, map[string]any{"gate": key, "stream": each})
		p.resets(t, each)
	}
	t.Cleanup(func() {
		g.cut()
		gates.Delete(key)
	})
	return g
}

// wait waits until a connection has come to the place.
func (g *gate) wait(t *testing.T) {
	t.Helper()
	select {
	case <-g.reached:
	case <-within(t, patience).Done():
		require.Fail(t, "no connection came to the gate's place")
	}
}

// shut holds all connections that there are.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.connections {
		c.held.give()
	}
}

// open lets pass what was held.
func (g *gate) open() { g.end(func(c *connection) { c.released.give() }) }

// cut resets the connections that are held. What they hold is lost.
func (g *gate) cut() { g.end(func(c *connection) { c.reset.give() }) }

func (g *gate) end(how func(*connection)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.every = false
	for _, c := range g.connections {
		if c.held.given() {
			how(c)
		}
	}
}

// connection is that of the next stream of this direction: Toxiproxy starts both
// of a connection before those of the next.
func (g *gate) connection(in string) *connection {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.known[in]
	g.known[in]++
	if n == len(g.connections) {
		c := &connection{make(signal), make(signal), make(signal)}
		if g.every && g.over {
			c.held.give()
		}
		g.connections = append(g.connections, c)
	}
	return g.connections[n]
}

// reach notes that a connection has come to the place.
func (g *gate) reach(at *connection) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return
	}
	g.over = true
	at.held.give()
	for _, c := range g.connections {
		if g.every {
			c.held.give()
		}
	}
	close(g.reached)
}

// passage is a gate in one direction, as Toxiproxy knows it.
type passage struct {
	Gate   int64  `json:"gate"`
	Stream string `json:"stream"`
}

func init() { toxics.Register("gate", new(passage)) }

// one is a passage of one connection.
type one struct {
	*gate
	*connection

	isPlace func([]byte) bool
	chunk   *stream.StreamChunk // taken and not yet passed on; nil: the end
	taken   bool
}

// NewState implements toxics.StatefulToxic.
func (p *passage) NewState() any {
	found, _ := gates.Load(p.Gate)
	g := found.(*gate)
	state := &one{gate: g, connection: g.connection(p.Stream), isPlace: nowhere()}
	if p.Stream == g.in {
		state.isPlace = g.at()
	}
	return state
}

// Pipe implements toxics.Toxic.
func (p *passage) Pipe(stub *toxics.ToxicStub) {
	state := stub.State.(*one)
	for state.take(stub) && state.await(stub) {
		if state.chunk == nil {
			stub.Close()
			return
		}
		stub.Output <- state.chunk
		state.taken = false
	}
	if state.reset.given() {
		stub.Close()
	}
}

// take takes the next chunk. It reports false where the toxic is to stop.
func (o *one) take(stub *toxics.ToxicStub) bool {
	if o.taken {
		return true
	}
	select {
	case <-stub.Interrupt:
		return false
	case <-o.reset:
		return false
	case o.chunk = <-stub.Input:
	}
	o.taken = true
	if o.chunk != nil && o.isPlace(o.chunk.Data) {
		o.reach(o.connection)
	}
	return true
}

// await waits while the connection is held. It reports false where the toxic is
// to stop.
func (o *one) await(stub *toxics.ToxicStub) bool {
	if !o.held.given() {
		return true
	}
	select {
	case <-stub.Interrupt:
		return false
	case <-o.reset:
		return false
	case <-o.released:
		return true
	}
}
