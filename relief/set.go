package relief

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
)

// candidate is a pod that may be evicted.
type candidate struct {
	pod    int // in the node's Pods
	target int
	// size is its demand in typical pods.
	size float64
}

// choose fills in the decision for an overcommitted node.
func (p *Planner) choose(now time.Time, n *Node, h *history, nodes []Node, views []reserve.View, allowed func(*Pod, string) bool, d *Decision) {
	own := reserve.NewView(n.Signal, reserve.Flight{}, p.options.Rules)
	d.Pods = make([]PodDecision, len(n.Pods))
	var candidates []candidate
	for i := range n.Pods {
		pod := &n.Pods[i]
		c := candidate{pod: i, target: -1}
		reason := p.judge(now, pod)
		if reason == NotNeeded {
			if c.target = p.target(pod, n.Name, nodes, views, allowed); c.target < 0 {
				reason = NoTarget
			}
		}
		d.Pods[i] = PodDecision{pod.Key, reason}
		if reason == NotNeeded {
			c.size = sizeOn(&own, pod.Demand)
			candidates = append(candidates, c)
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		x, y := &n.Pods[a.pod], &n.Pods[b.pod]
		return cmp.Or(compareRank(x, y), cmp.Compare(b.size, a.size), cmp.Compare(x.Key, y.Key))
	})
	set := p.smallest(n, candidates, maxEvictions-h.evictions, math.Max(-d.Room, p.options.Tolerance))
	if len(set) == 0 {
		d.Reason = NoSet
		return
	}
	for i, at := range set {
		reason := Next
		if i == 0 {
			reason = Evict
		}
		d.Pods[candidates[at].pod].Reason = reason
	}
	first := candidates[set[0]]
	d.Pod, d.Target = n.Pods[first.pod], nodes[first.target].Name
}

// judge returns NotNeeded for a pod that may be evicted if a node has room for it.
func (p *Planner) judge(now time.Time, pod *Pod) Reason {
	_, moved := p.moved[pod.Key]
	switch {
	case !pod.Evictable:
		return NotEvictable
	case pod.Running.IsZero() || now.Sub(pod.Running) < p.options.MinAge:
		return TooYoung
	case moved:
		return Moved
	case pod.Demand.Validate() != nil:
		return UnknownDemand
	}
	return NotNeeded
}

// compareRank orders pods by what their eviction costs others.
func compareRank(a, b *Pod) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.DeletionCost, b.DeletionCost))
}

// sizeOn returns what a pod takes of a node, in typical pods there, of the resource of which it takes
// most.
func sizeOn(v *reserve.View, d reserve.Demand) float64 {
	if shares, _, ok := v.Shares(d); ok {
		return slices.Max(shares[:])
	}
	return d.Pods()
}

// smallest returns the indices of the best set of at most most candidates, which are sorted, whose
// end gives back so many typical pods of room; nil if there is none. Of two sets the better one
// has, in this order, the lower rank of its highest pod, fewer pods, a smaller sum of sizes, and
// the earlier pods.
func (p *Planner) smallest(n *Node, candidates []candidate, most int, needed float64) []int {
	s := search{planner: p, node: n, candidates: candidates, needed: needed, before: p.room(n)}
	for end := 0; end < len(candidates); {
		begin := end
		for end < len(candidates) && compareRank(&n.Pods[candidates[begin].pod], &n.Pods[candidates[end].pod]) == 0 {
			end++
		}
		for size := 1; size <= most; size++ {
			s.best, s.bestSum = nil, math.Inf(1)
			s.extend(nil, 0, 0, begin, end, size, reserve.Flight{})
			if s.best != nil {
				return s.best
			}
		}
	}
	return nil
}

// search looks for the best set of one size.
type search struct {
	planner        *Planner
	node           *Node
	candidates     []candidate
	needed, before float64
	best           []int
	bestSum        float64
}

// extend adds pods from first on, up to end, to a set. One of them at least is of rank begin or later,
// because sets without were looked at before.
func (s *search) extend(set []int, sum float64, first, begin, end, missing int, flight reserve.Flight) {
	if missing == 0 {
		if sum < s.bestSum && s.suffices(flight) {
			s.best, s.bestSum = slices.Clone(set), sum
		}
		return
	}
	if missing == 1 && (len(set) == 0 || set[len(set)-1] < begin) {
		first = max(first, begin)
	}
	for i := first; i <= end-missing; i++ {
		c := &s.candidates[i]
		s.extend(append(set, i), sum+c.size, i+1, begin, end, missing-1, flight.With(-1, s.node.Pods[c.pod].Demand))
	}
}

// suffices reports whether the node has the needed room without the pods of a flight that is negative.
func (s *search) suffices(flight reserve.Flight) bool {
	v := reserve.NewView(s.node.Signal, flight, s.planner.options.Rules)
	return v.Rank(reserve.TypicalPod())-s.before >= s.needed-1e-9
}
