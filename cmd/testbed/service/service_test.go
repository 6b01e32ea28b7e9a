package service_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/testbed/service"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/operator/room"
)

// An invalid configuration is refused with the field's name, before any request to the API server.
func TestRefuses(t *testing.T) {
	var ofController *field.Error
	var ofRoom *field.Error
	var plaintext *transport.PlaintextError
	for name, test := range map[string]struct {
		change func(*service.Config)
		want   func(error) bool
	}{
		"namespaces": {func(c *service.Config) { c.Namespaces = []string{"a", "a"} }, func(err error) bool {
			return errors.As(err, &ofController) && ofController.Field == "Namespaces"
		}},
		"room": {func(c *service.Config) { c.Rooms = room.Config{Target: "127.0.0.1:1", TokenFile: "token"} }, func(err error) bool {
			return errors.As(err, &ofRoom) && ofRoom.Field == "TokenFile"
		}},
		"plaintext": {func(c *service.Config) { c.Rooms.Target = "scheduler.example:9690" }, func(err error) bool {
			return errors.As(err, &plaintext)
		}},
		"kubeconfig": {func(c *service.Config) { c.Kubeconfig = filepath.Join(t.TempDir(), "none") }, func(err error) bool {
			return errors.Is(err, os.ErrNotExist)
		}},
	} {
		c := service.Config{Kubeconfig: transporttest.Unreachable(t)}
		test.change(&c)
		if s, err := service.New(t.Context(), c); !test.want(err) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// free checks that no process listens there.
func free(t *testing.T, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Errorf("still in use: %v", err)
		return
	}
	listener.Close()
}

// An invalid service leaves no port open, nor does one that never ran.
func TestPortsAreFreed(t *testing.T) {
	api := serve(t, "")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	c := service.Config{
		Kubeconfig: transporttest.Kubeconfig(t, api.url, ""), External: service.External{Listen: transporttest.Address(t)},
		MetricsListen: busy.Addr().String(), Transport: transport.Config{Insecure: true},
	}
	if _, err := service.New(t.Context(), c); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("busy port: got error %v", err)
	}
	free(t, c.External.Listen)

	c.MetricsListen = transporttest.Address(t)
	s, err := service.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if s.ExternalAddr().String() != c.External.Listen || s.MetricsAddr().String() != c.MetricsListen {
		t.Errorf("at %v and %v, want %s and %s", s.ExternalAddr(), s.MetricsAddr(), c.External.Listen, c.MetricsListen)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	free(t, c.External.Listen)
	free(t, c.MetricsListen)
}

// A busy default address is tolerated, a busy configured one is not; plaintext beyond loopback is
// refused in both cases.
func TestDefaultAddress(t *testing.T) {
	api := serve(t, "")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	c := service.Config{Kubeconfig: transporttest.Kubeconfig(t, api.url, ""), External: service.External{Listen: busy.Addr().String()}}
	if _, err := service.New(t.Context(), c); err == nil || !strings.Contains(err.Error(), "serve the interface") {
		t.Errorf("configured: got error %v", err)
	}
	c.External.Default, c.MetricsListen = true, busy.Addr().String()
	if _, err := service.New(t.Context(), c); err == nil || !strings.Contains(err.Error(), "serve the metrics") {
		t.Errorf("configured metrics: got error %v", err)
	}
	c.MetricsDefault = true
	s, err := service.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if s.ExternalAddr() != nil || s.MetricsAddr() != nil {
		t.Errorf("got addresses %v and %v", s.ExternalAddr(), s.MetricsAddr())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	c.External.Listen = "0.0.0.0:0"
	var plaintext *transport.PlaintextError
	if _, err := service.New(t.Context(), c); !errors.As(err, &plaintext) {
		t.Errorf("beyond loopback: got error %v", err)
	}
}

// get returns the code and the text at a URL.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// until requests a URL until the answer has the code and the text.
func until(t *testing.T, url string, code int, text string) {
	t.Helper()
	for {
		got, text := get(t, url)
		if got == code && strings.Contains(text, text) {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("%s: %d %s", url, got, text)
		}
		time.Sleep(time.Millisecond)
	}
}

// A replica is alive at once, but ready only after everything has been read; it takes the lease,
// answers authenticated callers only, and leaves nothing behind.
func TestRun(t *testing.T) {
	api := serve(t, "batchjobs")
	c := service.Config{
		Kubeconfig: transporttest.Kubeconfig(t, api.url, ""), LeaderElect: true, LeaseNamespace: "lab",
		External: service.External{Listen: transporttest.Address(t)}, MetricsListen: transporttest.Address(t),
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	s, err := service.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()

	shown, face := "http://"+s.MetricsAddr().String(), "http://"+s.ExternalAddr().String()
	until(t, shown+"/healthz", http.StatusOK, "")
	until(t, shown+"/readyz", http.StatusServiceUnavailable, "being read")
	if s.Ready() == nil {
		t.Error("ready before jobs have been read")
	}
	close(api.held)
	until(t, shown+"/readyz", http.StatusOK, "")
	if err := s.Ready(); err != nil {
		t.Error(err)
	}
	if code, text := get(t, face+"/external/v1/namespaces/lab/testbeds"); code != http.StatusUnauthorized || !strings.Contains(text, "token") {
		t.Errorf("unauthenticated caller: got %d %s", code, text)
	}
	if got, want := <-api.leases, "lab/spazio-testbed"; got != want {
		t.Errorf("lease %s, want %s", got, want)
	}
	if families, err := s.Registry().Gather(); err != nil || len(families) == 0 {
		t.Errorf("got %d metrics of its own, %v", len(families), err)
	}

	addresses := []string{s.MetricsAddr().String(), s.ExternalAddr().String()}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	for _, address := range addresses {
		free(t, address)
	}
}
