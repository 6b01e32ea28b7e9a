package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spazio-scheduler/spazio/api/transport"
)

// HTTPConfig says what an HTTP server shows, and to whom.
type HTTPConfig struct {
	// Addr is host:port; beyond loopback it needs TLS or Transport.Insecure.
	Addr string
	// Transport is the identity and trust of the server.
	Transport transport.Config
	// Gatherer is what /metrics shows; nil means prometheus.DefaultGatherer.
	Gatherer prometheus.Gatherer
	// Health is what /healthz asks: nil error is 200, an error 503. It is
	// called concurrently and must not block; nil is always healthy.
	Health func() error
}

// HTTP serves GET /metrics and GET /healthz. Its methods are safe for
// concurrent use, but Run is called once.
type HTTP struct {
	server   *http.Server
	listener net.Listener
}

// shutdownGrace is how long a scrape in progress may delay the end.
const shutdownGrace = time.Second

// NewHTTP opens the listener, so that a busy port is known before anything
// else starts. The caller must Run or Close the server.
func NewHTTP(ctx context.Context, c HTTPConfig) (*HTTP, error) {
	config, err := transport.ServerTLS(c.Transport)
	if err != nil {
		return nil, err
	}
	listener, err := transport.Listen(ctx, c.Addr, c.Transport)
	if err != nil {
		return nil, err
	}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	return &HTTP{
		listener: listener,
		server: &http.Server{
			Handler:           handler(c),
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       10 * time.Second,
			WriteTimeout:      30 * time.Second,
			MaxHeaderBytes:    16 << 10,
		},
	}, nil
}

func handler(c HTTPConfig) http.Handler {
	gatherer := c.Gatherer
	if gatherer == nil {
		gatherer = prometheus.DefaultGatherer
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if c.Health != nil {
			if err := c.Health(); err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				fmt.Fprintln(w, oneLine(err))
				return
			}
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// Addr is where the server listens.
func (h *HTTP) Addr() net.Addr { return h.listener.Addr() }

// Run serves until ctx ends, which is no error, or serving fails. The port is
// free again when it returns.
func (h *HTTP) Run(ctx context.Context) error {
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
func (h *HTTP) Close() error { return h.listener.Close() }
