package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// stage is what the play is given on.
type stage struct {
	say      say
	aws      *ministack
	database *database
	deployed *deployment
}

// setStage starts everything. What was started before an error is stopped.
func setStage(ctx context.Context, say say) (_ *stage, err error) {
	s := &stage{say: say}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	source, cache, err := directories(ctx)
	if err != nil {
		return nil, err
	}
	python, err := installMiniStack(ctx, cache, say)
	if err != nil {
		return nil, err
	}
	if s.aws, err = startMiniStack(ctx, python, cache); err != nil {
		return nil, err
	}
	say("MiniStack listens on %s", s.aws.url())
	if s.database, err = startDatabase(ctx); err != nil {
		return nil, err
	}
	say("PostgreSQL %s listens on port %d", s.database.server.Version(), s.database.server.Port())
	s.deployed, err = newDeployment(source, cache, s.aws)
	return s, err
}

// close stops everything, in the order in which nobody misses anything.
func (s *stage) close() error {
	var errs []error
	if s.deployed != nil {
		errs = append(errs, s.deployed.close())
	}
	if s.aws != nil {
		errs = append(errs, s.aws.close())
	}
	if s.database != nil {
		errs = append(errs, s.database.close())
	}
	return errors.Join(errs...)
}

// directories are the project's source, and what this program may fill.
func directories(ctx context.Context) (source, cache string, err error) {
	output, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "outboxrelay").Output()
	if err != nil {
		return "", "", fmt.Errorf("find the project's source: %w", err)
	}
	source = strings.TrimSpace(string(output))
	cache = filepath.Join(source, ".cache", "e2e")
	return source, cache, os.MkdirAll(cache, 0o755) //nolint:gosec // nothing secret
}
