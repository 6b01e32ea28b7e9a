package node_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/node"
)

// countingClock sends each reading to a channel.
func countingClock(readings chan<- time.Time) func() time.Time {
	clock := fastClock()
	return func() time.Time {
		now := clock()
		readings <- now
		return now
	}
}

// TestInputWaitsForNoTick: input that arrives during a sample blocks no caller, and reaches the
// pipeline after the sample although no tick follows.
func TestInputWaitsForNoTick(t *testing.T) {
	r := &loopRun{t: t, pods: newFakePods()}
	readings, sampling, finish := make(chan time.Time, 10), make(chan struct{}), make(chan struct{})
	sampler := &fakeSampler{probe: func(time.Time) { close(sampling); <-finish }}
	r.run(node.LoopConfig{
		Pipeline: newLoopPipeline(t), Sampler: sampler, Pods: r.pods, Period: time.Hour, Now: countingClock(readings),
	})
	<-sampling
	<-readings // the sample's
	r.Bound(agent.Bind{Pod: 1})
	select {
	case <-readings:
		t.Fatal("input was dispatched in the middle of a sample")
	default:
	}
	close(finish)
	<-readings // the delivery's
}

// TestInputFromWithin: a callback of a report may pass input, which is dispatched afterwards.
func TestInputFromWithin(t *testing.T) {
	r := &loopRun{t: t, pods: newFakePods()}
	readings := make(chan time.Time, 10)
	var read atomic.Int32
	clock := countingClock(readings)
	var within sync.Once
	r.run(node.LoopConfig{
		Pipeline: newLoopPipeline(t), Sampler: &fakeSampler{}, Pods: r.pods, Period: time.Hour,
		Now: func() time.Time { read.Add(1); return clock() },
		OnReport: func(agent.Report, time.Time) {
			within.Do(func() {
				before := read.Load()
				r.Bound(agent.Bind{Pod: 1})
				if read.Load() != before {
					t.Error("input was dispatched in the middle of a report")
				}
			})
		},
	})
	<-readings // the sample's
	<-readings // the dispatch's
}

// TestAllInputIsDispatched: whichever callers pass input concurrently, none of it is left for a tick
// that does not come.
func TestAllInputIsDispatched(t *testing.T) {
	r := &loopRun{t: t, pods: newFakePods()}
	r.run(node.LoopConfig{Pipeline: newLoopPipeline(t), Sampler: &fakeSampler{}, Pods: r.pods, Period: time.Hour, Now: fastClock()})
	var askers sync.WaitGroup
	for range 8 {
		askers.Go(func() {
			for range 500 {
				if _, err := r.Why(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	askers.Wait()
}

// TestInputDuringADispatch: a caller that dispatches its input also dispatches what arrives meanwhile,
// since no tick follows.
func TestInputDuringADispatch(t *testing.T) {
	r := &loopRun{t: t, pods: newFakePods()}
	readings := make(chan time.Time, 10)
	clock := countingClock(readings)
	var delivers atomic.Bool
	r.run(node.LoopConfig{
		Pipeline: newLoopPipeline(t), Sampler: &fakeSampler{}, Pods: r.pods, Period: time.Hour,
		Now: func() time.Time {
			if delivers.CompareAndSwap(true, false) {
				r.Bound(agent.Bind{Pod: 1})
			}
			return clock()
		},
	})
	<-readings // the sample's
	if _, err := r.Why(context.Background()); err != nil {
		t.Fatal(err)
	}
	<-readings // the query's
	delivers.Store(true)
	r.Bound(agent.Bind{Pod: 2})
	<-readings // its dispatch's
	<-readings // that of the later input
}

// TestInputAfterTheEnd: input that arrives after Run has returned is ignored.
func TestInputAfterTheEnd(t *testing.T) {
	readings := make(chan time.Time, 10)
	l := node.NewLoop(node.LoopConfig{
		Pipeline: newLoopPipeline(t), Sampler: &fakeSampler{}, Pods: newFakePods(), Period: time.Hour, Now: countingClock(readings),
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, nil) }()
	<-readings // the sample's
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	l.Bound(agent.Bind{Pod: 1})
	select {
	case <-readings:
		t.Error("input was dispatched when Run had returned")
	default:
	}
}
