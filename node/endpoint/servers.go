package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"golang.org/x/sync/errgroup"
)

// ServersConfig describes what a program's HTTP servers show.
type ServersConfig struct {
	// Shown is what both show, except for its Handlers, which are the debug server's
	// alone. Its Addr is not used.
	Shown Config
	// Metrics, Debug and Profiles are the host:port of each, empty for none.
	Metrics, Debug, Profiles string
	// DebugDefault reports that Debug is a default: another program of this machine
	// may have the address.
	DebugDefault bool
	// Logger gets that; nil logs nothing.
	Logger *slog.Logger
}

// Servers are the HTTP servers of a program: one of what probes and Prometheus read,
// at any address (newMetrics), one of the same and of what is for people,
// on loopback (NewDebug), and one of Go's profiles (newProfiles). Its methods are safe
// for concurrent use, but Run is called once.
type Servers struct{ metrics, debug, profiles *Server } // nil for none

// NewServers opens the listeners. The caller must Run or Close the servers.
func NewServers(ctx context.Context, c ServersConfig) (_ *Servers, err error) {
	s := &Servers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if c.Metrics != "" {
		c.Shown.Addr = c.Metrics
		if s.metrics, err = newMetrics(ctx, c.Shown); err != nil {
			return nil, fmt.Errorf("serve the metrics: %w", err)
		}
	}
	if c.Profiles != "" {
		if s.profiles, err = newProfiles(ctx, c.Profiles); err != nil {
			return nil, fmt.Errorf("serve the profiles: %w", err)
		}
	}
	if c.Debug == "" {
		return s, nil
	}
	c.Shown.Addr = c.Debug
	opened, err := NewDebug(ctx, c.Shown)
	switch {
	case err != nil && c.DebugDefault:
		if c.Logger != nil {
			c.Logger.Info("no debug server: its address is taken", "address", c.Debug, "error", err)
		}
		return s, nil
	case err != nil:
		return nil, fmt.Errorf("serve the debug data: %w", err)
	}
	s.debug = opened
	return s, nil
}

// MetricsAddr is where the first listens, or nil.
func (s *Servers) MetricsAddr() net.Addr { return addressOf(s.metrics) }

// DebugAddr is where the second listens, or nil.
func (s *Servers) DebugAddr() net.Addr { return addressOf(s.debug) }

// ProfilesAddr is where the third listens, or nil.
func (s *Servers) ProfilesAddr() net.Addr { return addressOf(s.profiles) }

func addressOf(h *Server) net.Addr {
	if h == nil {
		return nil
	}
	return h.Addr()
}

func (s *Servers) each(do func(*Server)) {
	for _, h := range []*Server{s.metrics, s.debug, s.profiles} {
		if h != nil {
			do(h)
		}
	}
}

// Run serves until ctx ends, which is no error, or serving fails; without servers it
// returns at once.
func (s *Servers) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	s.each(func(h *Server) { group.Go(func() error { return h.Run(ctx) }) })
	return group.Wait()
}

// Close frees the ports of servers that were never run.
func (s *Servers) Close() (err error) {
	s.each(func(h *Server) { err = errors.Join(err, h.Close()) })
	return err
}

// longestProfile is how long a CPU profile may take.
const longestProfile = 10 * time.Minute

// newProfiles opens a server of the Go profiles at addr, below /debug/pprof/.
// They show the process's memory and can stop it for a while, so that addr must
// be on loopback whatever else is allowed: else the error wraps a
// *transport.PlaintextError. The caller must Run or Close the server.
func newProfiles(ctx context.Context, addr string) (*Server, error) {
	h, err := New(ctx, Config{
		Addr: addr, writeTimeout: longestProfile,
		Handlers: map[string]http.Handler{
			"GET /debug/pprof/":        http.HandlerFunc(pprof.Index),
			"GET /debug/pprof/cmdline": http.HandlerFunc(pprof.Cmdline),
			"GET /debug/pprof/profile": http.HandlerFunc(pprof.Profile),
			"GET /debug/pprof/symbol":  http.HandlerFunc(pprof.Symbol),
			"GET /debug/pprof/trace":   http.HandlerFunc(pprof.Trace),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("profiles are for loopback alone: %w", err)
	}
	return h, nil
}
