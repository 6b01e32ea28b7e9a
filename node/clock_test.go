package node_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// clocks are a monotonic and a wall clock that a test sets independently.
type clocks struct {
	mu    sync.Mutex
	now   time.Time
	ahead time.Duration
}

func (c *clocks) steady() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(period)
	return c.now
}

func (c *clocks) wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.Add(c.ahead)
}

func (c *clocks) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// TestClockSteps: steps of the wall clock do not reach the pipeline; schedulers see the new time in
// reports, and a possible suspend costs one sample.
func TestClockSteps(t *testing.T) {
	c := &clocks{now: time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)}
	r := &loopRun{
		t: t, sampler: &fakeSampler{}, pods: newFakePods(), metrics: prometheus.NewRegistry(),
		reports: make(chan agent.Report, 10000),
	}
	metrics, err := node.NewLoopMetrics(r.metrics, r.pods)
	if err != nil {
		t.Fatal(err)
	}
	var intervals sync.Map // of times the sampler saw
	var last time.Time
	r.sampler.probe = func(at time.Time) {
		if !last.IsZero() {
			intervals.Store(at.Sub(last), true)
		}
		last = at
	}
	r.run(node.LoopConfig{
		Pipeline: newLoopPipeline(t), Sampler: r.sampler, Pods: r.pods, Period: time.Millisecond, Metrics: metrics,
		Now: c.steady, Wall: c.wall, OnReport: func(report agent.Report, _ time.Time) { r.reports <- report },
	})
	const jump = 24 * time.Hour
	near := func(day int) func(agent.Report) bool {
		return func(report agent.Report) bool { return report.SampledAt.Day() == day }
	}
	jumps := func() float64 { return r.counter("spazio_agent_samples_dropped_total", "clock-jump", "all") }
	r.until("before", near(1))
	c.step(jump)
	r.until("after a suspend or a step ahead", near(2))
	if n := jumps(); n != 1 {
		t.Errorf("%v samples dropped for the step ahead, want 1", n)
	}
	c.step(-jump)
	r.until("after the step back", near(1))
	c.step(time.Second / 2) // the most that a slewed clock moves
	r.until("after a small step", near(1))
	if n := jumps(); n != 1 {
		t.Errorf("%v samples dropped in all, want 1", n)
	}
	if n := r.counter("spazio_agent_clock_steps_total"); n != 2 {
		t.Errorf("%v steps counted, want 2", n)
	}
	intervals.Range(func(d, _ any) bool {
		// deliver reads the clock, too, so some intervals are two periods long.
		if d := d.(time.Duration); d <= 0 || d > time.Minute {
			t.Errorf("an interval of %v reached the sampler", d)
		}
		return true
	})
}

// TestReportsHaveTheWallTime: without configured clocks a report carries the machine's wall time,
// without a monotonic reading, so that it can be stored.
func TestReportsHaveTheWallTime(t *testing.T) {
	reports := make(chan agent.Report, 10000)
	d := node.NewLoop(node.LoopConfig{
		Pipeline: newLoopPipeline(t), Sampler: &fakeSampler{}, Pods: telemetry.StaticPods(nil), Period: time.Millisecond,
		OnReport: func(r agent.Report, _ time.Time) { reports <- r },
	})
	before := time.Now().Round(0)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, nil) }()
	r := <-reports
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if at := r.SampledAt; at != at.Round(0) || at.Before(before) || at.After(time.Now().Round(0)) {
		t.Errorf("sampled at %v, the test ran from %v", at, before)
	}
}
