package outboxcdk

import (
	"slices"
	"strings"
	"time"

	"outboxrelay/internal/config"
)

// jitter is by how much the time between two invocations differs from what the
// schedule says: Scheduler picks whatever second of a minute it likes.
const jitter = time.Minute

// relayTimeout of a polling relay spans two periods, so that one is always at
// work. The older run ends once it sees the newer at work.
func (p Props) relayTimeout() time.Duration {
	if p.settings.relay.PollInterval == 0 {
		return time.Minute
	}
	return min(2*p.Relay.Every+p.settings.relay.Reserve+startUp, maxTimeout)
}

// gapless is the least timeout of a polling relay with which one is always at
// work: a run works until its reserve begins, and by then the next one has to be
// invoked and at work.
func gapless(every, reserve time.Duration) time.Duration {
	return every + jitter + startUp + reserve
}

// rarest is the longest period, in whole minutes, of a polling relay whose timeout
// Lambda can give it.
func rarest(reserve time.Duration) time.Duration {
	return (maxTimeout - gapless(0, reserve)).Truncate(time.Minute)
}

// relay checks by what the function will read, as far as it can be read.
func (c *checker) relay(p Props, s settings, refused []string) {
	if sound(refused, "RELAY_POLL_INTERVAL", "RELAY_PARALLEL") {
		c.concurrency(p.Relay, s)
	}
	if sound(refused, "RELAY_POLL_INTERVAL", "RELAY_RESERVE", "PUT_EVENTS_TIMEOUT") {
		c.relayTimes(p.Relay, s)
	}
}

// sound reports whether nothing was refused of some keys.
func sound(refused []string, keys ...string) bool {
	return !slices.ContainsFunc(refused, func(problem string) bool {
		key, _, _ := strings.Cut(problem, " ")
		return slices.Contains(keys, key)
	})
}

func (c *checker) concurrency(r Relay, s settings) {
	overlapping := r.Parallel
	if s.relay.PollInterval > 0 {
		overlapping *= 2
	}
	if reserved := r.ReservedConcurrency; reserved < 0 || (reserved > 0 && reserved < overlapping) {
		c.report("relayReservedConcurrency", "is %d: expected 0 for none, or at least %d: so many relays are at work at once", reserved, overlapping)
	}
}

func (c *checker) relayTimes(r Relay, s settings) {
	if s.relay.PollInterval > 0 {
		c.polling(r, s.relay.Reserve)
		return
	}
	least := s.relay.Reserve + s.relay.EventBridge.Timeout + time.Second
	if given(r.Timeout) && r.Timeout <= least {
		c.report("relayTimeout", "is %s: expected more than %s: RELAY_RESERVE, PUT_EVENTS_TIMEOUT and a second", config.Brief(r.Timeout), config.Brief(least))
	}
}

func (c *checker) polling(r Relay, reserve time.Duration) {
	if most := rarest(reserve); r.Every > most && r.Every <= 24*time.Hour {
		c.report("relayEvery", "is %s: expected at most %s with RELAY_POLL_INTERVAL and a RELAY_RESERVE of %s, so that the next run begins before one ends",
			config.Brief(r.Every), config.Brief(most), config.Brief(reserve))
		return
	}
	if least := gapless(r.Every, reserve); given(r.Timeout) && r.Timeout < least {
		c.report("relayTimeout", "is %s: expected it unset with RELAY_POLL_INTERVAL, or at least %s, so that the next run begins before one ends",
			config.Brief(r.Timeout), config.Brief(least))
	}
}

// given reports whether a timeout is set, and such that nothing else is said of it.
func given(timeout time.Duration) bool { return timeout >= time.Second && timeout <= maxTimeout }
