package main

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// rootName is that of a root that databases of customers have: not of AWS's own
// tests (Beta, Preview), and not of a generation without a number.
var rootName = regexp.MustCompile(`^Amazon RDS [a-z]+(-[a-z]+)+-\d Root CA [A-Z0-9]+ G\d+$`)

// lasting is until when a root has to be good at least. It is a date, not a time
// from now, so that the same package makes the same file; the roots of 2019, which
// have ended, are before it.
var lasting = time.Date(2046, time.January, 1, 0, 0, 0, 0, time.UTC)

var (
	joint  = regexp.MustCompile(`'\s*\+\s*'`)
	escape = regexp.MustCompile(`\\n`)
)

// certificates returns the PEM blocks of a script that has them as strings, in
// single quotes and joined by plus signs.
func certificates(script []byte) (blocks [][]byte) {
	script = joint.ReplaceAll(script, nil)
	script = escape.ReplaceAll(script, []byte("\n"))
	script = bytes.ReplaceAll(script, []byte("'"), []byte("\n"))
	for {
		var block *pem.Block
		if block, script = pem.Decode(script); block == nil {
			return blocks
		}
		blocks = append(blocks, block.Bytes)
	}
}

// choose returns the roots among certificates, in the order of their names. One
// that bears a root's name without being one is an error.
func choose(certificates [][]byte) ([]*x509.Certificate, error) {
	chosen := map[string]*x509.Certificate{}
	for i, raw := range certificates {
		certificate, err := x509.ParseCertificate(raw)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", i+1, err)
		}
		name := certificate.Subject.CommonName
		if !rootName.MatchString(name) || certificate.NotAfter.Before(lasting) {
			continue
		}
		if other := chosen[name]; other != nil && !other.Equal(certificate) {
			return nil, fmt.Errorf("there are two of %s", name)
		}
		if err := certificate.CheckSignatureFrom(certificate); err != nil { // also where it is no authority
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		chosen[name] = certificate
	}
	if len(chosen) == 0 {
		return nil, errors.New("there are none")
	}
	return sorted(chosen), nil
}

func sorted(chosen map[string]*x509.Certificate) (roots []*x509.Certificate) {
	for _, root := range chosen {
		roots = append(roots, root)
	}
	slices.SortFunc(roots, func(a, b *x509.Certificate) int { return cmp.Compare(a.Subject.CommonName, b.Subject.CommonName) })
	return roots
}

// encode writes PEM with a comment for each root.
func encode(roots []*x509.Certificate) []byte {
	var text bytes.Buffer
	for _, root := range roots {
		fmt.Fprintf(&text, "# %s, until %s\n", root.Subject.CommonName, root.NotAfter.Format(time.DateOnly))
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Raw}))
	}
	return text.Bytes()
}

func firstEnd(roots []*x509.Certificate) time.Time {
	first := slices.MinFunc(roots, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	return first.NotAfter
}
