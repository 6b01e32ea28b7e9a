// Package follow keeps a set of pods true to something that can be lost: a
// runtime's socket, an API server. It tries again for ever, lists again after
// every loss, and logs each loss once.
package follow

import (
	"cmp"
	"log/slog"
	"strings"
	"time"
)

// Config is what the sources have in common; their own configurations document it.
type Config struct {
	Endpoint               string
	Rescan, Poll           time.Duration
	MinBackoff, MaxBackoff time.Duration
	Logger                 *slog.Logger
}

// Defaults of Config. A runtime restarts in a second or two, and a socket that
// refuses costs nothing to try; the agent's cgroup source rescans as often.
const (
	defaultRescan     = 30 * time.Second
	defaultPoll       = time.Second
	defaultMinBackoff = 100 * time.Millisecond
	defaultMaxBackoff = 5 * time.Second
)

// WithDefaults fills in what is zero, except for the endpoint.
func (c Config) WithDefaults() Config {
	c.Rescan = cmp.Or(c.Rescan, defaultRescan)
	c.Poll = cmp.Or(c.Poll, defaultPoll)
	c.MinBackoff = cmp.Or(c.MinBackoff, defaultMinBackoff)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, defaultMaxBackoff)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// SocketPath is the path of an endpoint: unix:///path, unix:/path or the path.
func SocketPath(endpoint string) string {
	if path, ok := strings.CutPrefix(endpoint, "unix://"); ok {
		return path
	}
	return strings.TrimPrefix(endpoint, "unix:")
}
