package testbeds

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

// gate is between a program and the API server, and cuts the program off at a chosen write: the server
// executes that one, the program gets no answer, and nothing follows.
type gate struct {
	mu     sync.Mutex
	fatal  func(*http.Request) bool // called for each write, one at a time
	closed bool
	dead   chan struct{} // closed with the gate
	writes []string
}

// newGate is open until fatal returns true for a write.
func newGate(fatal func(*http.Request) bool) *gate {
	return &gate{fatal: fatal, dead: make(chan struct{})}
}

// afterWrites returns true at the n-th write.
func afterWrites(n int) func(*http.Request) bool {
	return func(*http.Request) bool { n--; return n == 0 }
}

var errKilled = errors.New("killed")

// close lets no further request through.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		close(g.dead)
	}
}

func (g *gate) isClosed() bool {
	select {
	case <-g.dead:
		return true
	default:
		return false
	}
}

// isWrite ignores writes that do not concern test beds.
func isWrite(r *http.Request) bool {
	return r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") && !strings.Contains(r.URL.Path, "/leases") &&
		!strings.Contains(r.URL.RawQuery, "dryRun") && !strings.Contains(r.URL.Path, "reviews")
}

// wrap returns a configuration whose requests pass the gate.
func (g *gate) wrap(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &gated{g, next} })
	return config
}

type gated struct {
	*gate
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper. Writes pass one at a time, so that the last one is known.
func (g *gated) RoundTrip(r *http.Request) (*http.Response, error) {
	if !isWrite(r) {
		select {
		case <-g.dead:
			return nil, errKilled
		default:
			return g.next.RoundTrip(r)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errKilled
	}
	fatal := g.fatal != nil && g.fatal(r)
	response, err := g.next.RoundTrip(r)
	if err == nil {
		g.writes = append(g.writes, r.Method+" "+r.URL.Path+" "+response.Status)
	}
	if !fatal {
		return response, err
	}
	g.closed = true
	close(g.dead)
	if err == nil {
		_ = response.Body.Close()
	}
	return nil, errKilled
}

// kubeconfig serves the API server behind the gate, with an administrator's permissions, and returns
// its kubeconfig.
func (g *gate) kubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	return proxied(t, g.wrap(config), func(forward http.Handler) http.Handler { return forward })
}

// proxied serves the API server with the configuration's permissions, through handle, until the test
// ends, and returns its kubeconfig. A request without an answer is aborted.
func proxied(t *testing.T, config *rest.Config, handle func(forward http.Handler) http.Handler) (kubeconfig string) {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handle(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := embedded.WriteKubeconfig(kubeconfig, &rest.Config{Host: server.URL}); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}
