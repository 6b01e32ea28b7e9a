// Package follow keeps a set of pods true to something that can be lost: a
// runtime's socket, an API server. It tries again for ever, lists again after
// every loss, and logs each loss once.
package follow

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// Config is what the sources over a runtime's socket have in common; the
// exported configurations, which document it, have the same fields.
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

// Validate returns a *telemetry.FieldError for the first field out of range.
func (c Config) Validate() error {
	if c.Endpoint != "" && !filepath.IsAbs(SocketPath(c.Endpoint)) {
		return telemetry.NewFieldError("Endpoint", c.Endpoint, "neither an absolute path nor unix:// and one")
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"Rescan", c.Rescan}, {"Poll", c.Poll}, {"MinBackoff", c.MinBackoff}, {"MaxBackoff", c.MaxBackoff}} {
		if d.value < 0 {
			return telemetry.NewFieldError(d.field, d.value, "negative")
		}
	}
	if full := c.WithDefaults(); full.MaxBackoff < full.MinBackoff {
		return telemetry.NewFieldError("MaxBackoff", full.MaxBackoff, "below MinBackoff")
	}
	return nil
}

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
