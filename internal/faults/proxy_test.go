package faults

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// proxy is Toxiproxy before a server.
type proxy struct{ *toxiproxy.Proxy }

// The streams that a toxic can be put into.
const (
	requests = "upstream"   // from the function to the server
	replies  = "downstream" // from the server to the function
)

// newProxy passes connections on to a server, given as host:port.
func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := &proxy{toxiproxy.NewProxy(api, t.Name(), "127.0.0.1:0", server)}
	require.NoError(t, p.Start())
	t.Cleanup(p.Stop)
	return p
}

// before returns a URL with the proxy in the server's place.
func (p *proxy) before(t *testing.T, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	require.NoError(t, err)
	parsed.Host = p.Listen
	return parsed.String()
}

// add puts a toxic into a stream of all connections, those to come among them.
func (p *proxy) add(t *testing.T, toxic, stream string, attributes map[string]any) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"type": toxic, "stream": stream, "attributes": attributes})
	require.NoError(t, err)
	_, err = p.Toxics.AddToxicJson(strings.NewReader(string(text)))
	require.NoError(t, err)
}

// clear takes all toxics away.
func (p *proxy) clear(t *testing.T) {
	t.Helper()
	p.Toxics.ResetToxics(t.Context())
}

// down ends all connections and refuses others, until up.
func (p *proxy) down() { p.Stop() }

// up serves again, at the same address.
func (p *proxy) up(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Start())
}
