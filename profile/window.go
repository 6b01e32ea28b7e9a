package profile

import (
	"fmt"
	"time"
)

// Window is what a pod, or one of its containers, took during a span of time that
// ended when it is observed. It is a plain value, safe for concurrent reading.
type Window struct {
	// Pod is its UID, Container the name of the container, empty for the pod.
	Pod, Container string
	Node, Revision string
	// Age is the pod's at the end of the window, which lasted Span.
	Age, Span time.Duration
	// Created is when the pod was made, if that is known: a window may be late, and
	// who measures may know the pod for less time than it has lived. By it revisions
	// are ordered; zero means by Age.
	Created time.Time
	// CPUSeconds were used, and for StalledSeconds a task of the pod waited for a
	// core, which cannot be longer than the span; together they are what the pod would
	// have used of idle cores. Unstalled means that waiting was not measured: the
	// confidence in CPU stays at most ½ then.
	CPUSeconds, StalledSeconds float64
	Unstalled                  bool
	// NoCPU: what was used of the CPU is not known, nor waited for or throttled.
	NoCPU bool
	// Demand is for how long which demand for CPU held, in ascending order of
	// buckets; without it the mean of the window stands for all of it.
	Demand []DemandTime
	// Memory is the most seen in the span, 0 if only the peak is known, and
	// MemoryPeak the most since the pod began; without page cache, in bytes. Both are 0
	// where neither is known.
	Memory, MemoryPeak float64
	// Periods are those of a CPU limit, in ThrottledPeriods of which it held the
	// pod up.
	Periods, ThrottledPeriods uint32
	// OOMKills are those of the span.
	OOMKills uint32
	// Always says that the pod is restarted when it ends, so lives on.
	Always bool
	// Ended says that it is the pod's, or the container's, last.
	Ended bool
}

// DemandTime is the time, in ms, for which the demand for CPU was in a bucket of the
// scale CPU. It is a plain value, safe for concurrent use.
type DemandTime struct{ Bucket, Millis uint32 }

// Bounds of a window, as on the wire.
const (
	maxSpan  = time.Hour
	maxCores = 4096
	maxBytes = 1 << 50
	maxName  = 253 // of a container or a revision, as Kubernetes' longest
	// coreSlack is what rounding adds to times within bounds.
	coreSlack = 1 + 1e-9
)

// amended is the window without what cannot be true beside the rest of it: a waiting
// time longer than the span was not measured, as after an overflow of the kernel's
// counter, and demands that add up to more than what was used and the span are made of
// one.
func (w Window) amended() Window {
	span := w.Span.Seconds()
	if w.StalledSeconds > coreSlack*span && w.StalledSeconds <= maxCores*coreSlack*span {
		w.StalledSeconds, w.Unstalled, w.Demand = 0, true, nil
	}
	least := 0.
	for _, d := range w.Demand {
		least += CPU.Upper(int(d.Bucket)-1) * float64(d.Millis) / 1e3
	}
	if least > coreSlack*(w.CPUSeconds+span) {
		w.Demand = nil
	}
	return w
}

// Validate refuses what no pod can have taken.
func (w *Window) Validate() error {
	mostCPU := maxCores * coreSlack * w.Span.Seconds()
	switch {
	case w.Pod == "":
		return refuse("Window.Pod", w.Pod, "given")
	case len(w.Container) > maxName:
		return refuse("Window.Container", w.Container, "at most 253 bytes")
	case len(w.Revision) > maxName:
		return refuse("Window.Revision", w.Revision, "at most 253 bytes")
	case w.Span <= 0 || w.Span > maxSpan:
		return refuse("Window.Span", w.Span, "above 0, at most 1h")
	case w.Age < 0:
		return refuse("Window.Age", w.Age, "not negative")
	case !w.Created.IsZero() && checkTime(w.Created) != nil:
		return refuse("Window.Created", w.Created, "from 1970 to 2255, or zero")
	case !(w.CPUSeconds >= 0) || w.CPUSeconds > mostCPU:
		return refuse("Window.CPUSeconds", w.CPUSeconds, "from 0 to 4096 cores")
	case !(w.StalledSeconds >= 0) || w.StalledSeconds > mostCPU:
		return refuse("Window.StalledSeconds", w.StalledSeconds, "from 0 to 4096 cores")
	case !(w.Memory >= 0) || w.Memory > maxBytes:
		return refuse("Window.Memory", w.Memory, "from 0 to 2^50")
	case !(w.MemoryPeak >= 0) || w.MemoryPeak > maxBytes:
		return refuse("Window.MemoryPeak", w.MemoryPeak, "from 0 to 2^50")
	case w.ThrottledPeriods > w.Periods:
		return refuse("Window.ThrottledPeriods", w.ThrottledPeriods, "at most Periods")
	}
	return w.validateDemand()
}

func (w *Window) validateDemand() error {
	left := uint64(w.Span.Milliseconds()) + 1
	for i, d := range w.Demand {
		if int64(d.Bucket) >= int64(CPU.Buckets) || i > 0 && d.Bucket <= w.Demand[i-1].Bucket {
			return refuse(fmt.Sprintf("Window.Demand[%d].Bucket", i), d.Bucket, "of the scale CPU, in ascending order")
		}
		if uint64(d.Millis) > left {
			return refuse(fmt.Sprintf("Window.Demand[%d].Millis", i), d.Millis, "at most the span, all together")
		}
		left -= uint64(d.Millis)
	}
	return nil
}

// cores is the mean demand.
func (w *Window) cores() float64 { return (w.CPUSeconds + w.StalledSeconds) / w.Span.Seconds() }

// killed says that the pod ended for want of memory, and not when it was done.
func (w *Window) killed() bool { return w.Ended && w.OOMKills > 0 }

const (
	// grownBy is by what share of its peak a young pod's memory has to grow in a
	// window for it to be taken to grow further.
	grownBy = .1
	// young is the weight of a pod below which it is. Of an older one, what it takes is
	// what there is to say, be it that it grows for ever.
	young = .5
)

// growing says whether the pod's memory would have grown on after the window, given
// its peak before it and what the pod weighs: then it is less than what the pod takes.
func (w *Window) growing(peak, weight float64) bool {
	if w.Ended {
		return w.killed()
	}
	return weight < young && max(w.Memory, w.MemoryPeak) > (1+grownBy)*peak
}

// memory is the most memory of the span, given the pod's peak before it: a peak
// that grew did so in this span, and readings may have missed it.
func (w *Window) memory(peak float64) float64 {
	if w.MemoryPeak > peak || w.Memory == 0 {
		return max(w.Memory, w.MemoryPeak)
	}
	return w.Memory
}
