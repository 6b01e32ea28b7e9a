package sim

import (
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// attempt begins the scheduler's next attempt if it is idle.
func (s *cluster) attempt() {
	if s.busy {
		return
	}
	pod, ok := s.queue.pop(s.now)
	if !ok {
		return
	}
	s.busy = true
	s.agenda.add(event{at: s.now + attemptTime(s.Nodes), kind: decided, pod: pod})
}

// decide ends an attempt.
func (s *cluster) decide(pod int32) {
	if replica := s.replicas[pod]; replica != nil && replica.absent {
		return // deleted meanwhile
	}
	r := &s.records[pod]
	r.Attempts++
	if m := s.choose(pod); m != nil {
		s.place(pod, m)
		return
	}
	s.refusals[pod]++
	s.queue.refuse(pod, int(s.refusals[pod]), s.now)
	s.policy.refused(pod)
}

// choose filters and scores as kube-scheduler does and returns nil where no node
// fits.
func (s *cluster) choose(pod int32) *machine {
	want := len(s.nodes)
	if !s.policy.everyNode() {
		want = nodesToFind(len(s.nodes))
	}
	s.feasible = s.feasible[:0]
	seen := 0
	for ; seen < len(s.nodes) && len(s.feasible) < want; seen++ {
		m := s.nodes[(s.looked+seen)%len(s.nodes)]
		if s.fits(m, pod) && s.policy.Admits(int(m.index), int(pod)) {
			s.feasible = append(s.feasible, int(m.index))
		}
	}
	s.looked = (s.looked + seen) % len(s.nodes)
	if len(s.feasible) == 0 {
		return nil
	}
	s.scores = slices.Grow(s.scores[:0], len(s.feasible))[:len(s.feasible)]
	s.policy.Score(s.scores, s.feasible, int(pod))
	best, tied := 0, 1
	for i := 1; i < len(s.scores); i++ {
		switch {
		case s.scores[i] > s.scores[best]:
			best, tied = i, 1
		case s.scores[i] == s.scores[best]:
			if tied++; s.ties.IntN(tied) == 0 {
				best = i
			}
		}
	}
	return s.nodes[s.feasible[best]]
}

// nodesToFind is kube-scheduler's: among 100 nodes and more it is content with a
// share of feasible ones, 50 % less one for every 125 nodes, at least 5 %.
func nodesToFind(nodes int) int {
	const least = 100
	if nodes < least {
		return nodes
	}
	return max(least, nodes*max(50-nodes/125, 5)/100)
}

// fits is what kube-scheduler checks for every profile.
func (s *cluster) fits(m *machine, pod int32) bool {
	if len(m.assigned) >= s.MaxPods || !s.tolerates(m, pod) {
		return false
	}
	request, allocatable := &s.claims[pod].request, &m.allocatable
	return (request.CPU == 0 || m.requested.CPU+request.CPU <= allocatable.CPU+1e-9) &&
		(request.Memory == 0 || m.requested.Memory+request.Memory <= allocatable.Memory)
}

// place assumes the pod on the node and binds it.
func (s *cluster) place(pod int32, m *machine) {
	m.assigned = append(m.assigned, pod)
	m.count(&s.claims[pod])
	s.records[pod].Node, s.records[pod].Bound = int(m.index), s.now-s.Warmup
	s.policy.bound(m, pod)
	s.agenda.add(event{at: s.now + s.Latency, kind: announced, node: m.index, pod: pod})
}

// claim is what a pod declares.
type claim struct {
	request baseline.Resources
	nonzero baseline.Resources // as kube-scheduler scores it
	limit   baseline.Resources // at least the request
	weight  float64            // its share of full cores
	qos     node.QOSClass
}

func claimOf(p *Pod) claim {
	request := p.request()
	return claim{request, baseline.NonZero(request), p.Limit.Max(request), p.weight(), qosOf(request, p.Limit)}
}

// count adds what a pod declares.
func (m *machine) count(c *claim) {
	m.requested = m.requested.Plus(c.request)
	m.nonzero = m.nonzero.Plus(c.nonzero)
	m.limits = m.limits.Plus(c.limit)
}

// announce has the kubelet start a pod whose bind the API has.
func (s *cluster) announce(m *machine, pod int32) {
	seen := s.now + s.Latency
	at := math.Max(seen, m.starts)
	m.starts = at + 1/s.KubeletRate
	s.advance(m)
	s.bind(m, pod, at)
	s.schedule(m)
	s.policy.announced(m, pod)
}

// forget takes a pod that ended off the scheduler's books, which is an event
// that may make room for others.
func (s *cluster) forget(m *machine, pod int32) {
	if i := slices.Index(m.assigned, pod); i >= 0 {
		m.assigned = slices.Delete(m.assigned, i, i+1)
	}
	// Summed anew, for differences of floats drift.
	m.requested, m.nonzero, m.limits = baseline.Resources{}, baseline.Resources{}, baseline.Resources{}
	for _, other := range m.assigned {
		m.count(&s.claims[other])
	}
	s.policy.gone(m, pod)
	if s.policy.wakes() {
		return
	}
	s.queue.shake(s.now)
}
