package postgres

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/postgrestest"
)

func TestVerifiesTheServer(t *testing.T) {
	t.Parallel()

	ca, other := newAuthority(t, "Own CA"), newAuthority(t, "Other CA")
	certFile, keyFile := ca.issue(t, "localhost")
	server := postgrestest.NewServer(t, postgrestest.Options{
		CertFile: certFile, KeyFile: keyFile, HBA: []string{"hostnossl all all all reject"},
	})
	url := func(host, parameters string) string {
		return fmt.Sprintf("postgres://postgres@%s:%d/postgres?%s", host, server.Port(), parameters)
	}

	for name, parameters := range map[string]string{
		"ByItsRoot":             "sslrootcert=" + ca.bundle(t),
		"ByOneOfSeveralRoots":   "sslrootcert=" + other.bundle(t, ca),
		"ByItsRootInVerifyFull": "sslmode=verify-full&sslrootcert=" + ca.bundle(t),
	} {
		t.Run("Accepts"+name, func(t *testing.T) {
			t.Parallel()

			conn := mustConnect(t, Settings{URL: url("localhost", parameters)}, nil)
			require.Equal(t, "true", scalar(t, conn, "select ssl::text from pg_stat_ssl where pid = pg_backend_pid()"))
		})
	}
	for name, parameters := range map[string]string{
		"VerifyCA": "sslmode=verify-ca&sslrootcert=" + ca.bundle(t),
		"Require":  "sslmode=require",
	} {
		t.Run("AcceptsAnotherNameBy"+name, func(t *testing.T) {
			t.Parallel()

			conn := mustConnect(t, Settings{URL: url("127.0.0.1", parameters)}, nil)
			require.Equal(t, "true", scalar(t, conn, "select ssl::text from pg_stat_ssl where pid = pg_backend_pid()"))
		})
	}
	for name, test := range map[string]struct{ url, advice string }{
		"AnUnknownRoot":           {url("localhost", ""), "set sslrootcert (PGSSLROOTCERT)"},
		"AnUnknownRootInVerifyCA": {url("localhost", "sslmode=verify-ca"), "set sslrootcert (PGSSLROOTCERT)"},
		"AnotherRoot":             {url("localhost", "sslrootcert="+other.bundle(t)), "set sslrootcert (PGSSLROOTCERT)"},
		"AnotherName":             {url("127.0.0.1", "sslrootcert="+ca.bundle(t)), "connect by a name that is in the server's certificate"},
		"Plaintext":               {url("localhost", "sslmode=disable"), "check the user, and whether the server wants TLS"},
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()

			err := connectFailure(t, Settings{URL: test.url}, nil)
			require.ErrorContains(t, err, "; "+test.advice)
		})
	}
	t.Run("ByTheNameInTheSecret", func(t *testing.T) {
		t.Parallel()

		settings := Settings{URL: "postgres:///?sslrootcert=" + ca.bundle(t), SecretARN: "arn"}
		secret := `{"username":"postgres","password":"any","dbname":"postgres","port":%d,"host":%q}`
		mustConnect(t, settings, holding(fmt.Sprintf(secret, server.Port(), "localhost")))

		err := connectFailure(t, settings, holding(fmt.Sprintf(secret, server.Port(), "127.0.0.1")))
		require.ErrorContains(t, err, "connect by a name that is in the server's certificate")
	})
}

func TestFallsBackToNoPlaintext(t *testing.T) {
	t.Parallel()

	for _, url := range []string{
		"", "host=db", "postgres://db", "postgres://h1,h2/app", "host=db sslnegotiation=direct", "host=db password=", `host=db password=x\\`, "postgres://db?",
	} {
		connector, err := NewConnector(Settings{URL: url, SecretARN: "arn"}, nil)
		require.NoError(t, err, url)
		hosts := strings.Count(url, ",")
		require.Len(t, connector.config.Fallbacks, hosts, url)
		require.False(t, connector.config.TLSConfig.InsecureSkipVerify, url)
		require.True(t, connector.config.TLSConfig.RootCAs.Equal(roots()), url)
		for _, fallback := range connector.config.Fallbacks {
			require.False(t, fallback.TLSConfig.InsecureSkipVerify, url)
		}
	}
}

// Not parallel: it changes the environment, which has a lesser say than we do.
func TestTheDriversVariablesDoNotWeakenTLS(t *testing.T) {
	t.Setenv("PGSSLMODE", "prefer")

	connector, err := NewConnector(Settings{URL: "host=db"}, nil)

	require.NoError(t, err)
	require.Empty(t, connector.config.Fallbacks)
	require.False(t, connector.config.TLSConfig.InsecureSkipVerify)
}

// Not parallel: it changes the environment.
func TestAServiceFileDoesNotWeakenTLS(t *testing.T) {
	file := filepath.Join(t.TempDir(), "services")
	require.NoError(t, os.WriteFile(file, []byte("[app]\nhost=db\nsslmode=disable\n"), 0o600))
	t.Setenv("PGSERVICEFILE", file)
	t.Setenv("PGSERVICE", "app")

	connector, err := NewConnector(Settings{}, nil)

	require.NoError(t, err)
	require.Equal(t, "db", connector.config.Host)
	require.Equal(t, "db", connector.config.TLSConfig.ServerName)
	require.False(t, connector.config.TLSConfig.InsecureSkipVerify)
	require.True(t, connector.config.TLSConfig.RootCAs.Equal(roots()))
}

// Not parallel: it changes the environment.
func TestAFileOfRootsByVariableReplacesAllOthers(t *testing.T) {
	ca := newAuthority(t, "Own CA")
	t.Setenv("PGSSLROOTCERT", ca.bundle(t))
	expected := x509.NewCertPool()
	expected.AddCert(ca.certificate)

	connector, err := NewConnector(Settings{URL: "host=db"}, nil)

	require.NoError(t, err)
	require.True(t, connector.config.TLSConfig.RootCAs.Equal(expected))
}

// As in libpq, no mode makes less of it than verify-full.
func TestTheSystemsRootsAloneVerifyInFull(t *testing.T) {
	t.Parallel()

	system, err := x509.SystemCertPool()
	require.NoError(t, err)
	for _, mode := range append([]string{""}, sslModes...) {
		connector, err := NewConnector(Settings{URL: "host=db sslrootcert=system", SSLMode: mode}, nil)

		require.NoError(t, err, mode)
		require.True(t, connector.config.TLSConfig.RootCAs.Equal(system), mode)
		require.False(t, connector.config.TLSConfig.RootCAs.Equal(roots()), mode)
		require.False(t, connector.config.TLSConfig.InsecureSkipVerify, mode)
		require.Equal(t, "db", connector.config.TLSConfig.ServerName, mode)
	}
}

// Neither user nor password is sent in the clear, whatever the other end says: a
// server or a pooler without TLS, one that reports an error instead, or somebody
// in between who promises TLS and goes on without.
func TestSendsNothingInTheClear(t *testing.T) {
	t.Parallel()

	const sslRequest = "\x00\x00\x00\x08\x04\xd2\x16\x2f"
	login := `{"username":"relay_user","password":"hunter2","dbname":"app","host":"localhost","port":%d}`
	token := func(context.Context, string, string) (string, error) { return "hunter2", nil }
	for reply, answer := range map[string]string{
		"No": "N", "Error": "E\x00\x00\x00\x08SFATAL", "AskForThePassword": "R\x00\x00\x00\x08\x00\x00\x00\x03", "Nothing": "",
		"YesAndPlaintext": "SR\x00\x00\x00\x08\x00\x00\x00\x03",
	} {
		for way, connect := range map[string]func(port int, mode string) (Settings, SecretsManager){
			"ByURL": func(port int, mode string) (Settings, SecretsManager) {
				return Settings{URL: fmt.Sprintf("postgres://relay_user:hunter2@localhost:%d/app?sslmode=%s", port, mode)}, nil
			},
			"BySecret": func(port int, mode string) (Settings, SecretsManager) {
				return Settings{SecretARN: secretARN, SSLMode: mode}, holding(fmt.Sprintf(login, port))
			},
			"ByToken": func(port int, mode string) (Settings, SecretsManager) {
				return Settings{URL: fmt.Sprintf("host=localhost port=%d user=relay_user", port), SSLMode: mode, Sign: token}, nil
			},
		} {
			for _, mode := range []string{"verify-full", "verify-ca", "require"} {
				t.Run(reply+way+mode, func(t *testing.T) {
					t.Parallel()

					port, heard := overhear(t, answer)
					settings, secrets := connect(port, mode)
					_ = connectFailure(t, settings, secrets)

					sent := string(<-heard)
					require.True(t, strings.HasPrefix(sent, sslRequest), "%q", sent)
					require.NotContains(t, sent, "relay_user")
					require.NotContains(t, sent, "hunter2")
					if answer == "" || answer[0] != 'S' {
						require.Equal(t, sslRequest, sent)
					}
				})
			}
		}
	}
}

// overhear answers the first connection and tells what came in until its end.
// There is no second.
func overhear(t *testing.T, answer string) (port int, heard <-chan []byte) {
	t.Helper()
	listener, all := listen(t), make(chan []byte, 1)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_ = listener.Close()
		request := make([]byte, 8)
		_, _ = io.ReadFull(conn, request)
		_, _ = conn.Write([]byte(answer))
		if answer == "" {
			_ = conn.Close()
		}
		rest, _ := io.ReadAll(conn)
		all <- slices.Concat(request, rest)
	}()
	return listener.Addr().(*net.TCPAddr).Port, all
}

// authority is a certificate authority of a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return authority{sign(t, template, template, key, key), key}
}

// issue writes a server's certificate and key to files.
func (a authority) issue(t *testing.T, host string) (certFile, keyFile string) {
	t.Helper()
	key := newKey(t)
	certificate := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.certificate, key, a.key)
	encodedKey, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return writePEM(t, "server.crt", "CERTIFICATE", certificate.Raw), writePEM(t, "server.key", "PRIVATE KEY", encodedKey)
}

// bundle writes a file of roots: this one and others.
func (a authority) bundle(t *testing.T, others ...authority) string {
	t.Helper()
	all := [][]byte{a.certificate.Raw}
	for _, other := range others {
		all = append(all, other.certificate.Raw)
	}
	return writePEM(t, "roots.pem", "CERTIFICATE", all...)
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

func sign(t *testing.T, template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	return certificate
}

func writePEM(t *testing.T, name, kind string, contents ...[]byte) string {
	t.Helper()
	var text []byte
	for _, content := range contents {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})...)
	}
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}
