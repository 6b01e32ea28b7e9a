package endpoint

import (
	"context"
	"fmt"
	"net/http"
	"net/http/pprof"
	"time"
)

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
