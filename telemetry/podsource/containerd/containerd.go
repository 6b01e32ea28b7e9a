// Package containerd lists the pods of a node from containerd's own API: a
// [Source] is a [telemetry.PodSource] over its unix socket. It learns of a
// container's task some milliseconds ahead of the CRI's events (package cri),
// and works with releases whose CRI has none.
//
// Events (/containers/create, /tasks/start, /tasks/exit, …) say what happens
// between listings of the tasks. Those are listed at the start, after every
// reconnection, once a Rescan and when an event does not fit what is known, so
// that the set of pods is right again after any loss. The pod of a container is
// read once, from the labels that containerd's CRI plugin gives it.
//
// Types that do not speak of concurrent use are plain values.
package containerd

import (
	"context"
	"log/slog"
	"time"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	eventsapi "github.com/containerd/containerd/api/services/events/v1"
	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types"
	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/follow"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/podset"
)

// DefaultEndpoint is containerd's socket.
const DefaultEndpoint = "/run/containerd/containerd.sock"

// Config says where containerd is. The zero value is the default.
type Config struct {
	// Endpoint is containerd's unix socket: a path or unix:// and one. Empty means
	// DefaultEndpoint.
	Endpoint string
	// Rescan is how often all tasks are listed, in case an event was lost; zero
	// means 30 s.
	Rescan time.Duration
	// Poll is how often the tasks are listed while events are refused; zero means
	// 1 s.
	Poll time.Duration
	// MinBackoff and MaxBackoff bound the pause ahead of a reconnection, which
	// doubles from one to the next and is drawn from its upper half; zero means
	// 100 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration
	// Random draws from [0,1) for it; nil means math/rand/v2's.
	Random func() float64
	// Now is the clock of PodEvent.At; nil means time.Now.
	Now func() time.Time
	// Logger logs, once each, a containerd that is lost, back, or refuses
	// events; nil means slog.Default.
	Logger *slog.Logger
}

// Validate returns a *telemetry.FieldError for the first field out of range.
func (c Config) Validate() error { return follow.Config(c).Validate() }

// Source lists the pods of containerd. A pod is there while its sandbox has a task
// and runs while a container beyond it has one that runs or is paused, init
// containers among them: containerd does not tell them from others, but names
// each, so that one which is started again counts once in [telemetry.Pod].Starts.
// Those are unknown of pods that were there before a connection. Churn is a
// container that is created and a task that starts or exits. Run may be called
// once; Health is safe for concurrent use.
type Source struct {
	config follow.Config
	health follow.Health
}

// New returns a source over the containerd of c, which need not be there yet.
// The error is a *telemetry.FieldError.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Endpoint == "" {
		c.Endpoint = DefaultEndpoint
	}
	return &Source{config: follow.Config(c).WithDefaults()}, nil
}

// Health returns nil while containerd answers, and before Run.
func (s *Source) Health() error { return s.health.Get() }

// Run follows containerd until ctx ends; then it returns nil. Nothing is reported
// until it answered once. While it is away the last set stands.
func (s *Source) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	known := map[string]podset.Container{}
	f := follow.Follower[*types.Envelope]{
		Config:   s.config,
		Health:   &s.health,
		What:     "containerd",
		Endpoint: func() string { return s.config.Endpoint },
		Runtime: func(conn *grpc.ClientConn) follow.Runtime[*types.Envelope] {
			return &client{
				events:     eventsapi.NewEventsClient(conn),
				tasks:      tasksapi.NewTasksClient(conn),
				containers: containersapi.NewContainersClient(conn),
				known:      known,
			}
		},
	}
	f.Run(ctx, notify)
	return nil
}
