package podsource

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/follow"
)

// Config describes where a container runtime is. The zero value is the default.
type Config struct {
	// Endpoint is the runtime's unix socket: a path or unix:// and one. Empty means
	// DefaultEndpoints, at each connection the first that exists; for NewContainerd the
	// first of them.
	Endpoint string
	// Logger logs, once each, a runtime that is lost, back, or without
	// events; nil means slog.Default.
	Logger *slog.Logger

	// rescan is how often all containers are listed, in case an event was lost, and how
	// often a runtime without events is asked for them again.
	rescan time.Duration
	// poll is how often the containers are listed while there are no events.
	poll time.Duration
	// minBackoff and maxBackoff bound the pause ahead of a reconnection, which
	// doubles from one to the next and is drawn from its upper half.
	minBackoff, maxBackoff time.Duration
}

// defaultEndpoints are the sockets of containerd and CRI-O.
func defaultEndpoints() []string {
	return []string{"/run/containerd/containerd.sock", "/run/crio/crio.sock"}
}

// validate returns a *telemetry.FieldError for the first field out of range.
func (c Config) validate() error {
	if c.Endpoint != "" && !filepath.IsAbs(follow.SocketPath(c.Endpoint)) {
		return telemetry.NewFieldError("Endpoint", c.Endpoint, "neither an absolute path nor unix:// and one")
	}
	return nil
}

// follow is the part of c that other sources have, too.
func (c Config) follow() follow.Config {
	return follow.Config{
		Endpoint: c.Endpoint, Rescan: c.rescan, Poll: c.poll, MinBackoff: c.minBackoff, MaxBackoff: c.maxBackoff, Logger: c.Logger,
	}.WithDefaults()
}

// Source lists the pods of a container runtime. A pod is there while its sandbox is, and
// runs while a container beyond it does, init containers among them: a runtime does not
// distinguish them from others, but names each, so that one which is started again counts
// once in [telemetry.Pod].Starts. Run may be called once; Health is safe for concurrent use.
type Source struct {
	health *follow.Health
	run    func(context.Context, func(telemetry.PodEvent))
}

// newSource returns a source over a runtime with events of type E.
func newSource[E any](c Config, f follower[E]) (*Source, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	health := &follow.Health{}
	f.config, f.health = c.follow(), health
	return &Source{health, f.run}, nil
}

// Health returns nil while the runtime answers, and before Run.
func (s *Source) Health() error { return s.health.Get() }

// Run follows the runtime until ctx ends; then it returns nil. Nothing is reported
// until the runtime answered once. While it is away the last set stands.
func (s *Source) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	s.run(ctx, notify)
	return nil
}
