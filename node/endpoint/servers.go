package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"golang.org/x/sync/errgroup"
)

// ServersConfig describes what a program's HTTP servers show.
type ServersConfig struct {
	// Shown is what both show, except for its Handlers, which are the debug server's
	// alone. Its Addr is not used.
	Shown Config
	// Metrics and Debug are the host:port of each, empty for none.
	Metrics, Debug string
	// MetricsDefault and DebugDefault report that Metrics or Debug is a default: another program of
	// this machine may have the address.
	MetricsDefault, DebugDefault bool
	// Logger gets that; nil logs nothing.
	Logger *slog.Logger
}

// Servers are the HTTP servers of a program: one of what probes and Prometheus read,
// at any address (newMetrics), and one of the same and of what is for people, on loopback
// (NewDebug). Its methods are safe for concurrent use, but Run is called once.
type Servers struct{ metrics, debug *Server } // nil for none

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
		if s.metrics, err = newMetrics(ctx, c.Shown); err != nil && !c.MetricsDefault {
			return nil, fmt.Errorf("serve the metrics: %w", err)
		}
		c.logTaken("no metrics server: its address is taken", err)
	}
	if c.Debug == "" {
		return s, nil
	}
	c.Shown.Addr = c.Debug
	if s.debug, err = NewDebug(ctx, c.Shown); err != nil && !c.DebugDefault {
		return nil, fmt.Errorf("serve the debug data: %w", err)
	}
	c.logTaken("no debug server: its address is taken", err)
	return s, nil
}

// logTaken logs that a default address could not be had, if there is an error.
func (c ServersConfig) logTaken(message string, err error) {
	if err != nil && c.Logger != nil {
		c.Logger.Info(message, "address", c.Shown.Addr, "error", err)
	}
}

// MetricsAddr is where the first listens, or nil.
func (s *Servers) MetricsAddr() net.Addr { return addressOf(s.metrics) }

// DebugAddr is where the second listens, or nil.
func (s *Servers) DebugAddr() net.Addr { return addressOf(s.debug) }

func addressOf(h *Server) net.Addr {
	if h == nil {
		return nil
	}
	return h.Addr()
}

func (s *Servers) each(do func(*Server)) {
	for _, h := range []*Server{s.metrics, s.debug} {
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
