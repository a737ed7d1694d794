package postgrestest

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed owner.sql
var ownerSQL string

// AddOwner gives the database a login as its owner, who is no superuser: it may make tables and roles, and pass on the right to see
// the transactions of others.
func (d *Database) AddOwner(ctx context.Context) (Login, error) {
	owner, err := d.AddLogin(ctx)
	if err != nil {
		return Login{}, err
	}
	script := strings.NewReplacer("<owner>", owner.Name, "<database>", d.Name).Replace(ownerSQL)
	if err := d.Server.changeRoles(ctx, d.Name, script); err != nil {
		return Login{}, fmt.Errorf("give the database an owner: %w", err)
	}
	return owner, nil
}
