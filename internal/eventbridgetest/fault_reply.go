package eventbridgetest

import (
	"net/http"
	"time"
)

// The faults of this file accept the entries and spoil the answer; with WithoutAccepting they only spoil it.

// HangMidBody sends the headers and half of the body, then nothing more.
func HangMidBody() Fault { return end(hangsMidBody) }

// BreakMidBody sends the headers and half of the body, then closes the connection.
func BreakMidBody() Fault { return end(breaksMidBody) }

// HalfBody answers a complete reply whose JSON stops half way.
func HalfBody() Fault {
	return replaceBody(func(body []byte) []byte { return body[:len(body)/2] })
}

// EmptyBody answers 200 with nothing.
func EmptyBody() Fault { return replaceBody(func([]byte) []byte { return nil }) }

// GarbageBody answers 200 with what a proxy might.
func GarbageBody() Fault {
	return replaceBody(func([]byte) []byte { return []byte("<html><body>It works!</body></html>") })
}

// EntryCount answers n result entries however many were sent: the first n, or all and then copies of the last.
func EntryCount(n int) Fault {
	return faultFunc(func(p *plan) {
		p.results = func(results []result) []result {
			for len(results) < n {
				results = append(results, results[len(results)-1])
			}
			return results[:n]
		}
	})
}

// StaleDate dates the reply back by age, as one that was held up on its way. The SDK takes its clock from that header; the
// server refuses what is then signed more than five minutes off, with a true Date.
func StaleDate(age time.Duration) Fault {
	return faultFunc(func(p *plan) { setHeader(p, "Date", p.request.Arrived.Add(-age).UTC().Format(http.TimeFormat)) })
}

// Header adds a header to the reply.
func Header(key, value string) Fault { return faultFunc(func(p *plan) { setHeader(p, key, value) }) }

func setHeader(p *plan, key, value string) {
	if p.header == nil {
		p.header = http.Header{}
	}

	p.header.Set(key, value)
}

func replaceBody(replace func([]byte) []byte) Fault {
	return faultFunc(func(p *plan) { p.body = replace })
}
