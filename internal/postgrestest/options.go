package postgrestest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Options say what server to run. The zero value is the one that tests share.
type Options struct {
	// Version is the major version, "14" to "18". Empty: POSTGRES_VERSION, and without that whatever the machine has.
	Version string
	// Durable keeps fsync and full_page_writes on, as benchmarks need. Without it a commit costs no disk write; a crash
	// of the server loses nothing still, only a crash of the machine would. Its data lie in memory then, where Linux has enough of it.
	Durable bool
	// MaxConnections limits the sessions of all databases together. 0: 200.
	MaxConnections int
	// Settings are further lines of postgresql.conf, by name, values without quotes. They win over everything else here.
	Settings map[string]string
	// CertFile and KeyFile are PEM files; both together turn TLS on. The server gets copies, so their mode and owner do not matter.
	CertFile, KeyFile string
	// HBA are lines of pg_hba.conf before the usual ones, for example "hostnossl all all all reject".
	HBA []string
}

func (o Options) version() string { return cmp.Or(o.Version, os.Getenv("POSTGRES_VERSION")) }

func (o Options) tls() bool { return o.CertFile != "" }

func (o Options) validate() error {
	if (o.CertFile == "") != (o.KeyFile == "") {
		return errors.New("CertFile and KeyFile belong together")
	}
	return nil
}

// configuration returns the lines to append to postgresql.conf; the last line of a name counts.
func (o Options) configuration(socketDirectory string) string {
	settings := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": socketDirectory,
		"max_connections":         strconv.Itoa(cmp.Or(o.MaxConnections, 200)),
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"password_encryption":     "scram-sha-256",
	}
	if !o.Durable {
		settings["fsync"] = "off"
		settings["full_page_writes"] = "off"
		settings["max_wal_size"] = "256MB" // it may lie in memory, see dataDirectory
	}
	if o.tls() {
		settings["ssl"] = "on"
		settings["ssl_cert_file"] = certificateName
		settings["ssl_key_file"] = keyName
	}
	maps.Copy(settings, o.Settings)
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&lines, "%s = '%s'\n", name, strings.ReplaceAll(settings[name], "'", "''"))
	}
	return lines.String()
}

// access returns pg_hba.conf. Whoever is in the group of CreateLogin needs a password, everybody else is trusted.
func (o Options) access() string {
	lines := append(slices.Clone(o.HBA),
		"local all all trust",
		"local replication all trust",
		"host all +"+passwordGroup+" 127.0.0.1/32 scram-sha-256",
		"host all all 127.0.0.1/32 trust",
	)
	return strings.Join(lines, "\n") + "\n"
}
