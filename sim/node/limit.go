package node

import (
	"fmt"
	"math"
)

// quotaPeriod is the kernel's default cpu.cfs_period_us, which the kubelet leaves as
// it is, in seconds.
const quotaPeriod = .1

// quota is what a CPU limit leaves a pod, as the kernel's bandwidth control has it: in
// each period so many core-seconds, and nothing for the rest of it when they are used.
// A period counts if a thread of the pod was there to run in it.
type quota struct {
	limit float64 // cores
	left  float64 // core-seconds, of the period
	ends  float64 // the period
	held  bool    // up, until then

	throttling
	cpu, stalled float64 // since the pod began
}

// throttling holds the counters of a limit in cpu.stat.
type throttling struct {
	periods, throttledPeriods uint64
	throttled                 float64 // seconds
}

// unlimited is a quota's left where the limit is all cores or more.
const unlimited = math.MaxFloat64

// refill begins the period of a time, if the one before has ended.
func (q *quota) refill(now, cores float64) {
	if now < q.ends-settled {
		return
	}
	q.ends = (math.Floor(now/quotaPeriod+1e-6) + 1) * quotaPeriod
	q.left, q.held = q.limit*quotaPeriod, false
	if q.limit >= cores {
		q.left = unlimited
	}
	q.periods++
}

// next is when the quota is used or filled again.
func (q *quota) next(now float64, c *class) float64 {
	if q.held || q.left == unlimited {
		return q.ends
	}
	return min(q.ends, now+q.left/(c.uses*float64(len(c.threads))))
}

// run lets the pod's threads, of a class of their own, work for step seconds.
func (q *quota) run(c *class, step float64) {
	used := c.uses * float64(len(c.threads)) * step
	q.cpu += used
	q.stalled += min(c.waits, 1) * step
	if q.held {
		q.throttled += step
	}
	if q.left != unlimited {
		q.left -= used
	}
}

// settle holds the pod up whose quota is used, and lets it go on in the next period.
func (q *quota) settle(now, cores float64) {
	if now >= q.ends-settled {
		q.refill(now, cores)
	}
	if !q.held && q.left <= settled {
		q.held = true
		q.throttledPeriods++
	}
}

// Resize sets the CPU limit of a pod that is there and has one from now on, in cores:
// as of the next period. A pod without, a limit that is none, or no such pod is
// ErrBadPod.
func (m *Model) Resize(id PodID, limit float64) error {
	i := m.find(id)
	if i < 0 || m.containers[i].quota == nil {
		return fmt.Errorf("%w: %d has no limit to change", ErrBadPod, id)
	}
	if !(limit > 0) || !finite(limit) {
		return fmt.Errorf("%w: limit %v", ErrBadPod, limit)
	}
	m.containers[i].quota.limit = limit
	return nil
}
