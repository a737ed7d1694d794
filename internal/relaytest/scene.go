package relaytest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

var schema = postgres.Schema(postgres.Table{Schema: "public", Name: "outbox"})

// Scene is what surrounds a relay: a database with the tables, a login with the
// role outbox_relay and nothing more, and the stand-in for EventBridge.
type Scene struct {
	DB    *postgrestest.Database
	Login postgrestest.Login
	Bus   *eventbridgetest.Server

	mu      sync.Mutex
	written []string // ids of the events that the scene's own methods have written
}

// New makes a scene on the server that tests share.
func New(t *testing.T, options ...eventbridgetest.Option) *Scene {
	t.Helper()
	server, err := postgrestest.Shared()
	require.NoError(t, err)
	return NewOn(t, server, options...)
}

// NewOn makes a scene on a server of the test's own.
func NewOn(t *testing.T, server *postgrestest.Server, options ...eventbridgetest.Option) *Scene {
	t.Helper()
	db := postgrestest.New(t, postgrestest.On(server), postgrestest.Schema(schema))
	return &Scene{DB: db, Login: db.CreateLogin(t, "outbox_relay"), Bus: eventbridgetest.New(t, options...)}
}
