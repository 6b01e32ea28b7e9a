package podsource

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/follow"
)

const (
	// listTimeout bounds a listing; a runtime that takes longer is as good as
	// gone.
	listTimeout = 10 * time.Second
	// relist is the least time from one listing to the next, and from the first
	// of a connection to the second: the runtime may have subscribed us after the
	// first, it does not say when.
	relist = time.Second
	// maxMessage is what the kubelet grants the same lists.
	maxMessage = 16 << 20
	// queued events let the runtime go on while a listing is under way.
	queued = 128
)

// runtime is one connection to a container runtime with events of type E. Its
// methods are called from one goroutine, except for what subscribe returns.
type runtime[E any] interface {
	// list returns the containers and sandboxes that run and, if isComplete, the
	// containers that have run beside them.
	list(ctx context.Context) ([]container, error)
	isComplete() bool
	// subscribe asks for events until ctx ends; next waits for one.
	subscribe(ctx context.Context) (next func() (E, error), err error)
	// apply follows an event and reports whether it fits what is known; after one
	// that does not, the containers are listed again.
	apply(ctx context.Context, pods *podSet, event E) (fits bool, err error)
}

// dial opens a connection to the runtime at endpoint, a unix socket.
func dial(endpoint string) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix://"+follow.SocketPath(endpoint),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
}

// A follower follows one runtime.
type follower[E any] struct {
	config follow.Config // with defaults filled in
	what   string        // the runtime's name for the log
	health *follow.Health
	// runtime makes it over a connection.
	runtime func(*grpc.ClientConn) runtime[E]
	// endpoint is where to connect to this time.
	endpoint func() string

	pods   podSet
	notify func(telemetry.PodEvent)
	polled bool
}

// run notifies until ctx ends.
func (f *follower[E]) run(ctx context.Context, notify func(telemetry.PodEvent)) {
	f.notify = notify
	follow.Retry(ctx, f.config, f.what, f.health, f.session)
}

func (f *follower[E]) session(ctx context.Context, up func()) error {
	conn, err := dial(f.endpoint())
	if err != nil {
		return err
	}
	defer conn.Close()
	runtime := f.runtime(conn)
	ctx, cancel := context.WithCancel(ctx)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer cancel()

	// Subscribed first, lest something happen between the list and the events.
	next, err := runtime.subscribe(ctx)
	if err != nil {
		return fmt.Errorf("subscribing to events: %w", err)
	}
	events, failed := make(chan E, queued), make(chan error, 1)
	reader.Go(func() { failed <- read(ctx, next, events) })
	if err := f.list(ctx, runtime); err != nil {
		return err
	}
	if !runtime.isComplete() {
		f.pods.doubtAll()
	}
	up()
	return f.follow(ctx, runtime, events, failed)
}

// read passes events on until there are no more.
func read[E any](ctx context.Context, next func() (E, error), events chan<- E) error {
	for {
		e, err := next()
		if err != nil {
			return err
		}
		select {
		case events <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *follower[E]) follow(ctx context.Context, runtime runtime[E], events <-chan E, failed <-chan error) error {
	listed, heard := time.Now(), false
	rescan := time.NewTimer(min(relist, f.config.Rescan))
	defer rescan.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			if heard {
				return fmt.Errorf("waiting for events: %w", err)
			}
			return f.poll(ctx, runtime, err)
		case e := <-events:
			heard = true
			fits, err := runtime.apply(ctx, &f.pods, e)
			if err != nil {
				return err
			}
			f.pods.notify(f.notify)
			if !fits {
				rescan.Reset(max(0, min(relist, f.config.Rescan)-time.Since(listed)))
			}
		case <-rescan.C:
			if err := f.list(ctx, runtime); err != nil {
				return err
			}
			listed = time.Now()
			rescan.Reset(f.config.Rescan)
		}
	}
}

// poll lists the containers time and again in place of events, which a runtime
// may not have. After a while it returns, and they are asked for anew.
func (f *follower[E]) poll(ctx context.Context, runtime runtime[E], cause error) error {
	for until := time.Now().Add(f.config.Rescan); time.Now().Before(until); {
		if err := f.list(ctx, runtime); err != nil {
			return err
		}
		if !f.polled {
			f.polled = true
			f.config.Logger.Warn("no events, listing the containers instead: "+f.what,
				"endpoint", f.config.Endpoint, "period", f.config.Poll, "err", cause)
		}
		if !follow.Pause(ctx, f.config.Poll) {
			break
		}
	}
	return nil
}

// list reads all containers and reports.
func (f *follower[E]) list(ctx context.Context, runtime runtime[E]) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	containers, err := runtime.list(ctx)
	if err != nil {
		return fmt.Errorf("listing containers: %w", err)
	}
	f.pods.replace(containers, runtime.isComplete())
	f.pods.notify(f.notify)
	return nil
}

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
