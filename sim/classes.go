package sim

import (
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// class is a kind of pods that are expected to take the same: all those of which nothing
// is known, or those of one workload. What is free is counted, and pods are woken, by
// class.
type class struct {
	known profile.Demand
	asks  reserve.Demand
	// left are the pods that have no node yet, of those of a workload.
	left int
	// slots are those of each node, total their sum.
	slots []int
	total int
	rose  int // the epoch of the queue when total rose last

	doubts     []doubt
	distrusted float64 // when the scheduler ceased to believe the profile
}

// doubt is a node that was surprised by a pod.
type doubt struct {
	node int32
	at   float64
}

// Nodes surprised within so many seconds that make the scheduler drop a profile.
const (
	mostDoubts  = 3
	doubtsSpan  = 600
	typicalPods = 0 // the class of those of which nothing is known
)

func newClasses(p *profiler, nodes int) []class {
	classes := []class{{asks: reserve.TypicalPod()}}
	if p != nil {
		classes = append(classes, make([]class, len(p.workloads))...)
		for n := range p.workloads {
			classes[1+n].left = len(p.workloads[n].pods)
		}
	}
	for k := range classes {
		classes[k].asks, classes[k].distrusted = reserve.TypicalPod(), math.Inf(-1)
		classes[k].slots = make([]int, nodes)
	}
	return classes
}

// believed says whether pods are counted at what is known of them.
func (k *class) believed() bool {
	return k.known.CPU.Confidence > 0 || k.known.Memory.Confidence > 0
}

// classOf is a pod's.
func (s *spazio) classOf(pod int32) int {
	if s.profiler == nil || s.profiler.of[pod] < 0 {
		return typicalPods
	}
	if k := 1 + int(s.profiler.of[pod]); s.classes[k].believed() {
		return k
	}
	return typicalPods
}

// asks is what a pod of a class asks of a node.
func (s *spazio) asks(a *spazioAgent, k int) reserve.Demand {
	if s.options.Profiles.Scalar && k != typicalPods {
		return scalarDemand(&a.signal, s.classes[k].known)
	}
	return s.classes[k].asks
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

// count brings the slots of a node for a class up to date and wakes pods of it for those
// that it gained.
func (s *spazio) count(node int, k int) {
	a, c := &s.agents[node], &s.classes[k]
	slots := s.options.Freshness.Slots(a.validity, s.moment(), a.signal, a.account.Flight(), s.asks(a, k), s.rules)
	rise := slots - c.slots[node]
	c.total += rise
	c.slots[node] = slots
	if rise > 0 {
		s.rise(k, rise)
	}
}

// countKnown does so for all classes of which pods may wait, but the first.
func (s *spazio) countKnown(node int) {
	for _, k := range s.active {
		if c := &s.classes[k]; c.left > 0 && c.believed() {
			s.count(node, k)
		}
	}
}

func (s *spazio) rise(k, slots int) {
	s.c.queue.epoch++
	s.classes[k].rose = s.c.queue.epoch
	s.wake(k, slots)
}

func (s *spazio) wake(k, pods int) int {
	return s.c.queue.wake(pods, s.classes[k].rose, func(pod int32) bool { return s.classOf(pod) == k })
}

// roomy yields the classes that a node has room for, in the order in which they became
// known.
func (s *spazio) roomy(yield func(k int) bool) {
	if s.classes[typicalPods].total > 0 && !yield(typicalPods) {
		return
	}
	for _, k := range s.active {
		if c := &s.classes[k]; c.total > 0 && c.left > 0 && c.believed() && !yield(k) {
			return
		}
	}
}

// learn takes what became known of a workload.
func (s *spazio) learn(workload int32, p price) {
	k := 1 + int(workload)
	if c := &s.classes[k]; p.at <= c.distrusted {
		return
	}
	s.reprice(k, p.Demand)
}

// reprice has a workload's pods counted at what is known of them, those in flight too.
func (s *spazio) reprice(k int, d profile.Demand) {
	c := &s.classes[k]
	c.known, c.asks = d, agent.DemandOf(d, s.rules)
	if !slices.Contains(s.active, k) {
		s.active = append(s.active, k)
	}
	if !s.options.Profiles.Snapshot {
		for _, pod := range s.profiler.workloads[k-1].pods {
			s.repricePod(pod, k)
		}
	}
	if !c.believed() {
		return
	}
	for node := range s.agents { // pods that wait may be of this class from now on
		s.classes[k].total -= c.slots[node]
		c.slots[node] = 0
		s.count(node, k)
	}
}

func (s *spazio) repricePod(pod int32, k int) {
	r := &s.c.records[pod]
	if r.Node < 0 || r.Done >= 0 {
		return
	}
	a := &s.agents[r.Node]
	asks := reserve.TypicalPod()
	if s.classes[k].believed() {
		asks = s.asks(a, k)
	}
	_, changed, err := s.ledger.Reprice(s.c.key(pod), s.withCores(asks, pod))
	s.c.fail(err)
	if changed {
		s.refresh(r.Node)
	}
}

// surprised notes that pods were measured to take something else than was told. When
// enough nodes say so of a workload its profile is not believed until it says something
// newer.
func (s *spazio) surprised(node int32, of []agent.Surprise) {
	if s.options.Profiles.Believed {
		return
	}
	for _, surprise := range of {
		k := s.classOf(podOf(surprise.Pod))
		if k == typicalPods {
			continue
		}
		c := &s.classes[k]
		c.doubts = slices.DeleteFunc(c.doubts, func(d doubt) bool { return d.node == node || s.c.now-d.at >= doubtsSpan })
		c.doubts = append(c.doubts, doubt{node, s.c.now})
		if len(c.doubts) >= mostDoubts {
			c.doubts, c.distrusted = nil, s.c.now
			s.reprice(k, profile.Demand{})
		}
	}
}
