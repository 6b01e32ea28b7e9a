package profile

import (
	"fmt"
	"time"
)

// Usage is what a pod, or one of its containers, took during a span of time: the one form
// of it from the agent's log over the wire to profiles. It is a plain value, safe for
// concurrent reading.
type Usage struct {
	// Age is the pod's at the end of the span.
	Age, Span time.Duration
	// NoCPU: what was used of the CPU is not known, nor waited for or throttled, and there is
	// no Demand.
	NoCPU bool
	// CPU, Stalled and Throttled are in seconds: the time used, that in which a task waited
	// for a core, which cannot be longer than the span, and that in which a limit held the
	// pod up, summed over CPUs. CPU and Waited together are what it would have used of idle
	// cores. Stalled is known only if Pressure; the confidence in CPU stays at most ½ without.
	CPU, Stalled, Throttled float64
	Pressure                bool
	// Periods are those of a CPU limit, in ThrottledPeriods of which it held the
	// pod up; OOMKills are those of the span.
	Periods, ThrottledPeriods, OOMKills uint32
	// Memory is the most seen in the span, 0 if only the peak is known, and
	// MemoryPeak the most since the pod began; without page cache, in bytes. Both are 0
	// where neither is known: no process takes none.
	Memory, MemoryPeak float64
	// MemoryStalled is the time in which a task waited for memory, in seconds, known only
	// if MemoryPressure: from one reading that knew to another.
	MemoryStalled  float64
	MemoryPressure bool
	// Ended reports that it is the pod's, or the container's, last.
	Ended bool
	// Demand is for how long which demand for CPU held, in ascending order of
	// buckets; without it the mean of the span stands for all of it.
	Demand []DemandTime
}

// Window is the usage of a pod, or of one of its containers, during a span that ended when
// it is observed, with what a profile has to know of the pod. It is a plain value, safe for
// concurrent reading.
type Window struct {
	// Pod is its UID, Container the name of the container, empty for the pod.
	Pod, Container string
	Node, Revision string
	// Created is when the pod was made, if that is known: a window may be late, and
	// who measures may know the pod for less time than it has lived. By it revisions
	// are ordered; zero means by Age.
	Created time.Time
	// Always reports that the pod is restarted when it ends, so lives on.
	Always bool
	Usage
}

// DemandTime is the time, in ms, for which the demand for CPU was in a bucket of the
// scale CPU: bucket i ends at .01·(1.05^(i+1) − 1)/.05 cores, to 175, as in the histogram
// of the Vertical Pod Autoscaler. It is a plain value, safe for concurrent use.
type DemandTime struct{ Bucket, Millis uint32 }

// Bounds of a window, on the wire too.
const (
	// MaxMemory is the most memory of a window, in bytes.
	MaxMemory = 1 << 50
	// CoreSlack is the factor by which rounding may exceed a bound of CPU time.
	CoreSlack = 1 + 1e-9

	maxSpan  = time.Hour
	maxCores = 4096
	maxName  = 253 // of a container or a revision, as Kubernetes' longest
)

// Waited is the time in which a pod waited for a core: that in which one of its tasks was
// stalled, without that in which its limit held it up, which the kernel counts as stalled
// too. However many cores were free, a pod would not take these. Throttled time is summed
// over CPUs and stalled time is not, so a throttled period takes off no more than itself.
func Waited(stalled, throttled float64, periods uint32) float64 {
	return max(stalled-min(throttled, limitPeriod*float64(periods)), 0)
}

// limitPeriod is that of a CPU limit as the kubelet sets it, in seconds.
const limitPeriod = .1

func (u *Usage) waited() float64 { return Waited(u.Stalled, u.Throttled, u.ThrottledPeriods) }

// Amend has what contradicts the rest of the usage count as not measured. Tasks cannot wait
// for longer than the span, for a CPU or for memory, as after an overflow of the kernel's
// counter; demands are made of the one, and waiting for the other may have been read less
// lately, so that twice the span is possible. Demands are of no more than the span, and
// what an agent cut to the most memory that there may be is no amount.
func (u *Usage) Amend() {
	span := u.Span.Seconds()
	if u.Stalled > CoreSlack*span {
		u.Stalled, u.Pressure, u.Demand = 0, false, nil
	}
	if u.MemoryStalled > 2*span {
		u.MemoryStalled, u.MemoryPressure = 0, false
	}
	if u.ThrottledPeriods > u.Periods {
		u.Throttled, u.Periods, u.ThrottledPeriods = 0, 0, 0
	}
	for _, bytes := range []*float64{&u.Memory, &u.MemoryPeak} {
		if *bytes >= MaxMemory {
			*bytes = 0
		}
	}
	left := uint64(u.Span.Milliseconds()) + 1
	for _, d := range u.Demand {
		if uint64(d.Millis) > left {
			u.Demand = nil
			return
		}
		left -= uint64(d.Millis)
	}
}

// amend is Amend, and leaves out demands that add up to more than what was used and the
// span are made of.
func (w *Window) amend() {
	w.Amend()
	least := 0.
	for _, d := range w.Demand {
		least += CPU.upper(int(d.Bucket)-1) * float64(d.Millis) / 1e3
	}
	if least > CoreSlack*(w.CPU+w.Span.Seconds()) {
		w.Demand = nil
	}
}

// validate refuses what no pod can have taken.
func (w *Window) validate() error {
	mostCPU := maxCores * CoreSlack * w.Span.Seconds()
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
	case !(w.CPU >= 0) || w.CPU > mostCPU:
		return refuse("Window.CPU", w.CPU, "from 0 to 4096 cores")
	case !(w.Stalled >= 0) || w.Stalled > mostCPU:
		return refuse("Window.Stalled", w.Stalled, "from 0 to 4096 cores")
	case !(w.Throttled >= 0) || w.Throttled > mostCPU:
		return refuse("Window.Throttled", w.Throttled, "from 0 to 4096 cores")
	case !(w.Memory >= 0) || w.Memory > MaxMemory:
		return refuse("Window.Memory", w.Memory, "from 0 to 2^50")
	case !(w.MemoryPeak >= 0) || w.MemoryPeak > MaxMemory:
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
func (w *Window) cores() float64 { return (w.CPU + w.waited()) / w.Span.Seconds() }

// killed reports that the pod ended for want of memory, and not when it was done.
func (w *Window) killed() bool { return w.Ended && w.OOMKills > 0 }

const (
	// grownBy is by what share of its peak a young pod's memory has to grow in a
	// window for it to be taken to grow further.
	grownBy = .1
	// young is the weight of a pod below which it is. Of an older one, what it takes is
	// what there is to say, be it that it grows for ever.
	young = .5
)

// growing reports whether the pod's memory would have grown on after the window, given
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
