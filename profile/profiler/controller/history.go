package controller

import (
	"context"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// History returns what the pods of a workload took before the profiler knew it.
// It is asked by several goroutines at once.
type History interface {
	// Demand returns a demand without confidence where nothing is known. Beside an error
	// it returns what is known none the less.
	Demand(ctx context.Context, of profile.Workload, at time.Time) (profile.Demand, error)
}

const (
	// mostAsked bounds the workloads that wait for an answer; another is asked about
	// when its next pod comes.
	mostAsked = 4096
	// askers run at once: what history is read from has other work.
	askers = 4
	// answerTime is what an answer may take.
	answerTime = time.Minute
	// askOnce is for how long a workload is not asked about again.
	askOnce = time.Hour
)

// asker asks about workloads that nothing is known of, aside: no pod waits for an
// answer. Safe for concurrent use.
type asker struct {
	history History
	store   *profiler.Store
	metrics *metrics
	failed  func(of profile.Workload, err error)
	queue   chan profile.Workload

	mu    sync.Mutex
	asked map[profile.Workload]time.Time
}

func newAsker(c Config, m *metrics) *asker {
	logger := c.Logger
	return &asker{
		history: c.History, store: c.Store, metrics: m, queue: make(chan profile.Workload, mostAsked), asked: map[profile.Workload]time.Time{},
		failed: func(of profile.Workload, err error) {
			logger.Warn("the history of a workload could not be read in full", "workload", of.String(), "error", err)
		},
	}
}

// add asks about a workload unless it has been of late.
func (a *asker) add(of profile.Workload) {
	if a.history == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if last, ok := a.asked[of]; ok && now.Sub(last) < askOnce {
		return
	}
	if len(a.asked) >= 4*mostAsked {
		for of, last := range a.asked {
			if now.Sub(last) >= askOnce {
				delete(a.asked, of)
			}
		}
	}
	select {
	case a.queue <- of:
		a.asked[of] = now
	default:
		a.metrics.history.WithLabelValues("overflow").Inc()
	}
}

// run asks, one question after another, until ctx ends.
func (a *asker) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case of := <-a.queue:
			a.ask(ctx, of)
		}
	}
}

func (a *asker) ask(ctx context.Context, of profile.Workload) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	d, err := a.history.Demand(ctx, of, time.Now())
	known := d.CPU.Confidence > 0 || d.Memory.Confidence > 0
	if known {
		a.store.Expect(time.Now(), of, d)
	}
	switch {
	case err != nil:
		a.metrics.history.WithLabelValues("failed").Inc()
		a.failed(of, err)
	case known:
		a.metrics.history.WithLabelValues("answered").Inc()
	default:
		a.metrics.history.WithLabelValues("none").Inc()
	}
}

// Services measures how services do in a span of time that ended at a time. One goroutine
// asks, one thing at a time.
type Services interface {
	// Flows are all that went between workloads, which may have no kind.
	Flows(ctx context.Context, at time.Time, span time.Duration) ([]connection.Flow, error)
}

// tune has the Store's continuous profiler take its steps until ctx ends, on every
// replica: all receive the same, and the next leader goes on.
func (c *Controller) tune(ctx context.Context) {
	every := c.config.Store.TunesEvery()
	if every == 0 {
		return
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	c.step(ctx, every)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.step(ctx, every)
		}
	}
}

// step takes in what Services knows, and finds the factors.
func (c *Controller) step(ctx context.Context, span time.Duration) {
	if f := c.config.Services; f != nil {
		c.ask(ctx, f, span)
	}
	changed, err := c.config.Store.Tune(time.Now())
	if err != nil {
		c.complain("tune", "the continuous profiler could not tune; it tries again", "error", err)
	}
	if changed > 0 {
		c.logger.Info("the continuous profiler changed factors", "workloads", changed)
	}
}

// ask has the Store take in what there is to know.
func (c *Controller) ask(ctx context.Context, f Services, span time.Duration) {
	at := time.Now()
	flows, err := f.Flows(ctx, at, span)
	if err == nil {
		err = c.config.Store.Connected(at, span, flows)
	}
	if err != nil && ctx.Err() == nil {
		c.complain("services", "calls of services cannot be read", "error", err)
	}
}
