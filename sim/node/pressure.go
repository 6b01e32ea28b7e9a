package node

import (
	"cmp"
	"errors"
	"math"
)

// EvictionThreshold is the available memory in bytes below which a kubelet evicts pods,
// its default evictionHard.
const EvictionThreshold = 100 << 20

// The times of a kubelet in seconds, its defaults: from one look at the memory to the next
// and, after an eviction, to that which follows; how long MemoryPressure outlasts the last
// look that found memory short; and from one report of the node's status to the next.
const (
	evictionPeriod = 10
	cleanupPeriod  = 1
	pressurePeriod = 300
	statusPeriod   = 10
)

// The back-off of a container in seconds: its delay before the second restart (the first
// has none), its longest delay, and the run time after which it restarts without delay.
const (
	firstRestartDelay = 10
	lastRestartDelay  = 300
	backoffReset      = 600
)

// ErrPressure refuses a pod of the class BestEffort on a node that is short of memory.
var ErrPressure = errors.New("node: memory pressure")

// QOSClass is a pod's quality of service, as Kubernetes derives it from what it declares.
type QOSClass uint8

const (
	// BestEffort pods declare nothing.
	BestEffort QOSClass = iota
	// Burstable pods declare something.
	Burstable
	// Guaranteed pods have limits of both resources and request as much.
	Guaranteed
)

// kubelet is what the kubelet knows of its node's memory.
type kubelet struct {
	check, status float64 // when it looks at the memory and reports next
	short         float64 // when it found memory short last
	pressure      bool
	reported      bool // MemoryPressure, in the last status
}

// startKubelet has the kubelet look and report at moments that follow from the seed.
func (m *Model) startKubelet() {
	m.kubelet = kubelet{check: math.Inf(1), status: math.Inf(1)}
	if m.params.Overcommit == Evict {
		m.kubelet.check = evictionPeriod * uniform(m.params.Seed, 1<<62)
		m.kubelet.status = statusPeriod * uniform(m.params.Seed, 1<<62+1)
	}
}

// MemoryPressure reports whether the node's last status has the condition of that name.
func (m *Model) MemoryPressure() bool { return m.kubelet.reported }

// isShort reports whether less memory is available than the kubelet tolerates.
func (m *Model) isShort() bool { return m.params.Memory-m.used < EvictionThreshold }

// nextCheck is when the kubelet may change something.
func (m *Model) nextCheck() float64 {
	next := math.Inf(1)
	if m.kubelet.pressure || m.isShort() {
		next = m.kubelet.check
	}
	if m.kubelet.pressure != m.kubelet.reported {
		next = min(next, m.kubelet.status)
	}
	return next
}

// checkMemory has the kubelet do what is due: evict one pod if memory is short, and report
// the node's status.
func (m *Model) checkMemory(dst []Transition) []Transition {
	k := &m.kubelet
	if k.check <= m.now+settled {
		k.check += evictionPeriod
		if m.isShort() {
			k.short, k.pressure = m.now, true
			if victim := m.worst(evictedBefore); victim != nil {
				dst = m.lose(dst, victim, Evicted)
				m.schedule()
				k.check = m.now + cleanupPeriod
			}
		} else if m.now-k.short >= pressurePeriod-settled {
			k.pressure = false
		}
	}
	if k.status <= m.now+settled {
		k.status += statusPeriod
		k.reported = k.pressure
	}
	return dst
}

// worst returns the running pod that comes before all others, the younger of two that are
// alike, and nil where no pod runs.
func (m *Model) worst(before func(a, b *container, memory float64) int) *container {
	var worst *container
	for _, c := range m.containers {
		if c.phase == Running && (worst == nil || before(c, worst, m.params.Memory) <= 0) {
			worst = c
		}
	}
	return worst
}

// heldBefore orders pods by the memory that they hold, the most first.
func heldBefore(a, b *container, _ float64) int { return cmp.Compare(b.held, a.held) }

// killedBefore orders pods as the kernel's OOM killer does: by the memory held plus the
// share of the node's that oom_score_adj stands for, the most first.
func killedBefore(a, b *container, memory float64) int {
	score := func(c *container) float64 {
		return c.held + float64(oomScoreAdj(c.QOS, c.MemoryRequest, memory))/1000*memory
	}
	return cmp.Compare(score(b), score(a))
}

// oomScoreAdj is what the kubelet writes for the containers of a pod, in thousandths of the
// node's memory.
func oomScoreAdj(class QOSClass, request, memory float64) int {
	switch class {
	case BestEffort:
		return 1000
	case Guaranteed:
		return -997
	}
	return min(max(1000-int(1000*request/memory), 1000-997), 1000-1)
}

// evictedBefore orders pods as the kubelet ranks them: those that hold more than they
// request first, then those of the lowest priority, then those that hold most beyond their
// request.
func evictedBefore(a, b *container, _ float64) int {
	beyond := func(c *container) float64 { return c.held - c.MemoryRequest }
	exceeds := func(c *container) int {
		if beyond(c) > 0 {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(exceeds(b), exceeds(a)),
		cmp.Compare(a.Priority, b.Priority),
		cmp.Compare(beyond(b), beyond(a)),
	)
}

// restart has a container that was killed start again on the node after its back-off.
func (m *Model) restart(dst []Transition, c *container) []Transition {
	c.past = c.usage()
	m.takeThreads(c)
	delay := 0.
	delay, c.backoff = restartBackoff(c.backoff, m.now-c.runAt)
	c.phase, c.class, c.held = Restarting, nil, 0
	c.grows, c.nextRequest = math.Inf(1), math.Inf(1)
	c.stages.end, c.stages.done = math.Inf(1), 0
	c.spikeAt = m.now + delay
	c.runAt = c.spikeAt + m.params.StartWork.Seconds()
	m.await(c)
	m.used = m.memory()
	return append(dst, Transition{m.now, c.ID, Restarting})
}

// restartBackoff returns the delay before a restart of a container that ran for so many
// seconds, and the delay before the next; before is what it returned last, 0 at first.
func restartBackoff(before, ran float64) (delay, next float64) {
	if before == 0 || ran > backoffReset {
		return 0, firstRestartDelay
	}
	return before, min(2*before, lastRestartDelay)
}
