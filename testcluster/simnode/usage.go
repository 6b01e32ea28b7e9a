package simnode

import (
	"time"

	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// PodUsage reads what the pods of a [Node] take, as telemetry.PodUsage reads it from the cgroups of a
// machine: at an age of 1, 2 and 5 s, then every 10 s, and once when a pod has ended. It leaves out
// idle pods, which take nothing, and pods that are deleted. It is safe for concurrent use.
type PodUsage struct{ node *Node }

// Usage returns the reader of the node's pods. A node has one: what one reader has read of the pods
// that ended is not there for another.
func (n *Node) Usage() *PodUsage {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.model.measured = true
	return &PodUsage{n}
}

// Observe does nothing: a node knows its pods.
func (*PodUsage) Observe(time.Time, []telemetry.Pod) {}

// ReadTo reads into dst the pods that are due. It never fails.
func (u *PodUsage) ReadTo(dst *telemetry.Usage, at time.Time) error {
	u.node.mu.Lock()
	defer u.node.mu.Unlock()
	u.node.advance(at)
	dst.At, dst.Failed, dst.Untracked = at, dst.Failed[:0], 0
	dst.Pods = u.node.model.readTo(dst.Pods[:0])
	return nil
}

// life is how far the readings of a running pod are.
type life struct {
	began time.Time
	due   time.Duration // the age at which it is read next
}

// readingAges are the ages of a pod's first readings; readingPeriod is the time between later ones.
var readingAges = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}

const readingPeriod = 10 * time.Second

// nextReading returns the age at which a pod of some age is read next.
func nextReading(age time.Duration) time.Duration {
	for _, next := range readingAges {
		if next > age {
			return next
		}
	}
	return (age/readingPeriod + 1) * readingPeriod
}

// readTo appends the readings of the pods that have ended since the last call, and of the running
// pods that are due.
func (m *model) readTo(dst []telemetry.PodReading) []telemetry.PodReading {
	dst = append(dst, m.ended...)
	m.ended = m.ended[:0]
	m.running = m.Model.Running(m.running[:0])
	for _, id := range m.running {
		if l := m.lives[id]; m.Now().Sub(l.began) >= l.due {
			r := m.reading(id, m.Now())
			dst, l.due = append(dst, r), nextReading(r.Age)
		}
	}
	return dst
}

// end keeps the last reading of a pod that has just ended.
func (m *model) end(t node.Transition) {
	if !m.measured {
		return
	}
	r := m.reading(t.Pod, m.wall(t.At))
	if r.Ended = true; t.Phase == Failed {
		r.OOMKills = 1
	}
	m.ended = append(m.ended, r)
}

// reading returns what a pod has taken by a time that the model has reached.
func (m *model) reading(id node.PodID, at time.Time) telemetry.PodReading {
	used, _ := m.Usage(id) // the pod runs, or ended in the last advance
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return telemetry.PodReading{
		UID: m.uids[id], Age: at.Sub(m.lives[id].began),
		CPU: seconds(used.CPU), Stalled: seconds(used.Stalled), Pressure: true,
		Memory: uint64(used.Memory), MemoryPeak: uint64(used.Peak),
	}
}
