package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
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

// tree has the pods of a node come and go.
type tree struct {
	groups
	started, ended, running atomic.Int64
	pods                    sync.WaitGroup
	failed                  chan error
}

func newTree(g groups) *tree { return &tree{groups: g, failed: make(chan error, 1)} }

// churn keeps count pods, of which the oldest ends whenever a new one starts,
// rate times a second, until ctx ends; full is called once all have started.
func (t *tree) churn(ctx context.Context, count int, rate float64, full func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer t.pods.Wait()
	defer cancel()
	var ends []chan struct{}
	for range count {
		ends = append(ends, t.begin(ctx))
	}
	for t.running.Load() < int64(count) {
		if program.Sleep(ctx, 10*time.Millisecond) != nil {
			return t.failure()
		}
	}
	full()
	if rate == 0 {
		<-ctx.Done()
		return t.failure()
	}
	ticker := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return t.failure()
		case err := <-t.failed:
			return err
		case <-ticker.C:
			close(ends[0])
			ends = append(ends[1:], t.begin(ctx))
		}
	}
}

func (t *tree) failure() error {
	select {
	case err := <-t.failed:
		return err
	default:
		return nil
	}
}

func (t *tree) begin(ctx context.Context) (end chan struct{}) {
	end = make(chan struct{})
	t.pods.Go(func() {
		if err := t.pod(ctx, end); err != nil {
			select {
			case t.failed <- fmt.Errorf("cgroup of a pod: %w", err):
			default:
			}
		}
	})
	return end
}

// pod goes through the life of one pod; it leaves its cgroups behind when
// ctx ends.
func (t *tree) pod(ctx context.Context, end <-chan struct{}) error {
	pod, sandbox, container := "pod"+uuid.NewString(), uuid.NewString(), uuid.NewString()
	began := time.Now()
	for _, step := range []struct {
		after time.Duration
		do    func() error
	}{
		{0, func() error { return t.makePod(pod) }},
		{sandboxCreated, func() error { return t.makeContainer(pod, sandbox) }},
		{sandboxStarted, func() error { return t.start(pod, sandbox, true) }},
		{containerCreated, func() error { return t.makeContainer(pod, container) }},
		{containerStarted, func() error { return t.start(pod, container, false) }},
	} {
		if program.Sleep(ctx, time.Until(began.Add(step.after))) != nil {
			return nil
		}
		if err := step.do(); err != nil {
			return err
		}
	}
	t.started.Add(1)
	t.running.Add(1)
	select {
	case <-ctx.Done():
		return nil
	case <-end:
	}
	t.running.Add(-1)
	t.ended.Add(1)
	if err := t.end(pod, container); err != nil {
		return err
	}
	if program.Sleep(ctx, podRemoved) != nil {
		return nil
	}
	if err := t.end(pod, sandbox); err != nil {
		return err
	}
	return t.removePod(pod)
}
