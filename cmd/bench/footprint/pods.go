package main

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/cmd/bench"
)

// What a pod start looks like to the cgroups, from the pod's cgroup on, measured
// with containerd on Linux 6.18; the pod's own cgroup outlives its containers by
// some three seconds.
const (
	sandboxCreated   = 98 * time.Millisecond
	sandboxStarted   = 159 * time.Millisecond
	containerCreated = 214 * time.Millisecond
	containerStarted = 240 * time.Millisecond
	podRemoved       = 3 * time.Second
)

// churn keeps count pods, of which the oldest ends whenever a new one starts,
// rate times a second, until ctx ends. running has how many there are.
func (g *cgroups) churn(ctx context.Context, count int, rate float64, running *atomic.Int64) error {
	pods, ctx := errgroup.WithContext(ctx)
	var ends []chan struct{}
	begin := func() {
		end := make(chan struct{})
		ends = append(ends, end)
		pods.Go(func() error {
			if err := g.pod(ctx, end, running); err != nil && ctx.Err() == nil {
				return fmt.Errorf("cgroup of a pod: %w", err)
			}
			return nil
		})
	}
	for range count {
		begin()
	}
	for running.Load() < int64(count) && ctx.Err() == nil {
		_ = bench.Sleep(ctx, 10*time.Millisecond) // the loop looks at ctx
	}
	period := time.Duration(math.MaxInt64)
	if rate > 0 {
		period = time.Duration(float64(time.Second) / rate)
	}
	for ticks := time.Tick(period); ; {
		select {
		case <-ctx.Done():
			return pods.Wait()
		case <-ticks:
			close(ends[0])
			ends = ends[1:]
			begin()
		}
	}
}

// pod goes through the life of one pod; it leaves its cgroups behind when
// ctx ends, which is an error.
func (g *cgroups) pod(ctx context.Context, end <-chan struct{}, running *atomic.Int64) error {
	pod, sandbox, container := "pod"+uuid.NewString(), uuid.NewString(), uuid.NewString()
	began := time.Now()
	for _, step := range []struct {
		after time.Duration
		do    func() error
	}{
		{0, func() error { return g.makePod(pod) }},
		{sandboxCreated, func() error { return g.makeContainer(pod, sandbox) }},
		{sandboxStarted, func() error { return g.start(pod, sandbox, true) }},
		{containerCreated, func() error { return g.makeContainer(pod, container) }},
		{containerStarted, func() error { return g.start(pod, container, false) }},
	} {
		if err := bench.Sleep(ctx, time.Until(began.Add(step.after))); err != nil {
			return err
		}
		if err := step.do(); err != nil {
			return err
		}
	}
	running.Add(1)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-end:
	}
	running.Add(-1)
	if err := g.end(pod, container); err != nil {
		return err
	}
	if err := bench.Sleep(ctx, podRemoved); err != nil {
		return err
	}
	if err := g.end(pod, sandbox); err != nil {
		return err
	}
	return g.end(pod, "")
}
