package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

const (
	// account and region are those that MiniStack has by itself.
	account = "000000000000"
	region  = "us-east-1"
	// readyWait is how long a busy machine may take to start MiniStack, which
	// takes a second.
	readyWait = time.Minute
)

// ministack is the emulator of AWS.
type ministack struct {
	server *server
	dir    string // where it keeps the code of functions
	port   int
}

// startMiniStack starts it on loopback, on a port that nobody listens on.
func startMiniStack(ctx context.Context, python, cache string) (*ministack, error) {
	dir, err := os.MkdirTemp(cache, "ministack-")
	if err != nil {
		return nil, err
	}
	m := &ministack{dir: dir, port: freePort(ctx)}
	command := newCommand(context.WithoutCancel(ctx), python, "-m", "ministack") // until close
	command.Dir, command.Env = dir, m.environment()
	if m.server, err = startServer(command, filepath.Join(cache, "ministack.log")); err == nil {
		err = m.awaitReady(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start MiniStack: %w", err), m.close())
	}
	return m, nil
}

// environment has nothing of this process's but the path: the functions inherit
// it. BIND_HOST and IOT_MTLS_ENABLED keep MiniStack from listening for others
// than this machine; AUTH has it hold everybody to the policies of their role.
func (m *ministack) environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.dir, "TMPDIR=" + m.dir, "LANG=C.UTF-8", "TZ=UTC",
		"BIND_HOST=127.0.0.1", "MINISTACK_HOST=127.0.0.1", "GATEWAY_PORT=" + strconv.Itoa(m.port),
		"IOT_MTLS_ENABLED=0", "AUTH=true", "MINISTACK_REGION=" + region, "AWS_ENDPOINT_URL=" + m.url(),
	}
}

func (m *ministack) url() string { return "http://127.0.0.1:" + strconv.Itoa(m.port) }

// config is that of clients of the AWS SDK.
func (m *ministack) config() aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: aws.String(m.url()),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
}

func (m *ministack) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		if m.ready(ctx) {
			return nil
		}
		select {
		case <-m.server.gone:
			return fmt.Errorf("it ended:\n%s", m.server.said())
		case <-ctx.Done():
			return fmt.Errorf("it does not get ready:\n%s", m.server.said())
		case <-poll.C:
		}
	}
}

func (m *ministack) ready(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url()+"/_ministack/health", http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// close ends it, the functions with it.
func (m *ministack) close() error {
	if m.server != nil {
		m.server.stop()
	}
	return os.RemoveAll(m.dir)
}

// freePort returns a port below those that systems give to outgoing connections.
// Where the search has no luck, the start says so.
func freePort(ctx context.Context) (port int) {
	for range 100 {
		port = 10_000 + rand.IntN(20_000)
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = listener.Close()
			break
		}
	}
	return port
}
