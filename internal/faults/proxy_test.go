package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/daemontest"
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
	err := errors.New("no port was tried")
	for range 20 { // another test may take a port between the look and the use
		address := fmt.Sprintf("127.0.0.1:%d", daemontest.FreePort(t.Context()))
		p := &proxy{toxiproxy.NewProxy(api, t.Name(), address, server)}
		if err = p.Start(); err == nil {
			t.Cleanup(p.Stop)
			return p
		}
	}
	require.NoError(t, err)
	return nil
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
	p.addJSON(t, map[string]any{"type": toxic, "stream": stream, "attributes": attributes})
}

// resets makes every end of a connection that is to come a reset. (Toxiproxy
// prepares connections for that where it finds this toxic, also where the toxic
// itself never acts.)
func (p *proxy) resets(t *testing.T, stream string) {
	t.Helper()
	p.addJSON(t, map[string]any{"type": "reset_peer", "stream": stream, "toxicity": 0, "attributes": map[string]any{}})
}

func (p *proxy) addJSON(t *testing.T, toxic map[string]any) {
	t.Helper()
	text, err := json.Marshal(toxic)
	require.NoError(t, err)
	_, err = p.Toxics.AddToxicJson(strings.NewReader(string(text)))
	require.NoError(t, err)
}

// move ends all connections and leads those to come to another server.
func (p *proxy) move(t *testing.T, server string) {
	t.Helper()
	p.down()
	require.NoError(t, p.Update(&toxiproxy.Proxy{Listen: p.Listen, Upstream: server}))
	p.up(t)
}

// down ends all connections and refuses others, until up.
func (p *proxy) down() { p.Stop() }

// up serves again, at the same address. A process that is just being started has a
// copy of the old listener for a moment, which keeps the address taken.
func (p *proxy) up(t *testing.T) {
	t.Helper()
	err := p.Start()
	for limit := within(t, patience); err != nil && limit.Err() == nil; {
		err = p.Start()
	}
	require.NoError(t, err)
}
