package endpoint_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/node/endpoint"
)

// TestOtherHostsAreRefused: debug data are not served to a page of a DNS name that
// resolves to loopback (DNS rebinding).
func TestOtherHostsAreRefused(t *testing.T) {
	registry := prometheus.NewRegistry()
	debug, err := endpoint.NewDebug(t.Context(), endpoint.Config{Addr: "127.0.0.1:0", Gatherer: registry})
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := endpoint.NewMetrics(t.Context(), endpoint.Config{Addr: "127.0.0.1:0", Gatherer: registry})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(s *endpoint.Server, path, host string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for _, s := range []*endpoint.Server{debug, metrics} {
		go func() { ended <- s.Run(ctx) }()
	}
	for _, host := range []string{"", "localhost", "LOCALHOST.:9691", "127.0.0.1", "127.8.9.1:80", "[::1]:80"} {
		if code := ask(debug, "/metrics", host); code != 200 {
			t.Errorf("%q: %d", host, code)
		}
	}
	for _, host := range []string{"evil.example", "evil.example:9691", "localhost.evil.example", "10.0.0.1", strings.Repeat("a", 300)} {
		if code := ask(debug, "/metrics", host); code != http.StatusMisdirectedRequest {
			t.Errorf("debug data of %q: %d", host, code)
		}
		if code := ask(metrics, "/metrics", host); code != 200 {
			t.Errorf("metrics of %q: %d", host, code)
		}
	}
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
