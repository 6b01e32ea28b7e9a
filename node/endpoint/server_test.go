package endpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/node/endpoint"
)

func get(t *testing.T, addr net.Addr, path string) (int, string) {
	t.Helper()
	response, err := http.Get("http://" + addr.String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestServer(t *testing.T) {
	registry := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "spazio_test_total"})
	registry.MustRegister(counter)
	counter.Add(3)
	ill := make(chan error, 1)
	ill <- nil
	h, err := endpoint.NewDebug(t.Context(), endpoint.Config{Addr: transporttest.Address(t), Gatherer: registry, Health: func() error { return <-ill }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	if code, body := get(t, h.Addr(), "/metrics"); code != 200 || !strings.Contains(body, "spazio_test_total 3") {
		t.Errorf("/metrics: %d %q", code, body)
	}
	if code, body := get(t, h.Addr(), "/healthz"); code != 200 || body != "ok\n" {
		t.Errorf("/healthz: %d %q", code, body)
	}
	ill <- errors.New("no\nsample")
	if code, body := get(t, h.Addr(), "/healthz"); code != 503 || body != "no; sample\n" {
		t.Errorf("/healthz: %d %q", code, body)
	}
	if code, _ := get(t, h.Addr(), "/"); code != 404 {
		t.Errorf("/: %d", code)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	free, err := net.Listen("tcp", h.Addr().String())
	if err != nil {
		t.Fatalf("the port is not free: %v", err)
	}
	free.Close()
}

func TestBusyPortAndPlaintext(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if _, err := endpoint.NewDebug(t.Context(), endpoint.Config{Addr: busy.Addr().String()}); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a busy port: %v", err)
	}
	var plaintext *transport.PlaintextError
	if _, err := endpoint.NewDebug(t.Context(), endpoint.Config{Addr: ":0"}); !errors.As(err, &plaintext) {
		t.Errorf("plaintext beyond loopback: %v", err)
	}
	open, err := endpoint.NewMetrics(t.Context(), endpoint.Config{Addr: ":0"})
	if err != nil {
		t.Fatal(err)
	}
	open.Close()
}

func TestReadyAndHandlers(t *testing.T) {
	h, err := endpoint.NewDebug(t.Context(), endpoint.Config{
		Addr: "127.0.0.1:0", Gatherer: prometheus.NewRegistry(), Ready: func() error { return errors.New("not yet") },
		Handlers: map[string]http.Handler{"GET /more": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "more") })},
	})
	if err != nil {
		t.Fatal(err)
	}
	serveUntilTheEnd(t, h)
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "not yet\n", "/more": "more"} {
		if _, body := get(t, h.Addr(), path); body != want {
			t.Errorf("%s: %q, want %q", path, body, want)
		}
	}
}

// TestMetricsShowNothingElse checks that the metrics port serves no other path.
func TestMetricsShowNothingElse(t *testing.T) {
	h, err := endpoint.NewMetrics(t.Context(), endpoint.Config{
		Addr: ":0", Gatherer: prometheus.NewRegistry(),
		Handlers: map[string]http.Handler{"GET /debug/more": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "more") })},
	})
	if err != nil {
		t.Fatal(err)
	}
	serveUntilTheEnd(t, h)
	_, port, err := net.SplitHostPort(h.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	at, err := net.ResolveTCPAddr("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/metrics": 200, "/healthz": 200, "/readyz": 200, "/debug/more": 404, "/debug/pprof/": 404} {
		if code, _ := get(t, at, path); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
}

func serveUntilTheEnd(t *testing.T, h *endpoint.Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
