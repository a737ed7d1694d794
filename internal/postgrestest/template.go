package postgrestest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// template returns the name of a database in which a script has run, and makes it for the first caller. An empty script needs none:
// template0 is empty and, unlike template1, nobody can be connected to it, which would make a copy fail.
func (s *Server) template(ctx context.Context, script string) (string, error) {
	if script == "" {
		return "template0", nil
	}
	s.catalogue.Lock()
	defer s.catalogue.Unlock()
	if name, ok := s.templates[script]; ok {
		return name, nil
	}
	name := templateName(script)
	if err := s.buildTemplate(ctx, name, script); err != nil {
		return "", err
	}
	s.templates[script] = name
	return name, nil
}

func templateName(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "template_" + hex.EncodeToString(sum[:8])
}

// closePublic makes schema public what it is since PostgreSQL 15: before, every role could create tables there.
const closePublic = "revoke create on schema public from public"

// buildTemplate leaves the database closed to connections, so that nobody can stand in the way of its copies.
func (s *Server) buildTemplate(ctx context.Context, name, script string) error {
	if err := s.createDatabase(ctx, name, "template0"); err != nil {
		return err
	}
	if err := s.execute(ctx, name, closePublic); err != nil {
		return fmt.Errorf("close schema public: %w", err)
	}
	if err := s.execute(ctx, name, script); err != nil {
		_ = s.dropDatabase(ctx, name)
		return fmt.Errorf("run schema script: %w", err)
	}
	closed := "alter database " + quote(name) + " allow_connections false"
	if err := s.execute(ctx, superuser, closed); err != nil {
		return fmt.Errorf("close template: %w", err)
	}
	return nil
}

func (s *Server) createDatabase(ctx context.Context, name, template string) error {
	if err := s.execute(ctx, superuser, "create database "+quote(name)+" template "+quote(template)); err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	return nil
}

func (s *Server) dropDatabase(ctx context.Context, name string) error {
	if err := s.execute(ctx, superuser, "drop database if exists "+quote(name)+" with (force)"); err != nil {
		return fmt.Errorf("drop database: %w", err)
	}
	return nil
}

func quote(identifier string) string { return pgx.Identifier{identifier}.Sanitize() }
