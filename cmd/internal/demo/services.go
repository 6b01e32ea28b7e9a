package demo

import (
	"context"
	"errors"
	"fmt"
)

// services are the running parts of a demo. They outlive the context they were
// started under: an interrupt must not take the API server away from parts that
// are still ending. Not safe for concurrent use.
type services struct {
	base    context.Context
	fail    context.CancelCauseFunc
	report  func(error)
	running []started
}

type started struct {
	stop context.CancelFunc
	done chan struct{}
}

// newServices returns services and a context that ends with the given one or as
// soon as a service fails. What goes wrong while they stop is reported.
func newServices(ctx context.Context, report func(error)) (*services, context.Context) {
	ended, fail := context.WithCancelCause(ctx)
	return &services{base: context.WithoutCancel(ctx), fail: fail, report: report}, ended
}

// start runs a part until stop. A part that ends before has failed.
func (s *services) start(name string, run func(context.Context) error) {
	ctx, stop := context.WithCancel(s.base)
	done := make(chan struct{})
	s.running = append(s.running, started{stop, done})
	go func() {
		defer close(done)
		err := run(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errEnded
		}
		s.fail(fmt.Errorf("%s: %w", name, err))
	}()
}

var errEnded = errors.New("ended unexpectedly")

// onStop has run called in its turn when the services stop.
func (s *services) onStop(run func()) {
	done := make(chan struct{})
	s.running = append(s.running, started{func() { run(); close(done) }, done})
}

// part is what runs by itself until it is closed.
type part interface {
	Failed() <-chan struct{}
	Err() error
	Close() error
}

// adopt takes over a part that runs already.
func (s *services) adopt(name string, p part) {
	s.onStop(func() {
		// A part that has died says so itself, and can't end in order.
		if err := p.Close(); err != nil && p.Err() == nil {
			s.report(err)
		}
	})
	s.start(name, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-p.Failed():
			return p.Err()
		}
	})
}

// stop ends all parts, the last one first, each gone before the next is told.
func (s *services) stop() {
	for i := len(s.running) - 1; i >= 0; i-- {
		s.running[i].stop()
		<-s.running[i].done
	}
	s.running = nil
	s.fail(nil)
}
