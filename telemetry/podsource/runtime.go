package podsource

import (
	"context"
	"fmt"
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
