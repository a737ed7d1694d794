package awsjson

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// The two signatures AWS's services accept; the second, SigV4A, is the one global endpoints need.
const (
	SigV4  = "AWS4-HMAC-SHA256"
	SigV4A = "AWS4-ECDSA-P256-SHA256"
)

// MaxSkew is how far a signature's time may be from the server's clock. AWS documents five minutes.
const MaxSkew = 5 * time.Minute

const amzDate = "20060102T150405Z"

// Signature is what a request says about how it was signed.
type Signature struct {
	Algorithm string
	SignedAt  time.Time
}

// ReadSignature checks what can be checked without the secret key: that the request is signed, by an algorithm AWS knows
// and at a time near the server's.
func ReadSignature(r *http.Request, now time.Time) (Signature, *Error) {
	authorization := r.Header.Get("Authorization")
	if authorization == "" {
		return Signature{}, &Error{http.StatusBadRequest, "MissingAuthenticationTokenException", "Missing Authentication Token"}
	}

	sig := Signature{}
	sig.Algorithm, _, _ = strings.Cut(authorization, " ")
	if sig.Algorithm != SigV4 && sig.Algorithm != SigV4A {
		return sig, incomplete("Unsupported AWS 'algorithm': '" + sig.Algorithm + "'.")
	}

	signedAt, err := time.Parse(amzDate, r.Header.Get("X-Amz-Date"))
	if err != nil {
		return sig, incomplete("Date must be in ISO-8601 'basic format'.")
	}

	sig.SignedAt = signedAt
	return sig, checkSkew(signedAt, now)
}

func incomplete(message string) *Error {
	return &Error{http.StatusBadRequest, "IncompleteSignatureException", message}
}

func checkSkew(signedAt, now time.Time) *Error {
	if signedAt.Sub(now).Abs() <= MaxSkew {
		return nil
	}

	state, relation, bound := "expired", "earlier", now.Add(-MaxSkew)
	if signedAt.After(now) {
		state, relation, bound = "not yet current", "later", now.Add(MaxSkew)
	}
	return &Error{http.StatusForbidden, "InvalidSignatureException", fmt.Sprintf(
		"Signature %s: %s is now %s than %s (%s %s 5 min.)", state, signedAt.Format(amzDate), relation,
		bound.UTC().Format(amzDate), now.UTC().Format(amzDate), map[bool]string{true: "+", false: "-"}[signedAt.After(now)],
	)}
}
