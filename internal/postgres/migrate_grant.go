package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed catalog/granted.sql
var grantedSQL string

// concurrentRoles are the states of those who make, or change, the same role at
// once, which belongs to the whole server.
var concurrentRoles = []string{duplicateObject, uniqueViolation, internalError}

// grant makes roles and grants in a part of a transaction that may fail for
// itself: not everybody may make roles.
func (r *migrateRun) grant(ctx context.Context, tx pgx.Tx) error {
	err := pgx.BeginFunc(ctx, tx, func(part pgx.Tx) error {
		return runScript(ctx, part.Conn(), r.table.rename(rolesSQL))
	})
	if sqlState(err) != insufficientPrivilege {
		return err
	}
	r.log.WarnContext(ctx, "roles and grants were not made: have an administrator apply that part of what make schema prints", "error", err)
	return nil
}

// grants makes roles and grants where they are missing. What an operator has
// changed about those that are there stays as it is.
func (r *migrateRun) grants(ctx context.Context) error {
	roles, ungranted, err := r.granted(ctx)
	if err != nil {
		return err
	}
	if len(roles) == len(roleNames) && !ungranted {
		return nil
	}
	err = r.briefly(ctx, lockWait, func(tx pgx.Tx) error { return r.grant(ctx, tx) }, concurrentRoles...)
	if err != nil {
		return fmt.Errorf("make roles and grants: %w", err)
	}
	if roles, ungranted, err = r.granted(ctx); err == nil && len(roles) == len(roleNames) && !ungranted {
		r.applied(ctx, "grants")
	}
	return err
}

// roleNames are the roles that the grants are for.
var roleNames = []string{"outbox_writer", "outbox_relay", "outbox_cleanup", "outbox_lag", "outbox_admin"}

// granted returns the roles that there are, and whether none has any right.
func (r *migrateRun) granted(ctx context.Context) (roles []string, ungranted bool, err error) {
	err = r.conn.QueryRow(ctx, grantedSQL, r.table.String(), roleNames).Scan(&roles, &ungranted)
	if err != nil {
		return nil, false, fmt.Errorf("look for roles and grants: %w", err)
	}
	return roles, ungranted, nil
}

// revoke takes back what earlier versions have granted to the functions, all of
// which is granted anew after it. Applications keep what they have.
func (r *migrateRun) revoke(ctx context.Context) (string, error) {
	roles, _, err := r.granted(ctx)
	if err != nil {
		return "", err
	}
	roles = slices.DeleteFunc(roles, func(role string) bool { return role == "outbox_writer" })
	if len(roles) == 0 {
		return "", nil
	}
	var tables []string
	for _, suffix := range []string{"", "_failed", "_redriven", "_paused", "_schema"} {
		tables = append(tables, r.table.companion(suffix).String())
	}
	return fmt.Sprintf("\nREVOKE ALL ON %s FROM %s;", strings.Join(tables, ", "), strings.Join(roles, ", ")), nil
}
