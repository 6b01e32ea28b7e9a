package node_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// meter has one reading per sample; every second one fails.
type meter struct {
	reads int
	count atomic.Int32 // is reads, for other goroutines
}

func (m *meter) Observe(time.Time, []telemetry.Pod) {}

func (m *meter) ReadTo(dst *telemetry.Usage, _ time.Time) error {
	m.reads++
	m.count.Add(1)
	dst.Pods = append(dst.Pods[:0], telemetry.PodReading{UID: "pod-1", Age: time.Duration(m.reads) * time.Second, CPU: time.Duration(m.reads) * time.Second / 2})
	dst.Failed = append(dst.Failed[:0], telemetry.ErrUnseenPods)
	if m.reads%2 == 0 {
		return errors.New("a cgroup can't be read")
	}
	return nil
}

// TestLoopReadsUsage after each sample, and passes the readings on.
func TestLoopReadsUsage(t *testing.T) {
	readings := make(chan agent.PodReading, 10000)
	log, usage := &transporttest.Output{}, &meter{}
	r := &loopRun{t: t, pods: newFakePods()}
	r.run(node.LoopConfig{
		Pipeline: newLoopPipeline(t), Sampler: &fakeSampler{}, Pods: r.pods, Period: 2 * time.Millisecond, Now: fastClock(),
		OnReport: func(agent.Report, time.Time) {}, OnLocal: func(agent.Local) {},
		Usage: usage, Logger: slog.New(slog.NewTextHandler(log, nil)),
		OnUsage: func(_ time.Time, got []agent.PodReading) {
			for _, reading := range got {
				readings <- reading
			}
		},
	})
	for i := range time.Duration(4) {
		select {
		case got := <-readings:
			if got.Pod != reserve.KeyOf("pod-1") || got.Age != (i+1)*time.Second || got.CPU != (i+1)*time.Second/2 || got.Container != 0 {
				t.Errorf("reading %d is %+v", i, got)
			}
		case <-t.Context().Done():
			t.Fatal("no reading")
		}
	}
	waitFor(t, "failures in the log", func() bool { return strings.Contains(log.String(), "usage of pods not read") })
	waitFor(t, "many readings", func() bool { return usage.count.Load() >= 20 })
	for _, once := range []string{"usage of pods not read", "usage of a pod not read"} {
		if n := strings.Count(log.String(), once); n != 1 {
			t.Errorf("%q was logged %d times, want once", once, n)
		}
	}
}

// largePods is a meter of pods with a given memory and peak.
type largePods struct{ memory, peak uint64 }

func (largePods) Observe(time.Time, []telemetry.Pod) {}

func (l largePods) ReadTo(dst *telemetry.Usage, _ time.Time) error {
	dst.Pods = append(dst.Pods[:0], telemetry.PodReading{UID: "pod-1", Age: time.Second, CPU: time.Second / 2, Memory: l.memory, MemoryPeak: l.peak, OOMKills: 1})
	return nil
}

// TestMemoryIsBoundedByTheMachine: a pod's memory and its peak are at most the machine's 16 GiB.
func TestMemoryIsBoundedByTheMachine(t *testing.T) {
	for _, tc := range []struct {
		memory, peak uint64
		want         agent.PodReading
	}{
		{16 << 30, 16 << 30, agent.PodReading{Memory: 16 << 30, MemoryPeak: 16 << 30, OOMKills: 1}},
		{1 << 30, 17 << 30, agent.PodReading{Memory: 1 << 30, MemoryPeak: 1 << 30, OOMKills: 1}},
		{17 << 30, 17 << 30, agent.PodReading{NoMemory: true}},
	} {
		readings, log := make(chan agent.PodReading, 10000), &transporttest.Output{}
		r := &loopRun{t: t, pods: newFakePods(), metrics: prometheus.NewRegistry()}
		r.run(node.LoopConfig{
			Pipeline: newLoopPipeline(t), Sampler: &fakeSampler{}, Pods: r.pods, Period: 2 * time.Millisecond, Now: fastClock(),
			OnReport: func(agent.Report, time.Time) {}, OnLocal: func(agent.Local) {},
			Usage: largePods{tc.memory, tc.peak}, Logger: slog.New(slog.NewTextHandler(log, nil)),
			OnUsage: func(_ time.Time, got []agent.PodReading) {
				for _, reading := range got {
					readings <- reading
				}
			},
		})
		tc.want.Pod, tc.want.Age, tc.want.CPU, tc.want.Cores = reserve.KeyOf("pod-1"), time.Second, time.Second/2, 4
		if diff := cmp.Diff(tc.want, <-readings); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if logged := strings.Contains(log.String(), "more than the 17179869184 bytes of the machine"); logged != tc.want.NoMemory {
			t.Errorf("%d bytes: got logged %v", tc.memory, logged)
		}
	}
}

// sick is a pod source with a configurable health.
type sick struct {
	*fakePods
	mu  sync.Mutex
	err error
}

func (s *sick) Health() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func TestPodSourceHealthIsAMetric(t *testing.T) {
	source, registry := &sick{fakePods: newFakePods()}, prometheus.NewRegistry()
	if _, err := node.NewLoopMetrics(registry, source); err != nil {
		t.Fatal(err)
	}
	r := &loopRun{t: t, metrics: registry}
	if healthy := r.counter("spazio_agent_pod_source_healthy"); healthy != 1 {
		t.Errorf("a source that sees pods: %v", healthy)
	}
	source.err = errors.New("blind")
	if healthy := r.counter("spazio_agent_pod_source_healthy"); healthy != 0 {
		t.Errorf("a blind source: %v", healthy)
	}
	taken := prometheus.WrapRegistererWith(prometheus.Labels{"of": "another"}, registry)
	if _, err := node.NewLoopMetrics(taken, source); err == nil {
		t.Error("metrics registered under the same names with other labels, without an error")
	}
}

// TestLostSamplesAreRecorded, each of them; the log has one line for the first of a series.
func TestLostSamplesAreRecorded(t *testing.T) {
	broken := errors.New("broken")
	sampler, log, registry, pipeline := &fakeSampler{err: broken}, &transporttest.Output{}, prometheus.NewRegistry(), newLoopPipeline(t)
	metrics, err := node.NewLoopMetrics(registry, newFakePods())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	recorder, err := recording.Create(dir, pipeline.Config(), recording.Options{State: pipeline.State})
	if err != nil {
		t.Fatal(err)
	}
	l := node.NewLoop(node.LoopConfig{
		Pipeline: pipeline, Sampler: sampler, Pods: newFakePods(), Period: time.Millisecond, Now: fastClock(), Metrics: metrics,
		OnReport: func(agent.Report, time.Time) {}, OnLocal: func(agent.Local) {}, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, recorder) }()
	r := &loopRun{t: t, metrics: registry}
	dropped := func() float64 { return r.counter("spazio_agent_samples_dropped_total", "refused", "all") }
	for series := range 2 {
		before, good := dropped(), r.counter("spazio_agent_samples_total")
		waitFor(t, "lost samples", func() bool { return dropped() >= before+5 })
		sampler.fail(nil)
		waitFor(t, "a good sample", func() bool { return r.counter("spazio_agent_samples_total") > good })
		if lines := strings.Count(log.String(), "sample dropped"); lines != series+1 {
			t.Errorf("%d lines of %d series", lines, series+1)
		}
		sampler.fail(broken)
	}
	cancel()
	if err := errors.Join(<-ended, recorder.Close()); err != nil {
		t.Error(err)
	}
	reader, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	lost := 0
	for record, err := range reader.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if record.Kind == recording.KindDropped {
			lost++
			if record.Text != broken.Error() {
				t.Errorf("lost for %q", record.Text)
			}
		}
	}
	if want := int(dropped()); lost != want {
		t.Errorf("%d of %d lost samples are recorded", lost, want)
	}
}
