package follow

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/podset"
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

// Runtime is one connection to a container runtime with events of type E. Its
// methods are called from one goroutine, except for what Subscribe returns.
type Runtime[E any] interface {
	// List returns the containers and sandboxes that run and, if Complete, the
	// containers that have run beside them.
	List(ctx context.Context) ([]podset.Container, error)
	Complete() bool
	// Subscribe asks for events until ctx ends; next waits for one.
	Subscribe(ctx context.Context) (next func() (E, error), err error)
	// Apply follows an event and reports whether it fits what is known; after one
	// that does not, the containers are listed again.
	Apply(ctx context.Context, pods *podset.Set, event E) (fits bool, err error)
}

// Dial opens a connection to the runtime at endpoint, a unix socket.
func Dial(endpoint string) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix://"+SocketPath(endpoint),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
}

// A Follower follows one runtime.
type Follower[E any] struct {
	Config Config // with defaults filled in
	What   string // the runtime's name for the log
	Health *Health
	// Runtime makes it over a connection.
	Runtime func(*grpc.ClientConn) Runtime[E]
	// Endpoint is where to connect to this time.
	Endpoint func() string

	pods   podset.Set
	notify func(telemetry.PodEvent)
	polled bool
}

// Run notifies until ctx ends.
func (f *Follower[E]) Run(ctx context.Context, notify func(telemetry.PodEvent)) {
	f.notify = notify
	Retry(ctx, f.Config, f.What, f.Health, f.session)
}

func (f *Follower[E]) session(ctx context.Context, up func()) error {
	conn, err := Dial(f.Endpoint())
	if err != nil {
		return err
	}
	defer conn.Close()
	runtime := f.Runtime(conn)
	ctx, cancel := context.WithCancel(ctx)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer cancel()

	// Subscribed first, lest something happen between the list and the events.
	next, err := runtime.Subscribe(ctx)
	if err != nil {
		return fmt.Errorf("subscribing to events: %w", err)
	}
	events, failed := make(chan E, queued), make(chan error, 1)
	reader.Go(func() { failed <- read(ctx, next, events) })
	if err := f.list(ctx, runtime); err != nil {
		return err
	}
	if !runtime.Complete() {
		f.pods.Doubt()
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

func (f *Follower[E]) follow(ctx context.Context, runtime Runtime[E], events <-chan E, failed <-chan error) error {
	listed, heard := time.Now(), false
	rescan := time.NewTimer(min(relist, f.Config.Rescan))
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
			fits, err := runtime.Apply(ctx, &f.pods, e)
			if err != nil {
				return err
			}
			f.pods.Report(f.Config.Now, f.notify)
			if !fits {
				rescan.Reset(max(0, min(relist, f.Config.Rescan)-time.Since(listed)))
			}
		case <-rescan.C:
			if err := f.list(ctx, runtime); err != nil {
				return err
			}
			listed = time.Now()
			rescan.Reset(f.Config.Rescan)
		}
	}
}

// poll lists the containers time and again in place of events, which a runtime
// may not have. After a while it returns, and they are asked for anew.
func (f *Follower[E]) poll(ctx context.Context, runtime Runtime[E], cause error) error {
	for until := time.Now().Add(f.Config.Rescan); time.Now().Before(until); {
		if err := f.list(ctx, runtime); err != nil {
			return err
		}
		if !f.polled {
			f.polled = true
			f.Config.Logger.Warn("no events, listing the containers instead: "+f.What,
				"endpoint", f.Config.Endpoint, "period", f.Config.Poll, "err", cause)
		}
		if !pause(ctx, f.Config.Poll) {
			break
		}
	}
	return nil
}

// list reads all containers and reports.
func (f *Follower[E]) list(ctx context.Context, runtime Runtime[E]) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	containers, err := runtime.List(ctx)
	if err != nil {
		return fmt.Errorf("listing containers: %w", err)
	}
	f.pods.Replace(containers, runtime.Complete())
	f.pods.Report(f.Config.Now, f.notify)
	return nil
}
