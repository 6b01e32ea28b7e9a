package node

import "slices"

// Usage is what a pod's own containers have taken since the first of them began to
// run, as its cgroup shows it: CPU time in core-seconds, the seconds in which one of its
// threads waited for a core, and the bytes that it holds and the most it ever held. Of
// a pod with a limit Periods are those in which it had a thread to run, in
// ThrottledPeriods of which, for Throttled seconds, its limit held it up: these count as
// waited, as the kernel's do.
type Usage struct {
	CPU, Stalled, Memory, Peak float64
	Throttled                  float64
	Periods, ThrottledPeriods  uint64
}

// endedPod is a pod that is no more, and what it took.
type endedPod struct {
	id    PodID
	usage Usage
}

// Usage returns what a pod has taken so far that runs or restarts, or one that has ended
// during the last call of AdvanceTo; ok is false for others. What init containers take is
// not in it.
func (m *Model) Usage(id PodID) (u Usage, ok bool) {
	if i := m.find(id); i >= 0 && (m.containers[i].phase == Running || m.containers[i].backoff > 0) {
		return m.containers[i].usage(), true
	}
	if i := slices.IndexFunc(m.ended, func(e endedPod) bool { return e.id == id }); i >= 0 {
		return m.ended[i].usage, true
	}
	return Usage{}, false
}

// usage of a pod's threads, which all wait at the same times: that is when some do.
func (c *container) usage() Usage {
	u := Usage{Memory: c.held, Peak: max(c.held, c.past.Peak), CPU: c.past.CPU, Stalled: c.past.Stalled}
	if q := c.quota; q != nil {
		u.CPU, u.Stalled = q.cpu, q.stalled
		u.Throttled, u.Periods, u.ThrottledPeriods = q.throttled, q.periods, q.throttledPeriods
		return u
	}
	if c.class != nil && c.class.kind == working {
		u.CPU += float64(c.Threads) * (c.class.used - c.before.CPU)
		u.Stalled += c.class.waited - c.before.Stalled
	}
	return u
}

// usage is that of the thread's pod, if it has one.
func (t *thread) usage() Usage {
	if t.pod == nil {
		return Usage{}
	}
	return t.pod.usage()
}
