package serve_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

func TestExitCodes(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	fails := func(err error) func(*cobra.Command, []string) error {
		return func(*cobra.Command, []string) error { return err }
	}
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		args   []string
		run    func(*cobra.Command, []string) error
		code   int
		stderr string
	}{
		{"success", t.Context(), nil, fails(nil), serve.ExitOK, ""},
		{"help", t.Context(), []string{"--help"}, fails(errors.New("ran")), serve.ExitOK, ""},
		{"failure", t.Context(), nil, fails(errors.New("disk full")), serve.ExitFailure, "tool: disk full\n"},
		{"failure of many lines", t.Context(), nil, fails(errors.Join(errors.New("a"), errors.New("b"))), serve.ExitFailure, "tool: a; b\n"},
		{"unknown flag", t.Context(), []string{"--no-such"}, fails(nil), serve.ExitUsage, "tool: unknown flag: --no-such\n"},
		{"bad value", t.Context(), []string{"--insecure=perhaps"}, fails(nil), serve.ExitUsage, "tool: invalid argument \"perhaps\" for \"--insecure\" flag: strconv.ParseBool: parsing \"perhaps\": invalid syntax\n"},
		{"argument", t.Context(), []string{"word"}, fails(nil), serve.ExitUsage, "tool: unknown command \"word\" for \"tool\"\n"},
		{"marked", t.Context(), nil, fails(serve.Usage(errors.New("bad option"))), serve.ExitUsage, "tool: bad option\n"},
		{"plaintext", t.Context(), nil, fails(fmt.Errorf("start: %w", &transport.PlaintextError{Action: "listen on", Addr: ":1"})), serve.ExitUsage,
			"tool: start: transport: refusing to listen on \":1\" in plaintext: use a loopback address, give TLS files, or allow it with insecure\n"},
		{"interrupted", cancelled, nil, fails(context.Canceled), serve.ExitOK, ""},
		{"cancelled by itself", t.Context(), nil, fails(context.Canceled), serve.ExitFailure, "tool: context canceled\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &cobra.Command{Use: "tool", RunE: tt.run}
			var config transport.Config
			serve.TransportFlags(c.Flags(), &config)
			var stdout, stderr bytes.Buffer
			if code := serve.Execute(tt.ctx, c, tt.args, &stdout, &stderr); code != tt.code || stderr.String() != tt.stderr {
				t.Errorf("exit code %d, stderr %q, want %d, %q", code, &stderr, tt.code, tt.stderr)
			}
		})
	}
}

func TestUnknownSubcommandIsUsage(t *testing.T) {
	root := &cobra.Command{Use: "tool"}
	root.AddCommand(&cobra.Command{Use: "demo", RunE: func(*cobra.Command, []string) error { return nil }})
	for _, args := range [][]string{{"demon"}, {"demo", "extra"}, {"demo", "--flag"}} {
		var stderr bytes.Buffer
		if code := serve.Execute(t.Context(), root, args, io.Discard, &stderr); code != serve.ExitUsage || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%q: exit code %d, stderr %q", args, code, &stderr)
		}
	}
}

func TestFlags(t *testing.T) {
	var config transport.Config
	var log serve.Log
	c := &cobra.Command{Use: "tool", RunE: func(c *cobra.Command, _ []string) error {
		logger, err := log.Logger(c.ErrOrStderr())
		if err == nil {
			logger.Debug("hello")
		}
		return err
	}}
	serve.TransportFlags(c.Flags(), &config)
	serve.LogFlags(c.Flags(), &log)
	var stderr bytes.Buffer
	args := []string{"--tls-cert-file=a", "--tls-private-key-file=b", "--tls-ca-file=c", "--insecure", "--log-level=debug", "--log-format=json"}
	if code := serve.Execute(t.Context(), c, args, io.Discard, &stderr); code != serve.ExitOK || !strings.Contains(stderr.String(), `"msg":"hello"`) {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
	if want := (transport.Config{CertFile: "a", KeyFile: "b", CAFile: "c", Insecure: true}); config != want {
		t.Errorf("config is %+v, want %+v", config, want)
	}
	for _, bad := range []string{"--log-level=loud", "--log-format=xml"} {
		if code := serve.Execute(t.Context(), c, []string{bad}, io.Discard, io.Discard); code != serve.ExitUsage {
			t.Errorf("%s: exit code %d", bad, code)
		}
	}
}

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

func TestHTTP(t *testing.T) {
	registry := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "spazio_test_total"})
	registry.MustRegister(counter)
	counter.Add(3)
	ill := make(chan error, 1)
	ill <- nil
	h, err := serve.NewHTTP(t.Context(), serve.HTTPConfig{
		Addr: "127.0.0.1:0", Gatherer: registry,
		// A CA file is for the process's peers; loopback stays plaintext.
		Transport: transport.Config{CAFile: "/nonexistent"},
		Health:    func() error { return <-ill },
	})
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
	if _, err := serve.NewHTTP(t.Context(), serve.HTTPConfig{Addr: busy.Addr().String()}); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a busy port: %v", err)
	}
	var plaintext *transport.PlaintextError
	if _, err := serve.NewHTTP(t.Context(), serve.HTTPConfig{Addr: ":0"}); !errors.As(err, &plaintext) {
		t.Errorf("plaintext beyond loopback: %v", err)
	}
	open, err := serve.NewHTTP(t.Context(), serve.HTTPConfig{Addr: ":0", Transport: transport.Config{Insecure: true}})
	if err != nil {
		t.Fatal(err)
	}
	open.Close()
}

func TestReadyAndHandlers(t *testing.T) {
	h, err := serve.NewHTTP(t.Context(), serve.HTTPConfig{
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

func TestProfilesAreForLoopbackAlone(t *testing.T) {
	var plaintext *transport.PlaintextError
	if _, err := serve.NewProfiles(t.Context(), ":0"); !errors.As(err, &plaintext) {
		t.Errorf("profiles beyond loopback: %v", err)
	}
	h, err := serve.NewProfiles(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveUntilTheEnd(t, h)
	for _, path := range []string{"", "heap", "cmdline", "symbol", "goroutine?debug=1"} {
		if code, body := get(t, h.Addr(), "/debug/pprof/"+path); code != 200 {
			t.Errorf("%q: %d %s", path, code, body)
		}
	}
}

func serveUntilTheEnd(t *testing.T, h *serve.HTTP) {
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

func TestBytes(t *testing.T) {
	for text, want := range map[string]struct {
		n      serve.Bytes
		string string
	}{
		"0": {0, "0"}, "17": {17, "17B"}, "5B": {5, "5B"}, "1024": {1024, "1KiB"},
		"20MiB": {20 << 20, "20MiB"}, "1536KiB": {1536 << 10, "1536KiB"}, "3GiB": {3 << 30, "3GiB"},
	} {
		var b serve.Bytes
		if err := b.Set(text); err != nil || b != want.n || b.String() != want.string {
			t.Errorf("Set(%q): %d = %q, %v", text, b, b.String(), err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5MiB", "20M", "9223372036854775807KiB", "1 MiB"} {
		b := serve.Bytes(7)
		if err := b.Set(text); err == nil || b != 7 {
			t.Errorf("Set(%q): %d, %v", text, b, err)
		}
	}
}
