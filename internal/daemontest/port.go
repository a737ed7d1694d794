package daemontest

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	// Ports below those that Linux and macOS hand out to outgoing connections, so that a halted server finds its port free again.
	firstPort, endPort = 20000, 32000
	portAttempts       = 20
)

// FreePort returns a port nobody listens on. Where the search has no luck, the server's own start says so.
func FreePort(ctx context.Context) int {
	var network net.ListenConfig
	port := firstPort
	for range portAttempts {
		port = firstPort + rand.IntN(endPort-firstPort)
		listener, err := network.Listen(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			_ = listener.Close()
			return port
		}
	}
	return port
}
