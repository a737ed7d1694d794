package postgrestest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// NewStandby makes a standby of a server for one test: a copy that follows it by streaming replication and takes no writes until it is
// promoted. The server restarts for that.
func NewStandby(tb testing.TB, of *Server) *Server {
	tb.Helper()
	standby, err := of.StartStandby(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := standby.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return standby
}

// StartStandby is NewStandby without a test. Whoever calls it ought to call Stop.
//
// It copies the files of the halted server, since not every installation has pg_basebackup: the npm package has not.
func (s *Server) StartStandby(ctx context.Context) (*Server, error) {
	if err := s.Halt(Fast); err != nil {
		return nil, fmt.Errorf("start standby: %w", err)
	}
	made, err := s.copy(ctx)
	if err != nil {
		return nil, fmt.Errorf("start standby: %w", err)
	}
	standby := &Server{cluster: made, tls: s.tls, templates: map[string]string{}}
	if err := s.Resume(ctx); err != nil {
		_ = os.RemoveAll(made.directory)
		return nil, fmt.Errorf("start standby: %w", err)
	}
	if err := standby.findPort(ctx); err != nil {
		_ = os.RemoveAll(made.directory)
		return nil, fmt.Errorf("start standby: %w", err)
	}
	return standby, nil
}

// copy makes the cluster of a standby, which is gone again if that fails.
func (s *Server) copy(ctx context.Context) (cluster, error) {
	directory, err := os.MkdirTemp(filepath.Dir(s.cluster.directory), "outboxrelay-pg-")
	if err != nil {
		return cluster{}, err
	}
	made := cluster{directory: directory, installation: s.cluster.installation, account: s.cluster.account}
	if err := made.follow(ctx, s); err != nil {
		_ = os.RemoveAll(directory)
		return cluster{}, err
	}
	return made, nil
}

func (c cluster) follow(ctx context.Context, primary *Server) error {
	if err := c.account.Own(c.directory); err != nil {
		return err
	}
	files := exec.CommandContext(ctx, "cp", "-Rp", primary.cluster.data(), c.data())
	files.SysProcAttr = c.account.Attributes()
	if output, err := files.CombinedOutput(); err != nil {
		return fmt.Errorf("copy the server's files: %w: %s", err, output)
	}
	settings := fmt.Sprintf("unix_socket_directories = '%s'\nprimary_conninfo = 'host=%s port=%d user=%s sslmode=disable'\n",
		c.directory, primary.cluster.directory, primary.port, superuser)
	if err := c.appendTo("postgresql.conf", settings); err != nil {
		return err
	}
	return c.write("standby.signal", nil)
}

// Promote ends the replication and makes a standby take writes.
func (s *Server) Promote(ctx context.Context) error {
	if err := s.execute(ctx, superuser, "select pg_promote(true, 60)"); err != nil {
		return fmt.Errorf("promote standby: %w", err)
	}
	return nil
}

// Synchronize makes every commit of the server wait until a standby has it on disk.
func (s *Server) Synchronize(ctx context.Context) error {
	if err := s.set(ctx, "synchronous_standby_names", "*", "exists (select from pg_stat_replication where sync_state = 'sync')"); err != nil {
		return fmt.Errorf("replicate synchronously: %w", err)
	}
	return nil
}

// Asynchronous takes Synchronize back.
func (s *Server) Asynchronous(ctx context.Context) error {
	if err := s.set(ctx, "synchronous_standby_names", "", "not exists (select from pg_stat_replication where sync_state = 'sync')"); err != nil {
		return fmt.Errorf("replicate asynchronously: %w", err)
	}
	return nil
}

// Detach ends a standby's replication: what the other server does from now on it does not get.
func (s *Server) Detach(ctx context.Context) error {
	if err := s.set(ctx, "primary_conninfo", "", "not exists (select from pg_stat_wal_receiver)"); err != nil {
		return fmt.Errorf("detach standby: %w", err)
	}
	return nil
}

// set changes a setting of the running server, and waits until it is in force.
func (s *Server) set(ctx context.Context, name, value, inForce string) error {
	// Statements of one script are one transaction, in which ALTER SYSTEM cannot be.
	if err := s.execute(ctx, superuser, "alter system set "+name+" = '"+value+"'"); err != nil {
		return err
	}
	if err := s.execute(ctx, superuser, "select pg_reload_conf()"); err != nil {
		return err
	}
	return s.await(ctx, inForce)
}

// await asks again and again whether a condition holds.
func (s *Server) await(ctx context.Context, condition string) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	conn, err := s.connect(ctx, superuser)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for holds := false; !holds; {
		if err := conn.QueryRow(ctx, "select "+condition).Scan(&holds); err != nil {
			return fmt.Errorf("wait until %s: %w", condition, err)
		}
		<-poll.C
	}
	return nil
}
