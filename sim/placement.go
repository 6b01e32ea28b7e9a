package sim

import (
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/placement"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// demandClass is what is known of the pods of a class, which are those of one workload, and what
// they ask of a node.
type demandClass struct {
	known profile.Demand
	asks  reserve.Demand
	trust placement.Trust
}

// isKnown reports whether pods are counted at what is known of them.
func (c *demandClass) isKnown() bool {
	return c.known.CPU.Confidence > 0 || c.known.Memory.Confidence > 0
}

// startPlacement makes the queue of pods that need a node, with all pods and nodes.
func (s *spazio) startPlacement() {
	var c placement.Config
	if !s.options.Overdue.Off {
		c.MaxWait = s.options.Overdue.WithDefaults().MaxWait
	}
	if s.lives != nil {
		c.Delay = s.delay
		s.c.queue.key = s.lives.key
	}
	s.placement = placement.New(c, rooms{s})
	for i := range s.c.nodes {
		s.placement.AddNode(i)
	}
	for i := range s.c.pods {
		s.addPod(int32(i))
	}
	s.classes = []demandClass{{asks: reserve.TypicalPod()}}
	if s.profiler != nil {
		for range s.profiler.workloads {
			s.classes = append(s.classes, demandClass{asks: reserve.TypicalPod()})
		}
	}
}

// addPod adds a pod that needs a node; of those that wait the lowest number goes first, or with the
// shortest first that which counts as created first.
func (s *spazio) addPod(pod int32) {
	order := int64(pod)
	if s.lives != nil {
		order = int64(elapsed(s.lives.created[pod]))
	}
	s.placement.AddPod(int(pod), placement.Pod{Workload: s.workload(pod), Order: order})
}

// resubmit adds a pod that was killed and will come back as a new one.
func (s *spazio) resubmit(pod int32) {
	if s.lives != nil {
		s.lives.created[pod] = s.c.now
	}
	s.addPod(pod)
}

// workload is the number of a pod's workload, which is that of its class once it is known. All pods
// of which nothing can be learnt are of workload 0.
func (s *spazio) workload(pod int32) int {
	switch {
	case s.profiler != nil:
		return 1 + int(s.profiler.of[pod])
	case s.lives != nil:
		return 1 + int(s.lives.workload[pod])
	}
	return 0
}

// classOf is the class that a pod is of.
func (s *spazio) classOf(pod int32) int { return s.placement.Class(s.workload(pod)) }

// rooms is what a queue asks of nodes.
type rooms struct{ *spazio }

// Slots implements placement.Rooms. No slots are kept for pods here.
func (r rooms) Slots(node, class int, _ []int) int {
	a := &r.agents[node]
	return r.options.Freshness.Slots(a.validity, r.moment(), a.signal, a.account.Flight(), r.asks(a, class), r.rules)
}

// Places implements placement.Rooms.
func (r rooms) Places(node, class int) int {
	a := &r.agents[node]
	if !a.validity.Fresh(r.now()) {
		return 0
	}
	return r.options.Overdue.Places(a.signal, a.account.Flight(), r.asks(a, class), a.account.Overdue(), a.cores, r.rules)
}

// activate has the pods tried that the queue has woken.
func (s *spazio) activate() {
	for _, pod := range s.placement.Woken() {
		s.c.queue.activate(int32(pod))
	}
}

// denyRoom notes that a node refused a pod for want of room.
func (s *spazio) denyRoom(pod int32) {
	if s.placement.StartWait(int(pod), s.now()) {
		s.c.agenda.add(event{at: s.c.now + s.options.Overdue.WithDefaults().MaxWait.Seconds(), kind: overdue, pod: pod})
	}
}

// wakeOverdue wakes pods that may have become overdue.
func (s *spazio) wakeOverdue() {
	s.placement.Advance(s.now() + time.Nanosecond) // to which times of events are rounded
	s.activate()
}

// asks is what a pod of a class asks of a node.
func (s *spazio) asks(a *spazioAgent, class int) reserve.Demand {
	if s.options.Profiles.Scalar && class != placement.Typical {
		return scalarDemand(&a.signal, s.classes[class].known)
	}
	return s.classes[class].asks
}

// scalarDemand is as many typical pods as the largest part of a pod is.
func scalarDemand(s *reserve.Signal, d profile.Demand) reserve.Demand {
	pods := 0.
	for i, share := range [reserve.Resources]profile.Share{reserve.CPU: d.CPU, reserve.Memory: d.Memory} {
		if room := &s.Rooms[i]; room.Cost > 0 {
			pods = math.Max(pods, share.Confidence*room.Unit*share.Amount/room.Cost+1-share.Confidence)
		}
	}
	if !(pods > 0) {
		return reserve.TypicalPod()
	}
	return reserve.Demand{Typical: [reserve.Resources]float64{pods, pods}}
}

// learn takes what became known of a workload.
func (s *spazio) learn(workload int32, p estimate) {
	class := 1 + int(workload)
	if !s.classes[class].trust.IsDistrusted(elapsed(p.at)) {
		s.updateDemand(class, p.Demand)
	}
}

// updateDemand has a workload's pods counted at what is known of them, those in flight too.
func (s *spazio) updateDemand(class int, d profile.Demand) {
	c := &s.classes[class]
	c.known, c.asks = d, agent.DemandOf(d, s.rules)
	s.placement.AddClass(class)
	if c.isKnown() {
		s.placement.SetClass(class, class)
	} else {
		s.placement.SetClass(class, placement.Typical)
	}
	if !s.options.Profiles.Snapshot {
		for _, pod := range s.profiler.workloads[class-1].pods {
			s.updateInFlight(pod, class)
		}
	}
	if c.isKnown() {
		s.placement.Recount(class, s.now())
		s.activate()
	}
}

// updateInFlight has a pod that is on its way to a node counted at what its workload asks.
func (s *spazio) updateInFlight(pod int32, class int) {
	r := &s.c.records[pod]
	if r.Node < 0 || r.Done >= 0 {
		return
	}
	a := &s.agents[r.Node]
	asks := reserve.TypicalPod()
	if s.classes[class].isKnown() {
		asks = s.asks(a, class)
	}
	_, changed, err := s.ledger.UpdateDemand(s.c.key(pod), s.withCores(asks, pod))
	s.c.fail(err)
	if changed {
		s.refresh(r.Node)
	}
}

// mispredicted notes that pods were measured to take something else than was predicted. A profile that
// enough of them contradict, as it is now, is dropped until something newer is observed.
func (s *spazio) mispredicted(node int32, of []agent.Misprediction) {
	if s.options.Profiles.AlwaysTrusted {
		return
	}
	for _, misprediction := range of {
		pod := podOf(misprediction.Pod)
		class := s.classOf(pod)
		if class == placement.Typical || !misprediction.Contradicts(s.predicted[pod], s.classes[class].known) {
			continue
		}
		if s.classes[class].trust.AddOutlier(int(node), s.now()) {
			s.updateDemand(class, profile.Demand{})
		}
	}
}

// rank is the room that a node is ranked by for a pod, in typical pods.
func (s *spazio) rank(a *spazioAgent, pod int32) float64 {
	return a.view.Rank(s.asks(a, s.classOf(pod)))
}
