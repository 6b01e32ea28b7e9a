package api

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Bounds of a batch of windows.
const (
	// maxUsageBytes is its greatest size on the wire, in bytes.
	maxUsageBytes = 64 << 10
	// maxSpan is the longest window.
	maxSpan = time.Hour
)

// FromUsage converts a batch for the wire.
func FromUsage(b agent.UsageBatch) *spaziov1.UsageBatch {
	m := &spaziov1.UsageBatch{Node: b.Node, Incarnation: b.Incarnation, Sequence: b.Sequence}
	for i := range b.Windows {
		w := &b.Windows[i]
		one := &spaziov1.PodWindow{
			Pod: uint64(w.Pod), Container: w.Container, AgeNanos: int64(w.Age), SpanNanos: int64(w.Span),
			CpuSeconds: w.CPU, ThrottledSeconds: w.Throttled, Periods: w.Periods, ThrottledPeriods: w.ThrottledPeriods,
			MemoryBytes: w.Memory, MemoryPeakBytes: w.MemoryPeak, OomKills: w.OOMKills, Ended: w.Ended,
		}
		if w.Pressure {
			one.StalledSeconds = proto.Float64(w.Stalled)
		}
		if w.MemoryPressure {
			one.MemoryStalledSeconds = proto.Float64(w.MemoryStalled)
		}
		for _, d := range w.Demand {
			one.Buckets, one.Counts = append(one.Buckets, d.Bucket), append(one.Counts, d.Millis)
		}
		m.Windows = append(m.Windows, one)
	}
	return m
}

// ToUsage checks and converts a batch from the wire. A window that is out of range is left
// out, and the acknowledgement names it; its neighbours are kept. Errors are *field.Error
// and refuse the batch as a whole.
func ToUsage(m *spaziov1.UsageBatch) (agent.UsageBatch, *spaziov1.UsageAck, error) {
	if m == nil {
		return agent.UsageBatch{}, nil, refuse("usage", nil, ErrMissing)
	}
	if err := checkName("node", m.Node, false); err != nil {
		return agent.UsageBatch{}, nil, err
	}
	if n := len(m.Windows); n > agent.MaxWindows {
		return agent.UsageBatch{}, nil, refuseLength("windows", n, agent.MaxWindows)
	}
	if n := proto.Size(m); n > maxUsageBytes {
		return agent.UsageBatch{}, nil, refuse("usage", n, fmt.Errorf("%w: at most %d bytes", ErrLength, maxUsageBytes))
	}
	b := agent.UsageBatch{Node: m.Node, Incarnation: m.Incarnation, Sequence: m.Sequence}
	ack := &spaziov1.UsageAck{Incarnation: m.Incarnation, Sequence: m.Sequence}
	for i, one := range m.Windows {
		w, err := toWindow(one)
		if err == nil {
			b.Windows = append(b.Windows, w)
			continue
		}
		if ack.Refused = append(ack.Refused, uint32(i)); len(ack.Refused) == 1 {
			ack.Refusal = element("windows", i, err).Error()
		}
	}
	return b, ack, nil
}

func toWindow(m *spaziov1.PodWindow) (agent.Window, error) {
	most := agent.MaxWindowCores * time.Duration(m.GetSpanNanos()).Seconds() * profile.CoreSlack
	if err := checkRanges([]ranged{
		{"age_nanos", float64(m.GetAgeNanos()), 0, float64(MaxAge)},
		{"span_nanos", float64(m.GetSpanNanos()), 0, float64(maxSpan)},
		{"cpu_seconds", m.GetCpuSeconds(), 0, most},
		{"stalled_seconds", m.GetStalledSeconds(), 0, most},
		{"throttled_seconds", m.GetThrottledSeconds(), 0, most},
		{"memory_stalled_seconds", m.GetMemoryStalledSeconds(), 0, most},
		{"memory_bytes", m.GetMemoryBytes(), 0, profile.MaxMemory},
		{"memory_peak_bytes", m.GetMemoryPeakBytes(), 0, profile.MaxMemory},
	}); err != nil {
		return agent.Window{}, err
	}
	w := agent.Window{Pod: reserve.PodKey(m.GetPod()), Container: m.GetContainer(), Usage: profile.Usage{
		Age: time.Duration(m.GetAgeNanos()), Span: time.Duration(m.GetSpanNanos()),
		CPU: m.GetCpuSeconds(), Stalled: m.GetStalledSeconds(), Throttled: m.GetThrottledSeconds(), Pressure: m != nil && m.StalledSeconds != nil,
		Periods: m.GetPeriods(), ThrottledPeriods: m.GetThrottledPeriods(), OOMKills: m.GetOomKills(),
		Memory: m.GetMemoryBytes(), MemoryPeak: m.GetMemoryPeakBytes(), Ended: m.GetEnded(),
		MemoryStalled: m.GetMemoryStalledSeconds(), MemoryPressure: m != nil && m.MemoryStalledSeconds != nil,
	}}
	buckets, counts := m.GetBuckets(), m.GetCounts()
	if len(counts) != len(buckets) {
		return agent.Window{}, refuse("counts", len(counts), fmt.Errorf("%w: there are %d buckets", ErrLength, len(buckets)))
	}
	for i, bucket := range buckets {
		if bucket >= agent.DemandBuckets || i > 0 && bucket <= buckets[i-1] {
			return agent.Window{}, refuse(fmt.Sprintf("buckets[%d]", i), bucket, fmt.Errorf("%w: ascending, below %d", ErrRange, agent.DemandBuckets))
		}
		w.Demand = append(w.Demand, profile.DemandTime{Bucket: bucket, Millis: counts[i]})
	}
	w.Amend()
	// An agent's window with a known CPU time has the demand, even if that is zero.
	w.NoCPU = len(buckets) == 0 && w.CPU == 0 && !w.Pressure
	return w, nil
}
