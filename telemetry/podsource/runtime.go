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
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

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

// what is the runtime's name for the log.
const what = "CRI runtime"

type event = runtimeapi.ContainerEventResponse

// dial opens a connection to the runtime at endpoint, a unix socket.
func dial(endpoint string) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix://"+follow.SocketPath(endpoint),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
}

// A follower follows one runtime.
type follower struct {
	config follow.Config // with defaults filled in
	notify func(telemetry.PodEvent)
	pods   podSet
	polled bool
}

func (f *follower) session(ctx context.Context, up func()) error {
	conn, err := dial(endpointOf(f.config.Endpoint))
	if err != nil {
		return err
	}
	defer conn.Close()
	runtime := criClient{runtimeapi.NewRuntimeServiceClient(conn)}
	ctx, cancel := context.WithCancel(ctx)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer cancel()

	// Subscribed first, lest something happen between the list and the events.
	stream, err := runtime.api.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		return fmt.Errorf("subscribing to events: %w", err)
	}
	events, failed := make(chan *event, queued), make(chan error, 1)
	reader.Go(func() { failed <- read(ctx, stream, events) })
	if err := f.list(ctx, runtime); err != nil {
		return err
	}
	up()
	return f.follow(ctx, runtime, events, failed)
}

// read passes events on until there are no more.
func read(ctx context.Context, stream grpc.ServerStreamingClient[event], events chan<- *event) error {
	for {
		e, err := stream.Recv()
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

func (f *follower) follow(ctx context.Context, runtime criClient, events <-chan *event, failed <-chan error) error {
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
			fits := f.pods.apply(e)
			f.pods.report.Report(f.notify)
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
func (f *follower) poll(ctx context.Context, runtime criClient, cause error) error {
	for until := time.Now().Add(f.config.Rescan); time.Now().Before(until); {
		if err := f.list(ctx, runtime); err != nil {
			return err
		}
		if !f.polled {
			f.polled = true
			f.config.Logger.Warn("no events, listing the containers instead: "+what,
				"endpoint", f.config.Endpoint, "period", f.config.Poll, "err", cause)
		}
		if !follow.Pause(ctx, f.config.Poll) {
			break
		}
	}
	return nil
}

// list reads all containers and reports.
func (f *follower) list(ctx context.Context, runtime criClient) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	containers, err := runtime.list(ctx)
	if err != nil {
		return fmt.Errorf("listing containers: %w", err)
	}
	f.pods.replace(containers)
	f.pods.report.Report(f.notify)
	return nil
}

// Config describes where a container runtime is. The zero value is the default.
type Config struct {
	// Endpoint is the runtime's unix socket: a path or unix:// and one. Empty means
	// the usual ones, at each connection the first that exists.
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
	config follow.Config
	health follow.Health
}

// Health returns nil while the runtime answers, and before Run.
func (s *Source) Health() error { return s.health.Get() }

// Run follows the runtime until ctx ends; then it returns nil. Nothing is reported
// until the runtime answered once. While it is away the last set stands.
func (s *Source) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	f := follower{config: s.config, notify: notify}
	follow.Retry(ctx, s.config, what, &s.health, f.session)
	return nil
}
