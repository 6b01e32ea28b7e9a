package node_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// period is an agent's.
const period = 100 * time.Millisecond

const schema = "v2;cpu=half-runnable;memory=available"

func newLoopPipeline(t *testing.T) *agent.Pipeline {
	t.Helper()
	p, err := agent.New(agent.Config{
		Node: "node", Incarnation: 1, Schema: schema, Cores: 4,
		Channels: []agent.Channel{{Name: "cpu", Size: 4}, {Name: "memory", Size: 16 << 30}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fakeSampler returns the same values or the same error until a test changes them.
type fakeSampler struct {
	mu    sync.Mutex
	err   error
	delay time.Duration
	// probe, if set, is called with the time of each sample.
	probe func(at time.Time)
}

func (s *fakeSampler) SampleTo(dst []float64, at time.Time) ([]float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	time.Sleep(s.delay)
	if s.probe != nil {
		s.probe(at)
	}
	if s.err != nil {
		return dst, s.err
	}
	return append(dst[:0], .2, .3), nil
}

func (s *fakeSampler) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *fakeSampler) slow(delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = delay
}

// fakePods is a pod source that sends the events of a test.
type fakePods struct {
	events chan telemetry.PodEvent
	err    error
	ended  chan struct{}
}

func newFakePods() *fakePods {
	return &fakePods{events: make(chan telemetry.PodEvent), ended: make(chan struct{})}
}

func (p *fakePods) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	defer close(p.ended)
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-p.events:
			if !open {
				return p.err
			}
			notify(e)
		}
	}
}

// fastClock advances at each reading, so that the seconds of a churn window or a block of samples pass
// within a few ticks.
func fastClock() func() time.Time {
	var mu sync.Mutex
	now := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(period / 5)
		return now
	}
}

// loopRun is a loop that runs until the test ends.
type loopRun struct {
	*node.Loop
	t       testing.TB
	sampler *fakeSampler
	pods    *fakePods
	reports chan agent.Report
	locals  chan agent.Local
	metrics *prometheus.Registry
}

func startLoop(t *testing.T) *loopRun {
	t.Helper()
	r := &loopRun{
		t: t, sampler: &fakeSampler{}, pods: newFakePods(), metrics: prometheus.NewRegistry(),
		reports: make(chan agent.Report, 10000), locals: make(chan agent.Local, 10000),
	}
	metrics, err := node.NewLoopMetrics(r.metrics, r.pods)
	if err != nil {
		t.Fatal(err)
	}
	r.run(node.LoopConfig{
		Pipeline: newLoopPipeline(t), Sampler: r.sampler, Pods: r.pods,
		Period: 2 * time.Millisecond, Now: fastClock(), Metrics: metrics,
		OnReport: func(report agent.Report, _ time.Time) { r.reports <- report },
		OnLocal:  func(l agent.Local) { r.locals <- l },
	})
	return r
}

// run runs a loop with the config until the test ends.
func (r *loopRun) run(c node.LoopConfig) {
	r.t.Helper()
	t := r.t
	r.Loop = node.NewLoop(c)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
		<-r.pods.ended
	})
}

// until returns the next report that satisfies the condition.
func (r *loopRun) until(what string, fits func(agent.Report) bool) agent.Report {
	r.t.Helper()
	deadline := time.After(5 * time.Minute)
	for {
		select {
		case report := <-r.reports:
			if fits(report) {
				return report
			}
		case <-deadline:
			r.t.Fatalf("timed out waiting for a report: %s", what)
		}
	}
}

func TestLoopReports(t *testing.T) {
	r := startLoop(t)
	first := r.until("the first", func(agent.Report) bool { return true })
	if !first.Flags.WarmingUp || first.Node != "node" || first.Schema != schema {
		t.Errorf("first report %+v", first)
	}
	warm := r.until("warm", func(report agent.Report) bool { return !report.Flags.WarmingUp })
	if warm.Sequence <= first.Sequence || warm.Avail <= 0 {
		t.Errorf("avail %v, sequence %d after %d", warm.Avail, warm.Sequence, first.Sequence)
	}
	if last, ok := r.Last(); !ok || last.Sequence < warm.Sequence {
		t.Errorf("Last = %d, %v, want at least %d", last.Sequence, ok, warm.Sequence)
	}
	waitFor(t, "health", func() bool { return r.Health() == nil })
	for want := uint64(1); want <= 3; want++ {
		if l := <-r.locals; l.Sequence != want {
			t.Errorf("local model %d, want %d", l.Sequence, want)
		}
	}
}

// TestReportsCarryTheirSampleTime: a report that a change of pods caused has the time of the sample
// before the change.
func TestReportsCarryTheirSampleTime(t *testing.T) {
	type dated struct {
		agent.Report
		sampled time.Time
	}
	r := &loopRun{t: t, pods: newFakePods()}
	reports := make(chan dated, 100)
	before := time.Now()
	r.run(node.LoopConfig{
		Pipeline: newLoopPipeline(t), Sampler: &fakeSampler{}, Pods: r.pods,
		Period: time.Hour, Now: fastClock(), // the loop takes a single sample
		OnReport: func(report agent.Report, sampled time.Time) { reports <- dated{report, sampled} },
	})
	first := <-reports
	if after := time.Now(); first.sampled.Before(before) || first.sampled.After(after) {
		t.Errorf("sampled at %v, the loop ran from %v to %v", first.sampled, before, after)
	}
	for pods := []string{"0a1b2c3d-1111-2222"}; ; pods = append(pods, pods[0][1:]) {
		r.pods.events <- telemetry.PodEvent{Changed: true, Pods: telemetry.RunningPods(pods...)}
		select {
		case next := <-reports:
			if len(next.Pods) == 0 || !next.sampled.Equal(first.sampled) {
				t.Errorf("a report of %d pods is of a sample at %v, want %v", len(next.Pods), next.sampled, first.sampled)
			}
			return
		default: // too soon after the first report
		}
	}
}

func TestLoopCountsPods(t *testing.T) {
	r := startLoop(t)
	r.pods.events <- telemetry.PodEvent{Changed: true, Pods: telemetry.RunningPods("0a1b2c3d-1111-2222", "fa1b2c3d-1111-2222")}
	got := r.until("two pods", func(report agent.Report) bool { return len(report.Pods) == 2 })
	want := []reserve.PodKey{reserve.KeyOf("0a1b2c3d-1111-2222"), reserve.KeyOf("fa1b2c3d-1111-2222")}
	slices.Sort(want)
	if diff := cmp.Diff(want, got.Pods); diff != "" {
		t.Errorf("absorbed (-want +got):\n%s", diff)
	}
	r.pods.events <- telemetry.PodEvent{Changed: true}
	r.until("no pods", func(report agent.Report) bool { return len(report.Pods) == 0 })
}

func TestLoopReportsChurn(t *testing.T) {
	r := startLoop(t)
	churning := func(report agent.Report) bool { return report.Flags.Churn }
	quiet := func(report agent.Report) bool { return !report.Flags.Churn }
	r.pods.events <- telemetry.PodEvent{Churn: true}
	r.until("churn by an event", churning)
	r.until("its end", quiet)

	pod := reserve.KeyOf("0a1b2c3d-1111-2222")
	r.Bound(agent.Bind{Pod: pod, InitsKnown: true})
	r.until("churn by a notice", churning)
	r.until("its end", quiet)

	// A pod that already runs is no start.
	r.pods.events <- telemetry.PodEvent{Changed: true, Pods: telemetry.RunningPods("0a1b2c3d-1111-2222")}
	r.until("the pod", func(report agent.Report) bool { return len(report.Pods) == 1 })
	r.Bound(agent.Bind{Pod: pod, InitsKnown: true})
	for range 5 {
		if report := r.until("any", func(agent.Report) bool { return true }); report.Flags.Churn {
			t.Fatal("a running pod was counted as a start")
		}
	}
}

// TestLoopHoldsPodsInInit: a pod counts from its first container to its end, and the notice's init
// containers reach the pipeline.
func TestLoopHoldsPodsInInit(t *testing.T) {
	r := startLoop(t)
	const uid, otherUID = "0a1b2c3d-1111-2222", "fa1b2c3d-1111-2222"
	// A pod that the first event shows running is assumed to have run for long. The source merges
	// events that arrive together, so the test waits for the first.
	other := telemetry.RunningPods(otherUID)
	r.pods.events <- telemetry.PodEvent{Changed: true, Pods: other}
	r.until("the other pod", func(report agent.Report) bool { return len(report.Pods) == 1 })
	r.Bound(agent.Bind{Pod: reserve.KeyOf(uid), Inits: 1, InitsKnown: true})
	pod := func(s telemetry.PodState, starts int) {
		r.pods.events <- telemetry.PodEvent{Changed: true, Pods: append([]telemetry.Pod{{UID: uid, State: s, Starts: starts}}, other...)}
	}
	held := func(want int) {
		t.Helper()
		r.until("the pod", func(report agent.Report) bool {
			w, err := r.Why(t.Context())
			return err == nil && len(report.Pods) == 2 && w.Pods == 2 && w.Held == want
		})
	}
	pod(telemetry.PodPending, 0)
	pod(telemetry.PodRunning, 1)
	held(1)
	pod(telemetry.PodStopped, 1)
	held(0)
	pod(telemetry.PodRunning, 2)
	held(0)
	pod(telemetry.PodStopped, 2)
	held(0)
	r.pods.events <- telemetry.PodEvent{Changed: true, Pods: other}
	r.until("its end", func(report agent.Report) bool { return len(report.Pods) == 1 })
}

// TestLoopResizes adds cores: a pod then takes a smaller share of them.
func TestLoopResizes(t *testing.T) {
	r := &loopRun{t: t, sampler: &fakeSampler{}, pods: newFakePods(), reports: make(chan agent.Report, 10000)}
	pipeline := newLoopPipeline(t)
	sizes := atomic.Pointer[[]float64]{}
	set := func(factor float64) {
		var s []float64
		for _, ch := range pipeline.Config().Channels {
			s = append(s, factor*ch.Size)
		}
		sizes.Store(&s)
	}
	set(1)
	r.run(node.LoopConfig{
		Pipeline: pipeline, Sampler: r.sampler, Pods: r.pods, Period: 2 * time.Millisecond, Now: fastClock(),
		SizesTo:  func(dst []float64) []float64 { return append(dst[:0], *sizes.Load()...) },
		OnReport: func(report agent.Report, _ time.Time) { r.reports <- report },
	})
	before := r.until("any", func(agent.Report) bool { return true }).Channels[0].Cost
	set(4)
	r.until("a quarter of the cost", func(report agent.Report) bool { return report.Channels[0].Cost == before/4 })
}

func TestLoopUsesFleetModel(t *testing.T) {
	r := startLoop(t)
	before := r.until("the prior's cost", func(report agent.Report) bool { return report.Channels[0].Cost > 0 })
	r.SetFleet(agent.Fleet{Schema: "another", Nodes: 3})
	r.SetFleet(agent.Fleet{
		Schema: schema, Model: svd.Model{}, Nodes: 3,
		Costs: []agent.Cost{{Value: .4, SD: .001, Known: true}, {Value: 1 << 28, SD: 1, Known: true}},
	})
	r.until("the fleet's cost", func(report agent.Report) bool {
		return report.Channels[0].Cost < before.Channels[0].Cost*.9
	})
}

func TestLoopDropsSamples(t *testing.T) {
	r := startLoop(t)
	r.until("the first", func(agent.Report) bool { return true })
	r.sampler.fail(&telemetry.ChannelError{Channel: "cpu", Err: telemetry.ErrBackwards})
	waitFor(t, "dropped samples", func() bool {
		return r.counter("spazio_agent_samples_dropped_total", "backwards", "cpu") > 0
	})
	waitFor(t, "unhealthy", func() bool { return r.Health() != nil })
	r.sampler.fail(nil)
	waitFor(t, "healthy", func() bool { return r.Health() == nil })
	if n := r.counter("spazio_agent_samples_total"); n < 1 {
		t.Errorf("%v samples", n)
	}
}

func TestLoopExplainsItself(t *testing.T) {
	r := startLoop(t)
	r.until("the first", func(agent.Report) bool { return true })
	why, err := r.Why(t.Context())
	if last, _ := r.Last(); err != nil || why.Node != "node" || why.Sequence == 0 || why.Sequence > last.Sequence {
		t.Errorf("Why = %+v, %v", why, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Why(cancelled); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Why of a cancelled context: %v", err)
	}
}

func TestWhyBeforeAndAfter(t *testing.T) {
	sampler, pods := &fakeSampler{err: telemetry.ErrPriming}, newFakePods()
	d := node.NewLoop(node.LoopConfig{Pipeline: newLoopPipeline(t), Sampler: sampler, Pods: pods, Period: period})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, nil) }()
	if _, err := d.Why(t.Context()); !errors.Is(err, node.ErrNoReport) {
		t.Errorf("before the first report: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if _, err := d.Why(t.Context()); err == nil || errors.Is(err, node.ErrNoReport) {
		t.Errorf("after the end: %v", err)
	}
}

// TestLoopReportsSlowSampling makes a sample take longer than the period allows, then lets it recover.
func TestLoopReportsSlowSampling(t *testing.T) {
	r := &loopRun{t: t, sampler: &fakeSampler{}, pods: newFakePods(), metrics: prometheus.NewRegistry()}
	metrics, err := node.NewLoopMetrics(r.metrics, r.pods)
	if err != nil {
		t.Fatal(err)
	}
	r.sampler.slow(50 * time.Millisecond)
	var lines transporttest.Output
	r.run(node.LoopConfig{
		Pipeline: newLoopPipeline(t), Sampler: r.sampler, Pods: r.pods, Metrics: metrics,
		Period: 20 * time.Millisecond, Watch: 200 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(&lines, nil)),
	})
	waitFor(t, "the log line of the lost rate", func() bool { return strings.Contains(lines.String(), "can't keep their rate") })
	waitFor(t, "its metric", func() bool { return r.counter("spazio_agent_sample_rate_held") == 0 })
	if n := r.counter("spazio_agent_ticks_missed_total"); n == 0 {
		t.Error("no tick was missed")
	}
	r.sampler.slow(0)
	waitFor(t, "the recovery", func() bool { return strings.Contains(lines.String(), "keep their rate again") })
	for line := range strings.Lines(lines.String()) {
		for _, attr := range []string{"rate=", "want=50", "sampling-share="} {
			if !strings.Contains(line, attr) {
				t.Errorf("no %s in %q", attr, line)
			}
		}
	}
}

// counter returns a counter's or a gauge's value by its label values, in the order of the label names.
func (r *loopRun) counter(name string, labels ...string) float64 {
	r.t.Helper()
	families, err := r.metrics.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if slices.Equal(values, labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

func TestLoopFailsWithItsPodSource(t *testing.T) {
	broken := errors.New("broken")
	for _, err := range []error{broken, nil} {
		pods := newFakePods()
		pods.err = err
		close(pods.events)
		d := node.NewLoop(node.LoopConfig{Pipeline: newLoopPipeline(t), Sampler: &fakeSampler{}, Pods: pods, Period: period})
		if got := d.Run(context.Background(), nil); got == nil || err != nil && !errors.Is(got, err) {
			t.Errorf("Run = %v, want %v", got, err)
		}
	}
}

// TestLoopLeavesPlaceholdersOut: placeholder pods cause no churn and are not counted, and one that was
// counted before it was named is removed.
func TestLoopLeavesPlaceholdersOut(t *testing.T) {
	r := startLoop(t)
	const uid, other, placeholder, late = "0a1b2c3d-1111-2222", "1a1b2c3d-1111-2222", "2a1b2c3d-1111-2222", "3a1b2c3d-1111-2222"
	key := func(uid string) reserve.PodKey { return reserve.KeyOf(uid) }
	// Pods in the first event are assumed to have run for long: they cause no churn.
	r.pods.events <- telemetry.PodEvent{Changed: true, Pods: telemetry.RunningPods(uid, other)}
	r.until("the pods", func(report agent.Report) bool { return len(report.Pods) == 2 })
	r.SetPlaceholders([]reserve.PodKey{key(placeholder)})
	r.pods.events <- telemetry.PodEvent{Churn: true, Churned: []string{placeholder}}
	r.pods.events <- telemetry.PodEvent{Churn: true, Churned: []string{placeholder, placeholder}, Changed: true, Pods: telemetry.RunningPods(uid, other, placeholder)}
	r.pods.events <- telemetry.PodEvent{Churn: true, Churned: []string{placeholder}, Changed: true, Pods: telemetry.RunningPods(uid, other)}
	// Its last event has been processed once the other pod is gone.
	r.pods.events <- telemetry.PodEvent{Changed: true, Pods: telemetry.RunningPods(uid, placeholder)}
	r.until("the other pod's end", func(report agent.Report) bool {
		if report.Flags.Churn || slices.Contains(report.Pods, key(placeholder)) {
			t.Errorf("a placeholder was counted as a pod: %+v", report)
		}
		return len(report.Pods) == 1
	})
	r.pods.events <- telemetry.PodEvent{Changed: true, Pods: telemetry.RunningPods(uid, placeholder, late)}
	r.until("a pod that no notice has named", func(report agent.Report) bool { return len(report.Pods) == 2 })
	r.SetPlaceholders([]reserve.PodKey{key(placeholder), key(late)})
	r.until("the notice that names it", func(report agent.Report) bool { return len(report.Pods) == 1 && !report.Flags.Churn })

	// Churn of a pod beside a placeholder, of one unknown to the source, and of more placeholders than
	// the loop remembers, remains churn.
	many := slices.Repeat([]string{placeholder}, 100)
	for _, churned := range [][]string{{placeholder, uid}, nil, many} {
		r.until("quiet", func(report agent.Report) bool { return !report.Flags.Churn })
		r.pods.events <- telemetry.PodEvent{Churn: true, Churned: churned}
		r.until("churn", func(report agent.Report) bool { return report.Flags.Churn })
	}
}
