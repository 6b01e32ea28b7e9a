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
	// size is what its end gives back, in typical pods of the node.
	size float64
}

// choose fills in the decision for an overcommitted node.
func (p *Planner) choose(now time.Time, n *Node, nodes []Node, views []reserve.View, allowed func(*Pod, string) bool, d *Decision) {
	own := reserve.NewView(n.Signal, reserve.Flight{}, p.options.Rules)
	d.Pods = make([]PodDecision, len(n.Pods))
	var candidates []candidate
	for i := range n.Pods {
		pod := &n.Pods[i]
		c, reason := candidate{pod: i}, p.judge(now, pod)
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
		return cmp.Or(compareRank(x, y), cmp.Compare(b.size, a.size), y.Running.Compare(x.Running), cmp.Compare(x.Key, y.Key))
	})
	sameRank := func(i, j int) bool { return compareRank(&n.Pods[candidates[i].pod], &n.Pods[candidates[j].pod]) == 0 }
	h, needed := p.nodes[n.Name], math.Max(-d.Room, p.options.Tolerance)
	set := smallest(candidates, sameRank, maxEvictions-h.evictions, needed)
	if set == nil && h.evictions > 0 && smallest(candidates, sameRank, maxEvictions, needed) != nil {
		h.exhausted(now)
		d.Reason, d.Until, d.Pods = LeftAlone, h.until, nil
		return
	}
	if set == nil {
		d.Reason = NoSet
		return
	}
	for _, at := range set {
		d.Pods[candidates[at].pod].Reason = Next
	}
	first := candidates[set[0]]
	d.Pods[first.pod].Reason = Evict
	d.Pod, d.Target = n.Pods[first.pod], nodes[first.target].Name
}

// judge returns NotNeeded for a pod that may be evicted if a node has room for it.
func (p *Planner) judge(now time.Time, pod *Pod) Reason {
	_, moved := p.moved[pod.Key]
	_, failed := p.failed[pod.Key]
	switch {
	case !pod.Evictable || pod.Terminating || failed:
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

// sizeOn returns what a pod takes of the node's scarcest resource, in typical pods.
func sizeOn(v *reserve.View, d reserve.Demand) float64 {
	if _, scarcest, ok := v.Shares(reserve.TypicalPod()); ok {
		shares, _, _ := v.Shares(d)
		return shares[scarcest]
	}
	return d.Pods()
}

// smallest returns the indices of the best set of at most so many candidates whose sizes sum up to what
// is needed, nil if there is none. Candidates are sorted, those of one rank side by side. Of two sets
// the better one has, in this order, the lower rank of its highest pod, fewer pods, the smaller sum,
// and the earlier pods.
func smallest(candidates []candidate, sameRank func(i, j int) bool, most int, needed float64) []int {
	s := search{candidates: candidates, needed: needed - rounding}
	for s.end < len(candidates) {
		s.begin = s.end
		for s.end < len(candidates) && sameRank(s.begin, s.end) {
			s.end++
		}
		for size := 1; size <= most; size++ {
			s.bestSum = math.Inf(1)
			if s.extend(nil, 0, size); s.best != nil {
				return s.best
			}
		}
	}
	return nil
}

// rounding is far below any demand.
const rounding = 1e-9

// search looks for the best set of one size with a pod of the rank from begin to end and others of
// lower ranks: sets without such a pod were looked at before.
type search struct {
	candidates []candidate
	begin, end int
	needed     float64
	best       []int
	bestSum    float64
}

// extend adds so many pods to a set, each later than those in it.
func (s *search) extend(set []int, sum float64, missing int) {
	first := 0
	if len(set) > 0 {
		first = set[len(set)-1] + 1
	}
	if missing == 1 { // the last one is of the highest rank
		first = max(first, s.begin)
	}
	for i := first; i <= s.end-missing; i++ {
		grown, total := append(set, i), sum+s.candidates[i].size
		switch {
		case missing > 1:
			s.extend(grown, total, missing-1)
		case total >= s.needed && total < s.bestSum:
			s.best, s.bestSum = slices.Clone(grown), total
		}
	}
}
