package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spazio-scheduler/spazio/api/transport"
)

// Config describes what an HTTP server shows, and to whom.
type Config struct {
	// Addr is host:port.
	Addr string
	// Gatherer is what /metrics shows; nil means prometheus.DefaultGatherer.
	Gatherer prometheus.Gatherer
	// Health is what /healthz asks: nil error is 200, an error 503. It is
	// called concurrently and must not block; nil is always healthy.
	Health func() error
	// Ready is the same for /readyz; nil is ready when healthy.
	Ready func() error
	// Handlers are served besides, by the pattern of net/http's ServeMux.
	Handlers map[string]http.Handler
}

// Server serves GET /metrics, /healthz and /readyz. Its methods are safe for
// concurrent use, but Run is called once.
type Server struct {
	server   *http.Server
	listener net.Listener
}

// shutdownGrace is how long a scrape in progress may delay the end.
const shutdownGrace = time.Second

// open opens the listener, so that a busy port is known before anything else starts.
func open(ctx context.Context, addr string, t transport.Config, handler http.Handler) (*Server, error) {
	guard, err := transport.NewConnLimiter(limits)
	if err != nil {
		return nil, err
	}
	listener, err := guard.Listen(ctx, addr, t)
	if err != nil {
		return nil, err
	}
	return &Server{
		listener: listener,
		server: &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       10 * time.Second,
			WriteTimeout:      30 * time.Second,
			MaxHeaderBytes:    16 << 10,
		},
	}, nil
}

// NewDebug opens a server of what is for people who may reach the process's
// loopback, as by a port-forward: callers are not authenticated there, so that addr must
// be on it. Else the error wraps a *transport.PlaintextError. The caller must Run or Close
// the server.
func NewDebug(ctx context.Context, c Config) (*Server, error) {
	h, err := open(ctx, c.Addr, transport.Config{}, onLoopback(Handler(c)))
	if plaintext := (*transport.PlaintextError)(nil); errors.As(err, &plaintext) {
		return nil, fmt.Errorf("debug data is for loopback alone: %w", err)
	}
	return h, err
}

// newMetrics opens a server of /metrics, /healthz and /readyz alone, in plaintext
// wherever it listens: probes and Prometheus need no key of ours, and a cluster's
// network policies say who else gets there.
func newMetrics(ctx context.Context, c Config) (*Server, error) {
	c.Handlers = nil
	return open(ctx, c.Addr, transport.Config{Insecure: true}, Handler(c))
}

// Handler is what NewDebug serves, without its check of the host's name and its limit of connections,
// for servers of another make.
func Handler(c Config) http.Handler {
	gatherer := c.Gatherer
	if gatherer == nil {
		gatherer = prometheus.DefaultGatherer
	}
	if c.Ready == nil {
		c.Ready = c.Health
	}
	mux := http.NewServeMux()
	// Compressing a page of some 20 KiB takes a megabyte of buffers, which is a
	// lot to a process of twenty.
	mux.Handle("GET /metrics", inTurn(mostScrapes, promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{DisableCompression: true})))
	mux.Handle("GET /healthz", probe(c.Health))
	mux.Handle("GET /readyz", probe(c.Ready))
	for pattern, h := range c.Handlers {
		mux.Handle(pattern, h)
	}
	return mux
}

// probe answers 200 or, with the reason, 503.
func probe(check func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if check != nil {
			if err := check(); err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				fmt.Fprintln(w, oneLine(err))
				return
			}
		}
		fmt.Fprintln(w, "ok")
	})
}

// oneLine is an error without line breaks, as probes show it.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// Addr is where the server listens.
func (h *Server) Addr() net.Addr { return h.listener.Addr() }

// Run serves until ctx ends, which is no error, or serving fails. The port is
// free again when it returns.
func (h *Server) Run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(h.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", h.Addr(), err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if h.server.Shutdown(grace) != nil {
		h.server.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", h.Addr(), err)
	}
	return nil
}

// Close frees the port of a server that was never run.
func (h *Server) Close() error { return h.listener.Close() }

// onLoopback refuses requests to another name than loopback's. A browser sends such for a page
// from elsewhere whose name its owner has lead here, and would let it read the answer.
func onLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			http.Error(w, "this server is asked for as localhost or by its address of loopback alone", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback reports whether a Host header, which programs may leave out, is of loopback.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	address, err := netip.ParseAddr(host)
	return host == "" || host == "localhost" || err == nil && address.Unmap().IsLoopback()
}

// limits are those of every server here: Prometheus, probes and some people ask, of whom a
// page takes 32: 64 are served. One address may have all of them, as a port-forward makes all callers
// loopback; when they are used up, what is silent or of the address with most gives way.
var limits = transport.Limits{Connections: 128, Unauthenticated: 64}

// Limit returns a listener of l's connections that are within the bounds of this package's
// servers, for a server of another make.
func Limit(l net.Listener) (net.Listener, error) {
	guard, err := transport.NewConnLimiter(limits)
	if err != nil {
		return nil, err
	}
	return guard.Limit(l), nil
}

// mostScrapes bounds the scrapes in progress; each takes some 200 KiB in a process of twenty
// megabytes. Further ones wait for their turn.
const mostScrapes = 2

// inTurn lets so many requests be answered at a time. One that has gone is not answered.
func inTurn(most int, h http.Handler) http.Handler {
	turns := make(chan struct{}, most)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
			h.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
}
