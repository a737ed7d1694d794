package pgbouncertest

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"outboxrelay/internal/postgrestest"
)

// Options say what pooler to run. The zero value is one in transaction mode, with PgBouncer's own defaults.
type Options struct {
	// Mode is pool_mode: transaction, session or statement. Empty: transaction.
	Mode string
	// PoolSize is how many connections a database and user have to the server. 0: PgBouncer's default, which is 20.
	PoolSize int
	// Userlist are the logins that the pooler knows with their passwords. Nil: it asks the server about each (auth_query).
	Userlist []postgrestest.Login
	// CertFile and KeyFile are PEM files; both together make the pooler refuse clients without TLS.
	CertFile, KeyFile string
	// OverSocket makes the pooler reach the server by its Unix socket. Everybody is trusted there.
	OverSocket bool
	// Settings are further lines of pgbouncer.ini. They win over everything else here.
	Settings map[string]string
}

const (
	consoleUser     = "console"
	certificateName = "server.crt"
	keyName         = "server.key"
	userlistName    = "userlist.txt"
	pidName         = "pid"
	authQuery       = "SELECT usename, passwd FROM pg_shadow WHERE usename = $1"
)

// configuration returns pgbouncer.ini.
func (o Options) configuration(directory string, port int, server *postgrestest.Server) string {
	settings := map[string]string{
		"listen_addr":     "127.0.0.1",
		"listen_port":     strconv.Itoa(port),
		"unix_socket_dir": "",
		"pidfile":         filepath.Join(directory, pidName),
		"auth_type":       "scram-sha-256",
		"auth_file":       filepath.Join(directory, userlistName),
		"admin_users":     consoleUser,
		"pool_mode":       cmp.Or(o.Mode, "transaction"),
	}
	host := "127.0.0.1"
	if o.OverSocket {
		host = server.SocketDirectory()
	}
	database := fmt.Sprintf("* = host=%s port=%d", host, server.Port())
	if o.Userlist == nil {
		settings["auth_query"] = authQuery
		database += " auth_user=postgres"
	}
	if o.PoolSize > 0 {
		settings["default_pool_size"] = strconv.Itoa(o.PoolSize)
	}
	if o.CertFile != "" {
		settings["client_tls_sslmode"] = "require"
		settings["client_tls_cert_file"] = filepath.Join(directory, certificateName)
		settings["client_tls_key_file"] = filepath.Join(directory, keyName)
	}
	maps.Copy(settings, o.Settings)
	lines := []string{"[databases]", database, "[pgbouncer]"}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		lines = append(lines, name+" = "+settings[name])
	}
	return strings.Join(lines, "\n") + "\n"
}

// userlist returns the file of names and passwords. The console's user is in it always.
func (o Options) userlist(consolePassword string) string {
	lines := []string{userLine(consoleUser, consolePassword)}
	for _, login := range o.Userlist {
		lines = append(lines, userLine(login.Name, login.Password))
	}
	return strings.Join(lines, "\n") + "\n"
}

func userLine(name, password string) string { return fmt.Sprintf("%q %q", name, password) }
