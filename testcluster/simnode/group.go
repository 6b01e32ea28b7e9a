package simnode

import (
	"context"
	"errors"
	"fmt"
)

// errEnded is wrapped where a part ended before Stop, without an error of its own.
var errEnded = errors.New("ended unexpectedly")

// Group runs the parts of a cluster in one process: each is stopped only when those started after it
// have ended, and the first that fails ends them all.
//
//	group, running := simnode.NewGroup(ctx, func(err error) { log.Print(err) })
//	defer group.Stop()
//	group.Adopt("control plane", plane) // *embedded.ControlPlane
//	group.Adopt("nodes", fleet)         // *simnode.Fleet
//	group.Start("scheduler", scheduler.Run)
//	<-running.Done() // interrupted, or context.Cause(running) says what failed
//
// The parts outlive the context they were started under: an interrupt must not take the API server away
// from parts that are still ending. A Group's methods are not safe for concurrent use.
type Group struct {
	base    context.Context
	fail    context.CancelCauseFunc
	report  func(error)
	running []startedPart
}

type startedPart struct {
	stop context.CancelFunc
	done chan struct{}
}

// NewGroup returns a group without parts, and a context that ends with the given one or as
// soon as a part fails, which is its cause then. What goes wrong while parts stop is
// reported, on the goroutine of Stop.
func NewGroup(ctx context.Context, report func(error)) (*Group, context.Context) {
	ended, fail := context.WithCancelCause(ctx)
	return &Group{base: context.WithoutCancel(ctx), fail: fail, report: report}, ended
}

// Start runs a part until Stop, which ends its context. A part that ends before has
// failed.
func (g *Group) Start(name string, run func(context.Context) error) {
	ctx, stop := context.WithCancel(g.base)
	done := make(chan struct{})
	g.running = append(g.running, startedPart{stop, done})
	go func() {
		defer close(done)
		err := run(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errEnded
		}
		g.fail(fmt.Errorf("%s: %w", name, err))
	}()
}

// OnStop has run called in its turn by Stop.
func (g *Group) OnStop(run func()) {
	done := make(chan struct{})
	g.running = append(g.running, startedPart{func() { run(); close(done) }, done})
}

// Part is what runs by itself until it is closed: Failed is closed when it ends before,
// and Err says why. All may be called from any goroutine.
type Part interface {
	Failed() <-chan struct{}
	Err() error
	Close() error
}

// Adopt takes over a part that runs already.
func (g *Group) Adopt(name string, p Part) {
	g.OnStop(func() {
		// A part that has died says so itself, and can't end in order.
		if err := p.Close(); err != nil && p.Err() == nil {
			g.report(err)
		}
	})
	g.Start(name, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-p.Failed():
			return p.Err()
		}
	})
}

// Stop stops the parts in reverse order and waits for each. It may be called again.
func (g *Group) Stop() {
	for i := len(g.running) - 1; i >= 0; i-- {
		g.running[i].stop()
		<-g.running[i].done
	}
	g.running = nil
	g.fail(nil)
}
