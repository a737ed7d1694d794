package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// errNoSecond is why a statement waits for which there is no connection.
var errNoSecond = errors.New("a migrate needs two connections at a time, and a pooler seems to have but one: " +
	"enlarge its pool, or connect migrate to the database itself")

// atOnce does what waits for nothing but a connection of a pooler's. Nor does
// the pooler wait for ever.
func atOnce(ctx context.Context, do func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	err := do(within)
	if ctx.Err() == nil && (within.Err() != nil || sqlState(err) == protocolViolation) {
		return fmt.Errorf("%w (%w)", errNoSecond, err)
	}
	return err
}

// noteBackend asks which process of the server's does the work.
func (r *migrateRun) noteBackend(ctx context.Context) error {
	var pid int
	err := atOnce(ctx, func(ctx context.Context) error {
		return r.conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid)
	})
	r.backends = append(r.backends, pid)
	return err
}

// wandering reports that a pooler gives every transaction whatever connection
// is free. Its next choice is the one that was used last, which the guard has
// taken meanwhile, or else the one that was not.
func (r *migrateRun) wandering() bool { return len(slices.Compact(slices.Clone(r.backends))) > 1 }

// unlimited takes away what the role or the database has set for statements: to
// build an index takes as long as it takes, and cannot be done in a transaction,
// which could have settings of its own. Nor may it be read-only, or write names
// in quotes that we compare. It is for the session, which ends with
// the run, and is done only where it is needed: behind a pooler that shares
// connections it would be others who have the settings.
func (r *migrateRun) unlimited(ctx context.Context) error {
	const set = " FROM pg_settings WHERE (name = ANY (" + limits + ") AND setting <> '0' " +
		"OR name IN ('default_transaction_read_only', 'quote_all_identifiers') AND setting = 'on')"
	var names *string
	err := r.conn.QueryRow(ctx, "SELECT string_agg(name, ', ' ORDER BY name)"+set).Scan(&names)
	if err != nil || names == nil {
		return err
	}
	if r.wandering() {
		return fmt.Errorf("%s of the user or of the database cannot be lifted for migrate behind a pooler in transaction mode: "+
			"connect migrate to the database itself, or to a pooler in session mode, or as a user without these settings", *names)
	}
	const lift = "SELECT set_config(name, CASE vartype WHEN 'bool' THEN 'off' ELSE '0' END, false)" + set
	if err := runScript(ctx, r.conn, lift); err != nil {
		return fmt.Errorf("lift the session's limits: %w", err)
	}
	return nil
}
