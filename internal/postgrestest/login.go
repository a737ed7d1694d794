package postgrestest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// passwordGroup is the group whose members pg_hba.conf asks for a password.
const passwordGroup = "postgrestest_password"

// Login is a role that may log in, with its password. Unlike for other roles the server checks it.
type Login struct {
	Name, Password string
	// URL connects as this role.
	URL string
}

// CreateLogin makes a role with a new name and password, a member of the groups, which exist already. When the test ends
// its sessions are ended, what it owns in this database is dropped and so is the role.
func (d *Database) CreateLogin(tb testing.TB, groups ...string) Login {
	tb.Helper()
	login, err := d.AddLogin(tb.Context(), groups...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.DropLogin(context.Background(), login); err != nil {
			tb.Error(err)
		}
	})
	return login
}

// AddLogin is CreateLogin without a test; DropLogin undoes it.
func (d *Database) AddLogin(ctx context.Context, groups ...string) (Login, error) {
	name, password := fmt.Sprintf("login_%d", d.Server.names.Add(1)), rand.Text()
	memberOf := []string{passwordGroup}
	for _, group := range groups {
		memberOf = append(memberOf, quote(group))
	}
	script := "create role " + name + " login password '" + password + "' in role " + strings.Join(memberOf, ", ")
	if err := d.Server.changeRoles(ctx, superuser, script); err != nil {
		return Login{}, fmt.Errorf("create login: %w", err)
	}
	return Login{Name: name, Password: password, URL: d.Server.URL(d.Name, name, password)}, nil
}

// DropLogin ends the role's sessions and drops what it owns in this database, and the role. A halted server it leaves as it is.
func (d *Database) DropLogin(ctx context.Context, login Login) error {
	if d.Server.halted() {
		return nil
	}
	end := "select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = '" + login.Name + "'"
	err := errors.Join(
		d.Server.execute(ctx, d.Name, end),
		d.Server.changeRoles(ctx, d.Name, "drop owned by "+login.Name+" cascade; drop role "+login.Name),
	)
	if err != nil {
		return fmt.Errorf("drop login %s: %w", login.Name, err)
	}
	return nil
}

func (s *Server) changeRoles(ctx context.Context, database, script string) error {
	s.catalogue.Lock()
	defer s.catalogue.Unlock()
	return s.execute(ctx, database, script)
}
