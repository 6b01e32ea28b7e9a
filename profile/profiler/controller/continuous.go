package controller

import (
	"context"
	"time"

	"github.com/spazio-scheduler/spazio/profile/connection"
	"github.com/spazio-scheduler/spazio/profile/continuous"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// Fares returns how services fare, of a span of time that ended at a time. One goroutine
// asks, one thing at a time.
type Fares interface {
	// Flows are all that went between workloads, which may have no kind.
	Flows(ctx context.Context, at time.Time, span time.Duration) ([]connection.Flow, error)
	// Throttled are the pods that have a CPU limit.
	Throttled(ctx context.Context, at time.Time, span time.Duration) ([]continuous.Throttling, error)
	// Literal are the metrics of S. Galantino's thesis (see package profile).
	Literal(ctx context.Context, at time.Time, span time.Duration) (continuous.Literal, error)
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

// step takes in what Fares says, as far as it says something, and finds the factors.
func (c *Controller) step(ctx context.Context, span time.Duration) {
	if f := c.config.Fares; f != nil {
		c.ask(ctx, f, span)
	}
	changed, err := c.config.Store.Tune(time.Now())
	if err != nil {
		c.complain("tune", "the continuous profiler does not step", "error", err)
	}
	if changed > 0 {
		c.logger.Info("the continuous profiler corrects", "workloads", changed)
	}
}

// ask has the Store take in what there is to know.
func (c *Controller) ask(ctx context.Context, f Fares, span time.Duration) {
	at := time.Now()
	flows, err := f.Flows(ctx, at, span)
	if err == nil {
		err = c.config.Store.Connected(at, span, flows)
	}
	c.fared(ctx, "connections", err)
	switch c.config.Store.Metrics() {
	case profiler.OfSeed:
		metrics, err := f.Literal(ctx, time.Now(), span)
		if err == nil {
			c.config.Store.Literal(metrics)
		}
		c.fared(ctx, "literal", err)
	case profiler.OfPrometheus:
		pods, err := f.Throttled(ctx, time.Now(), span)
		if err == nil {
			c.config.Store.Throttled(pods)
		}
		c.fared(ctx, "throttling", err)
	}
}

// fared counts an answer.
func (c *Controller) fared(ctx context.Context, what string, err error) {
	switch {
	case err == nil:
		c.metrics.fares.WithLabelValues(what, "answered").Inc()
	case ctx.Err() == nil:
		c.metrics.fares.WithLabelValues(what, "failed").Inc()
		c.complain("fares "+what, "how services fare is not known", "of", what, "error", err)
	}
}
