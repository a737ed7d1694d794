package postgrestest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSettingsWinAndAreQuoted(t *testing.T) {
	t.Parallel()
	lines := Options{MaxConnections: 7, Settings: map[string]string{"fsync": "on", "cluster_name": "it's"}}.configuration("/s")
	require.Contains(t, lines, "max_connections = '7'\n")
	require.Contains(t, lines, "fsync = 'on'\n")
	require.NotContains(t, lines, "fsync = 'off'")
	require.Contains(t, lines, "cluster_name = 'it''s'\n")
}

func TestDurableLeavesFsyncOn(t *testing.T) {
	t.Parallel()
	require.NotContains(t, Options{Durable: true}.configuration("/s"), "fsync")
	require.Contains(t, Options{}.configuration("/s"), "fsync = 'off'")
}

func TestACertificateNeedsItsKey(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{CertFile: "server.crt"})
	require.ErrorContains(t, err, "CertFile and KeyFile belong together")
}
