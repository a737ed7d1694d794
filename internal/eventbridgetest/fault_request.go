package eventbridgetest

import (
	"net/http"
	"time"

	"outboxrelay/internal/eventbridgetest/awsjson"
)

// Refuse answers the whole request with an error; nothing is accepted. Without a code the body is empty.
func Refuse(status int, code, message string) Fault {
	return faultFunc(func(p *plan) { p.refusal = &awsjson.Error{Status: status, Code: code, Message: message} })
}

// Throttle is the account's PutEvents rate exceeded.
func Throttle() Fault { return Refuse(http.StatusBadRequest, "ThrottlingException", "Rate exceeded") }

// InternalException is the one error PutEvents models.
func InternalException() Fault {
	return Refuse(http.StatusInternalServerError, "InternalException", "This exception occurs due to unexpected causes.")
}

// Unavailable is a 503.
func Unavailable() Fault {
	return Refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "The service is unavailable.")
}

// ExpiredToken is the answer to credentials that have run out.
func ExpiredToken() Fault {
	return Refuse(http.StatusBadRequest, "ExpiredTokenException", "The security token included in the request is expired")
}

// AccessDenied is a missing permission.
func AccessDenied() Fault {
	return Refuse(http.StatusBadRequest, "AccessDeniedException",
		"User: arn:aws:sts::"+Account+":assumed-role/relay/relay is not authorized to perform this action")
}

// InvalidSignature is the refusal of a signature, whatever the reason.
func InvalidSignature() Fault {
	return Refuse(http.StatusForbidden, "InvalidSignatureException",
		"The request signature we calculated does not match the signature you provided.")
}

// TooLarge is the refusal of AWS's front end: 413 without a body.
func TooLarge() Fault { return Refuse(http.StatusRequestEntityTooLarge, "", "") }

// Latency accepts at once and answers d later: the time in which a client that gives up leaves accepted events behind.
// Two latencies add up.
func Latency(d time.Duration) Fault { return faultFunc(func(p *plan) { p.after += d }) }

// SlowAccept waits for d before it accepts; a client that goes away in the meantime has sent nothing.
func SlowAccept(d time.Duration) Fault { return faultFunc(func(p *plan) { p.before += d }) }

// Hang reads the request and never answers. Nothing is accepted.
func Hang() Fault { return Both(AcceptThenHang(), WithoutAccepting()) }

// AcceptThenHang accepts and never answers.
func AcceptThenHang() Fault { return end(hangs) }

// Drop closes the connection without an answer. Nothing is accepted.
func Drop() Fault { return Both(AcceptThenDrop(), WithoutAccepting()) }

// AcceptThenDrop accepts and closes the connection without an answer.
func AcceptThenDrop() Fault { return end(drops) }

// WithoutAccepting keeps a request whose answer is lost or broken from being accepted: where the answer cannot tell, both
// have to be right.
func WithoutAccepting() Fault { return faultFunc(func(p *plan) { p.withhold = true }) }

func end(e ending) Fault { return faultFunc(func(p *plan) { p.ending = e }) }
