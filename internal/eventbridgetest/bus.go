package eventbridgetest

import (
	"strings"
	"sync"
)

// Where the stand-in's own buses live. A bus of another account or Region is added by its ARN.
const (
	Region  = "us-east-1"
	Account = "123456789012"
)

const arnPrefix = "arn:aws:events:" + Region + ":" + Account + ":event-bus/"

// busSet holds the existing buses by ARN.
type busSet struct {
	mu   sync.RWMutex
	arns map[string]bool
}

func newBusSet() *busSet { return &busSet{arns: map[string]bool{busARN(""): true}} }

// busARN is the ARN of what an entry calls its bus.
func busARN(nameOrARN string) string {
	switch {
	case nameOrARN == "":
		return arnPrefix + "default"
	case strings.HasPrefix(nameOrARN, "arn:"):
		return nameOrARN
	default:
		return arnPrefix + nameOrARN
	}
}

func busName(nameOrARN string) string {
	_, name, _ := strings.Cut(busARN(nameOrARN), ":event-bus/")
	return name
}

func (b *busSet) set(nameOrARN string, exists bool) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.arns[busARN(nameOrARN)] = exists
}

func (b *busSet) exists(nameOrARN string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.arns[busARN(nameOrARN)]
}

// AddBus creates a bus by its name, or by its ARN if it is in another account or Region, and returns its ARN.
func (s *Server) AddBus(nameOrARN string) string {
	s.buses.set(nameOrARN, true)
	return busARN(nameOrARN)
}

// RemoveBus deletes a bus. PutEvents goes on to answer success for it, and drops its events.
func (s *Server) RemoveBus(nameOrARN string) { s.buses.set(nameOrARN, false) }
