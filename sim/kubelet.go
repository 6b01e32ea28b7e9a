package sim

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// backoffLimit is a Job's default: it gives up when its pod has restarted so often, or
// when more of its pods have failed.
const backoffLimit = 6

// restartDelay is the time in seconds after which a Job whose pods failed so many times makes
// another: ten seconds, twice as long each time, at most six minutes.
func restartDelay(failed int) float64 {
	return math.Min(10*math.Exp2(float64(failed-1)), 360)
}

// isService reports whether a pod is one of a Deployment, which replaces it at once: a server that the
// scheduler places.
func (s *cluster) isService(pod int32) bool {
	return s.pods[pod].Server.Rate > 0 && s.pods[pod].On == 0
}

// qosOf is the class of a pod that declares so much.
func qosOf(request, limit baseline.Resources) node.QOSClass {
	none := baseline.Resources{}
	switch {
	case request == none && limit == none:
		return node.BestEffort
	case request == limit && limit.CPU > 0 && limit.Memory > 0:
		return node.Guaranteed
	}
	return node.Burstable
}

// bind has the kubelet start a pod from a time on, which it refuses under memory pressure.
func (s *cluster) bind(m *machine, pod int32, at float64) {
	p, claim := &s.pods[pod], &s.claims[pod]
	server := p.Server
	if s.replicas[pod] != nil {
		server.Rate = 0 // until it has its share
	}
	var seed uint64
	if p.isServer() { // its requests are the same wherever it runs
		seed = rand.NewPCG(s.Seed, streamRequests+uint64(s.lives[pod])<<32).Uint64()
	}
	err := m.model.Bind(at, node.Pod{
		ID: node.PodID(pod), Work: p.Work, Cores: p.Cores, Threads: p.Threads, Weight: claim.weight,
		Memory: p.Memory, Ramp: p.Ramp, QOS: claim.qos, MemoryRequest: claim.request.Memory,
		Startup: p.Startup, Init: p.Init, Server: server, Seed: seed, Stages: p.Phases,
	})
	if errors.Is(err, node.ErrPressure) {
		s.records[pod].Evictions++
		s.lose(m, pod, s.now+2*s.Latency)
		return
	}
	s.fail(err)
}

// lose takes a pod off its node that failed there, as the API shows from a time on: its Job
// makes another or gives up.
func (s *cluster) lose(m *machine, pod int32, shown float64) {
	r := &s.records[pod]
	r.Running, r.Bound, r.Node = -1, -1, -1
	if replica := s.replicas[pod]; replica != nil {
		replica.lost = true
	}
	if s.Node.Overcommit == node.Evict && s.lives[pod] >= backoffLimit && s.pods[pod].Server.Rate == 0 {
		s.giveUp(m, pod, shown)
		return
	}
	s.agenda.add(event{at: shown, kind: failed, node: m.index, pod: pod})
}

// giveUp ends a pod for ever whose Job has failed.
func (s *cluster) giveUp(m *machine, pod int32, shown float64) {
	r := &s.records[pod]
	r.Running, r.Bound, r.Node, r.GaveUp = -1, -1, -1, true
	s.unfinished--
	s.lastGaveUp = s.now - s.Warmup
	s.agenda.add(event{at: shown, kind: ended, node: m.index, pod: pod})
}

// restarting counts a kill of a pod that restarts on its node, unless its Job gives up.
func (s *cluster) restarting(m *machine, t node.Transition) {
	pod := int32(t.Pod)
	if s.restarts[pod]++; s.restarts[pod] < backoffLimit || s.pods[pod].Server.Rate > 0 {
		return
	}
	s.policy.phase(m, node.Transition{At: t.At, Pod: t.Pod, Phase: node.Evicted})
	m.model.Kill(t.Pod)
	s.giveUp(m, pod, s.now+s.Latency)
}

// notePressure has the taint of MemoryPressure follow the node's status, for which it takes
// the way from the kubelet to the API, from there to the controller and back, and to the
// scheduler.
func (s *cluster) notePressure(m *machine) {
	if pressure := m.model.MemoryPressure(); pressure != m.pressure {
		m.pressure = pressure
		s.agenda.add(event{at: s.now + 4*s.Latency, kind: tainted, node: m.index})
	}
}

// taint has the scheduler see the taint of MemoryPressure or its end, by which BestEffort
// pods may go to the node again.
func (s *cluster) taint(m *machine) {
	if m.tainted = m.pressure; m.tainted {
		return
	}
	s.policy.untainted(m)
	if !s.policy.wakes() {
		s.queue.shake(s.now)
	}
}

// tolerates reports whether a pod may go to the node for all that its taint says.
func (s *cluster) tolerates(m *machine, pod int32) bool {
	return !m.tainted || s.claims[pod].qos != node.BestEffort
}
