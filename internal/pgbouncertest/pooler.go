package pgbouncertest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"outboxrelay/internal/daemontest"
	"outboxrelay/internal/postgrestest"
)

const (
	startTimeout = time.Minute
	pollInterval = 5 * time.Millisecond
	portAttempts = 20
)

var errPortTaken = errors.New("port is taken")

// Pooler is a running PgBouncer.
type Pooler struct {
	process   *daemontest.Process
	directory string
	port      int
	password  string // the console's
	tls       bool
}

// New starts a pooler for one test, which is skipped where there is no PgBouncer. It ends with the test, and shows its log if that has
// failed.
func New(tb testing.TB, server *postgrestest.Server, options Options) *Pooler {
	tb.Helper()
	pooler, err := start(tb.Context(), mustFind(tb), server, options)
	if err != nil {
		tb.Fatal(fmt.Errorf("start pgbouncer: %w", err))
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("log of pgbouncer:\n%s", pooler.log())
		}
		pooler.process.End()
		if err := os.RemoveAll(pooler.directory); err != nil {
			tb.Error(err)
		}
	})
	return pooler
}

func start(ctx context.Context, program string, server *postgrestest.Server, options Options) (*Pooler, error) {
	as, err := daemontest.Unprivileged()
	if err != nil {
		return nil, err
	}
	directory, err := os.MkdirTemp(daemontest.TemporaryDirectory(), "outboxrelay-pgbouncer-")
	if err != nil {
		return nil, err
	}
	pooler := &Pooler{directory: directory, password: rand.Text(), tls: options.CertFile != ""}
	for range portAttempts {
		pooler.port = daemontest.FreePort(ctx)
		if err = pooler.fill(as, server, options); err != nil {
			break
		}
		if err = pooler.launch(ctx, as, program); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		_ = os.RemoveAll(directory)
		return nil, err
	}
	return pooler, nil
}

// fill writes what the pooler reads, for its user alone.
func (p *Pooler) fill(as daemontest.Account, server *postgrestest.Server, options Options) error {
	files := map[string][]byte{
		"pgbouncer.ini": []byte(options.configuration(p.directory, p.port, server)),
		userlistName:    []byte(options.userlist(p.password)),
	}
	for name, source := range map[string]string{certificateName: options.CertFile, keyName: options.KeyFile} {
		if source == "" {
			continue
		}
		content, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		files[name] = content
	}
	for name, content := range files {
		path := p.file(name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
		if err := as.Own(path); err != nil {
			return err
		}
	}
	return as.Own(p.directory)
}

// launch returns when the console answers. A failed start leaves no process.
func (p *Pooler) launch(ctx context.Context, as daemontest.Account, program string) error {
	log, err := os.OpenFile(p.file("log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	// What other signals mean differs by version.
	p.process, err = daemontest.Start(as, p.directory, syscall.SIGKILL, log, program, p.file("pgbouncer.ini"))
	if err != nil {
		return err
	}
	if err := p.awaitReady(ctx); err != nil {
		return p.endedBy(err)
	}
	return nil
}

func (p *Pooler) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		err := p.order(ctx, "SHOW VERSION")
		if err == nil {
			return nil
		}
		select {
		case <-p.process.Gone():
			return errors.New("it ended while it started")
		case <-ctx.Done():
			return fmt.Errorf("it does not get ready: %w", err)
		case <-poll.C:
		}
	}
}

// endedBy ends the process and keeps the directory, with the log.
func (p *Pooler) endedBy(cause error) error {
	return errors.Join(p.explain(cause), p.process.Stop("KILL"), p.process.Release())
}

func (p *Pooler) explain(cause error) error {
	log := p.log()
	if bytes.Contains(log, []byte("Address already in use")) {
		return errPortTaken
	}
	return fmt.Errorf("%w: %s", cause, log)
}

func (p *Pooler) file(name string) string { return filepath.Join(p.directory, name) }

func (p *Pooler) log() []byte {
	log, _ := os.ReadFile(p.file("log"))
	const tail = 4000
	return log[max(0, len(log)-tail):]
}

// Port is the TCP port on 127.0.0.1.
func (p *Pooler) Port() int { return p.port }

// URL connects to a database through the pooler. Without TLS it says sslmode=disable; with TLS it says nothing on that, since what to
// check is the caller's to say.
func (p *Pooler) URL(database string, login postgrestest.Login) string {
	return p.url(database, login.Name, login.Password)
}

func (p *Pooler) url(database, user, password string) string {
	built := url.URL{
		Scheme: "postgres", User: url.UserPassword(user, password), Host: "127.0.0.1:" + strconv.Itoa(p.port), Path: "/" + database,
	}
	if !p.tls {
		built.RawQuery = "sslmode=disable"
	}
	return built.String()
}

// Freeze stops the pooler's process where it is, and returns what lets it go on. The end of the test does so too.
func (p *Pooler) Freeze(tb testing.TB) (thaw func()) {
	tb.Helper()
	content, err := os.ReadFile(p.file(pidName))
	if err != nil {
		tb.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		tb.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		tb.Fatal(err)
	}
	return func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
}
