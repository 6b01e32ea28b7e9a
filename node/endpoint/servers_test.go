package endpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/node/endpoint"
)

func shown() endpoint.Config {
	return endpoint.Config{
		Gatherer: prometheus.NewRegistry(),
		Handlers: map[string]http.Handler{"GET /debug/more": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "more") })},
	}
}

// TestServers: debug data are served on exactly one of the two addresses.
func TestServers(t *testing.T) {
	s, err := endpoint.NewServers(t.Context(), endpoint.ServersConfig{Shown: shown(), Metrics: "127.0.0.1:0", Debug: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	for _, test := range []struct {
		addr net.Addr
		path string
		want int
	}{
		{s.MetricsAddr(), "/healthz", 200}, {s.MetricsAddr(), "/debug/more", 404},
		{s.DebugAddr(), "/healthz", 200}, {s.DebugAddr(), "/debug/more", 200}, {s.DebugAddr(), "/debug/pprof/", 404},
	} {
		if code, _ := get(t, test.addr, test.path); code != test.want {
			t.Errorf("%s at %v: %d, want %d", test.path, test.addr, code, test.want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestServersClose: servers that were never run release their ports.
func TestServersClose(t *testing.T) {
	s, err := endpoint.NewServers(t.Context(), endpoint.ServersConfig{Shown: shown(), Metrics: transporttest.Address(t), Debug: transporttest.Address(t)})
	if err != nil {
		t.Fatal(err)
	}
	addresses := []string{s.MetricsAddr().String(), s.DebugAddr().String()}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			t.Errorf("%s still listens", address)
		}
	}
}

func TestNoServers(t *testing.T) {
	s, err := endpoint.NewServers(t.Context(), endpoint.ServersConfig{})
	if err != nil || s.MetricsAddr() != nil || s.DebugAddr() != nil {
		t.Fatalf("%v, at %v and %v", err, s.MetricsAddr(), s.DebugAddr())
	}
	if err := errors.Join(s.Run(t.Context()), s.Close()); err != nil {
		t.Error(err)
	}
}

// TestServersRefuse: a busy default address is only logged, since it was not configured; a refused
// configuration leaves no port open.
func TestServersRefuse(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	taken := busy.Addr().String()
	var log bytes.Buffer
	s, err := endpoint.NewServers(t.Context(), endpoint.ServersConfig{
		Shown: shown(), Debug: taken, DebugDefault: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil || s.DebugAddr() != nil || !strings.Contains(log.String(), taken) {
		t.Errorf("by default: %v, logged %q", err, &log)
	}
	log.Reset()
	s, err = endpoint.NewServers(t.Context(), endpoint.ServersConfig{
		Shown: shown(), Metrics: taken, MetricsDefault: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil || s.MetricsAddr() != nil || !strings.Contains(log.String(), taken) {
		t.Errorf("the metrics by default: %v, logged %q", err, &log)
	}
	for what, c := range map[string]endpoint.ServersConfig{
		"the metrics":    {Metrics: taken},
		"the debug data": {Metrics: "127.0.0.1:0", Debug: taken},
	} {
		c.Shown = shown()
		if _, err := endpoint.NewServers(t.Context(), c); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s at a busy address: got error %v", what, err)
		}
	}
	var plaintext *transport.PlaintextError
	if _, err := endpoint.NewServers(t.Context(), endpoint.ServersConfig{Shown: shown(), Debug: ":0"}); !errors.As(err, &plaintext) {
		t.Errorf("debug data beyond loopback: %v", err)
	}
}
