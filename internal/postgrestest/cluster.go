package postgrestest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"outboxrelay/internal/daemontest"
)

const (
	certificateName = "server.crt"
	keyName         = "server.key"
)

// cluster is a data directory and what lies beside it: the server's socket and log.
type cluster struct {
	directory    string
	installation Installation
	account      daemontest.Account
}

func (c cluster) data() string { return filepath.Join(c.directory, "data") }

func (c cluster) logFile() string { return filepath.Join(c.directory, "log") }

// newCluster makes and configures a data directory in a temporary one, which is gone again if that fails.
func newCluster(ctx context.Context, options Options) (cluster, error) {
	if err := options.validate(); err != nil {
		return cluster{}, err
	}
	installation, err := Find(ctx, options.version())
	if err != nil {
		return cluster{}, err
	}
	as, err := daemontest.Unprivileged()
	if err != nil {
		return cluster{}, err
	}
	directory, err := os.MkdirTemp(dataDirectory(options.Durable), "outboxrelay-pg-")
	if err != nil {
		return cluster{}, err
	}
	made := cluster{directory: directory, installation: installation, account: as}
	if err := made.fill(ctx, options); err != nil {
		_ = os.RemoveAll(directory)
		return cluster{}, err
	}
	return made, nil
}

func (c cluster) fill(ctx context.Context, options Options) error {
	if err := c.account.Own(c.directory); err != nil {
		return err
	}
	if err := c.initdb(ctx); err != nil {
		return err
	}
	if err := c.configure(options); err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	return nil
}

func (c cluster) initdb(ctx context.Context) error {
	initdb := exec.CommandContext(ctx, filepath.Join(c.installation.Bin, "initdb"), "--pgdata", c.data(),
		"--username", superuser, "--auth", "trust", "--encoding", "UTF8", "--locale", locale(), "--no-sync", "--no-instructions")
	initdb.Dir = "/"
	initdb.Env = daemontest.Environment()
	initdb.SysProcAttr = c.account.Attributes()
	if output, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, output)
	}
	return nil
}

// locale is one that sorts by code point and knows UTF-8; macOS has none of that name.
func locale() string {
	if runtime.GOOS == "darwin" {
		return "C"
	}
	return "C.UTF-8"
}

func (c cluster) configure(options Options) error {
	if err := c.appendTo("postgresql.conf", options.configuration(c.directory)); err != nil {
		return err
	}
	if err := c.write("pg_hba.conf", []byte(options.access())); err != nil {
		return err
	}
	if !options.tls() {
		return nil
	}
	if err := c.copyIn(options.CertFile, certificateName); err != nil {
		return err
	}
	return c.copyIn(options.KeyFile, keyName)
}

func (c cluster) appendTo(name, lines string) error {
	file, err := os.OpenFile(filepath.Join(c.data(), name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := file.WriteString("\n" + lines); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

// copyIn is for files that PostgreSQL wants to belong to its own user and to be closed to others.
func (c cluster) copyIn(source, name string) error {
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	return c.write(name, content)
}

func (c cluster) write(name string, content []byte) error {
	path := filepath.Join(c.data(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	return c.account.Own(path)
}
