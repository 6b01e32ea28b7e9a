package api_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

func usageBatch() agent.UsageBatch {
	return agent.UsageBatch{Node: "node-1", Incarnation: 1 << 60, Sequence: 7, Windows: []agent.Window{
		{
			Pod: math.MaxUint64, Container: 5,
			Usage: profile.Usage{
				Age: time.Hour, Span: time.Minute, CPU: 90.25, Stalled: 30.5, Pressure: true, Throttled: 1.5, Periods: 600,
				ThrottledPeriods: 15, OOMKills: 1, Memory: 1e9, MemoryPeak: 2e9, MemoryStalled: 12.5, MemoryPressure: true,
				Ended: true, Demand: []profile.DemandTime{{Bucket: 0, Millis: 1000}, {Bucket: 175, Millis: 59000}},
			},
		},
		{Pod: 1, Usage: profile.Usage{Span: time.Second, NoCPU: true}},
	}}
}

func TestUsageRoundTrip(t *testing.T) {
	got, _, err := api.ToUsage(wire(t, api.FromUsage(usageBatch()), &spaziov1.UsageBatch{}))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(usageBatch(), got); d != "" {
		t.Errorf("-sent +received:\n%s", d)
	}
}

// TestFullUsageBatchFits: a batch has at most as many windows as an agent sends, of pods with varying
// demand.
func TestFullUsageBatchFits(t *testing.T) {
	b := usageBatch()
	one := b.Windows[0]
	one.Demand = nil
	for i := range uint32(12) {
		one.Demand = append(one.Demand[:i], profile.DemandTime{Bucket: 130 + i, Millis: 20000})
	}
	b.Windows = nil
	for range agent.MaxWindows / 2 {
		b.Windows = append(b.Windows, one)
	}
	if _, ack, err := api.ToUsage(api.FromUsage(b)); err != nil || ack.Refused != nil {
		t.Error(err, ack, proto.Size(api.FromUsage(b)))
	}
}

func TestToUsageRefuses(t *testing.T) {
	for _, tt := range []struct {
		field string
		cause error
		spoil func(*spaziov1.UsageBatch, *spaziov1.PodWindow)
	}{
		{"node", api.ErrMissing, func(b *spaziov1.UsageBatch, _ *spaziov1.PodWindow) { b.Node = "" }},
		{"windows", api.ErrLength, func(b *spaziov1.UsageBatch, _ *spaziov1.PodWindow) { b.Windows = make([]*spaziov1.PodWindow, 513) }},
		{"usage", api.ErrLength, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) { w.Buckets = make([]uint32, 70000) }},
		{"windows[0].age_nanos", api.ErrRange, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) { w.AgeNanos = -1 }},
		{"windows[0].span_nanos", api.ErrRange, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) { w.SpanNanos = int64(time.Hour) + 1e6 }},
		{"windows[0].span_nanos", api.ErrRange, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) { w.SpanNanos = -1 }},
		{"windows[0].cpu_seconds", api.ErrRange, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) { w.CpuSeconds = math.NaN() }},
		{"windows[0].cpu_seconds", api.ErrRange, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) { w.CpuSeconds = 4097 * 60 }},
		{"windows[0].memory_stalled_seconds", api.ErrRange, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) { w.MemoryStalledSeconds = proto.Float64(4097 * 60) }},
		{"windows[0].memory_stalled_seconds", api.ErrRange, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) {
			w.MemoryStalledSeconds = proto.Float64(math.NaN())
		}},
		{"windows[0].stalled_seconds", api.ErrRange, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) { w.StalledSeconds = proto.Float64(-1) }},
		{"windows[0].throttled_seconds", api.ErrRange, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) { w.ThrottledSeconds = math.Inf(1) }},
		{"windows[0].memory_bytes", api.ErrRange, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) { w.MemoryBytes = 2e15 }},
		{"windows[0].memory_peak_bytes", api.ErrRange, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) { w.MemoryPeakBytes = -1 }},
		{"windows[0].counts", api.ErrLength, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) { w.Counts = nil }},
		{"windows[0].buckets[1]", api.ErrRange, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) { w.Buckets[1] = 0 }},
		{"windows[0].buckets[1]", api.ErrRange, func(_ *spaziov1.UsageBatch, w *spaziov1.PodWindow) { w.Buckets[1] = 176 }},
	} {
		m := api.FromUsage(usageBatch())
		tt.spoil(m, m.Windows[0])
		_, ack, err := api.ToUsage(m)
		if !strings.HasPrefix(tt.field, "windows[") {
			refused(t, err, tt.field, tt.cause)
		} else if text := ack.GetRefusal(); err != nil || !strings.Contains(text, tt.field+" = ") || !strings.Contains(text, tt.cause.Error()) {
			t.Errorf("%s: %v, %q, want %v", tt.field, err, text, tt.cause)
		}
	}
	_, _, err := api.ToUsage(nil)
	refused(t, err, "usage", api.ErrMissing)
}

// An inconsistent count is dropped alone.
func TestBadCountIsDroppedAlone(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*spaziov1.PodWindow)
		want  func(*agent.Window)
	}{
		"waited longer than the window": {
			func(w *spaziov1.PodWindow) { w.StalledSeconds = proto.Float64(64.3) },
			func(w *agent.Window) { w.Stalled, w.Pressure, w.Demand = 0, false, nil },
		},
		"waited for memory longer than two windows": {
			func(w *spaziov1.PodWindow) { w.MemoryStalledSeconds = proto.Float64(121) },
			func(w *agent.Window) { w.MemoryStalled, w.MemoryPressure = 0, false },
		},
		"a peak cut to the most": {
			func(w *spaziov1.PodWindow) { w.MemoryPeakBytes = 1 << 50 },
			func(w *agent.Window) { w.MemoryPeak = 0 },
		},
		"throttled in more periods than there were": {
			func(w *spaziov1.PodWindow) { w.ThrottledPeriods = 601 },
			func(w *agent.Window) { w.Throttled, w.Periods, w.ThrottledPeriods = 0, 0, 0 },
		},
	} {
		b := usageBatch()
		m := api.FromUsage(b)
		c.spoil(m.Windows[0])
		c.want(&b.Windows[0])
		got, ack, err := api.ToUsage(m)
		if err != nil || ack.Refused != nil {
			t.Errorf("%s: %v, %v", name, ack, err)
		} else if d := cmp.Diff(b, got); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

// An out-of-range window is refused alone: its neighbours are accepted, and the acknowledgement names
// the refused window and the reason.
func TestBadWindowIsRefusedAlone(t *testing.T) {
	b := usageBatch()
	for len(b.Windows) < 5 {
		b.Windows = append(b.Windows, agent.Window{Pod: reserve.PodKey(len(b.Windows)), Usage: profile.Usage{Span: time.Second, NoCPU: true}})
	}
	m := api.FromUsage(b)
	m.Windows[1].CpuSeconds = 4097
	m.Windows[3].SpanNanos = -1
	got, ack, err := api.ToUsage(m)
	if err != nil {
		t.Fatal(err)
	}
	b.Windows = []agent.Window{b.Windows[0], b.Windows[2], b.Windows[4]}
	if d := cmp.Diff(b, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	want := &spaziov1.UsageAck{Incarnation: 1 << 60, Sequence: 7, Refused: []uint32{1, 3}, Refusal: ack.Refusal}
	if ack = wire(t, ack, &spaziov1.UsageAck{}); !proto.Equal(want, ack) {
		t.Errorf("got acknowledgement %v, want %v", ack, want)
	}
	for _, part := range []string{"windows[1].cpu_seconds", "4097", "0 to 4096"} {
		if !strings.Contains(ack.Refusal, part) {
			t.Errorf("%q does not contain %q", ack.Refusal, part)
		}
	}
}

// The batches of a log of a full node that had no profiler for ten minutes, with continuously changing
// usage, are accepted completely.
func TestBatchesOfALogAreAccepted(t *testing.T) {
	log := agent.NewUsageLog(strings.Repeat("n", 253), math.MaxUint64)
	const pods, readings = 400, 60
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	var all [pods]agent.PodReading
	for i := range all {
		all[i] = agent.PodReading{Pod: reserve.PodKey(math.MaxUint64 - uint64(i)), Container: math.MaxUint64, AgeUnknown: true, Age: 1000 * time.Hour, Pressure: true}
	}
	for n := range readings {
		at = at.Add(10 * time.Second)
		for i := range all {
			r := &all[i]
			r.Age += 10 * time.Second
			r.CPU += time.Duration(float64(n*n) * 1e7)
			r.Stalled, r.Throttled = r.CPU, r.CPU
			r.Periods, r.ThrottledPeriods, r.OOMKills = r.Periods+1<<28, r.ThrottledPeriods+1<<28, r.OOMKills+1<<28
			r.Memory, r.MemoryPeak = 1<<49+1, 1<<49+1
		}
		log.Take(at, all[:])
	}
	sent := map[reserve.PodKey]bool{}
	for {
		b, ok := log.Batch(at)
		if !ok {
			break
		}
		got, ack, err := api.ToUsage(api.FromUsage(b))
		if err != nil || ack.Refused != nil {
			t.Fatalf("batch of %d windows: got %v, %v", len(b.Windows), ack, err)
		}
		for _, w := range got.Windows {
			sent[w.Pod] = true
		}
		log.Acknowledge(b.Incarnation, b.Sequence)
		at = at.Add(time.Second)
	}
	if len(sent) != pods {
		t.Errorf("%d of %d pods", len(sent), pods)
	}
}

func FuzzToUsage(f *testing.F) {
	to := func(m *spaziov1.UsageBatch) (agent.UsageBatch, error) {
		b, ack, err := api.ToUsage(m)
		if err == nil && len(b.Windows)+len(ack.Refused) != len(m.GetWindows()) {
			return b, fmt.Errorf("got %d accepted and %d refused windows of %d", len(b.Windows), len(ack.Refused), len(m.GetWindows()))
		}
		return b, err
	}
	fuzz(f, api.FromUsage(usageBatch()), func() *spaziov1.UsageBatch { return &spaziov1.UsageBatch{} }, to, api.FromUsage)
}
