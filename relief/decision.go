package relief

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
)

// Reason is why a node is or is not relieved, or why a pod is or is not evicted.
type Reason uint8

// The reasons of nodes, in the order in which they are looked for.
const (
	// Evict: the decision's pod is to be evicted.
	Evict Reason = iota
	// Unmeasured: nothing current is known of the node.
	Unmeasured
	// HasRoom: the node is not too full.
	HasRoom
	// LeftAlone: evictions did not help, and the node would have to lose more than three pods.
	LeftAlone
	// NotSustained: it is too full, but not for long enough.
	NotSustained
	// NoContention: no task waited for a core and memory was not under pressure.
	NoContention
	// Paused: an eviction from the node was tried less than an interval ago, or a pod of it is terminating.
	Paused
	// ClusterLimit: MaxPerCycle pods were evicted in the last interval.
	ClusterLimit
	// NoSet: the pods that may be evicted are too few or too small.
	NoSet

	// The reasons of pods. Evict, for the pod that goes first, is one too.

	// NotEvictable: the caller forbids it, or its eviction failed less than five minutes ago.
	NotEvictable
	// TooYoung: it does not run, or not for MinAge.
	TooYoung
	// Moved: it replaced an evicted pod a short time ago.
	Moved
	// UnknownDemand: its demand is not valid.
	UnknownDemand
	// NoTarget: no other node that it may run on has room for it.
	NoTarget
	// Next: it is in the set and may follow.
	Next
	// NotNeeded: others suffice, or go before it.
	NotNeeded
)

var reasonNames = [...]string{
	"evict", "unmeasured", "has room", "left alone", "not sustained", "no contention", "paused", "cluster limit", "no set",
	"not evictable", "too young", "moved", "unknown demand", "no target", "next", "not needed",
}

// String returns a short lower-case name.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Decision is what is planned for one node, and why.
type Decision struct {
	Node   string
	Reason Reason
	// Room is the node's measured room in typical pods, NaN if it is Unmeasured.
	Room float64
	// Since is from when the node has been too full, zero if it is not.
	Since time.Time
	// Until is when a node that is LeftAlone is looked at again.
	Until time.Time
	// Pod is the pod to evict and Target a node that has room for it, if Reason is Evict. The
	// scheduler may choose another one.
	Pod    Pod
	Target string
	// Pods are the reasons of the node's pods, in their order, if Reason is Evict or NoSet.
	Pods []PodDecision
}

// PodDecision is the reason of one pod.
type PodDecision struct {
	Key    reserve.PodKey
	Reason Reason
}

// Plan takes in what all nodes measure now and returns a decision for each, in their order. At most
// one pod of a node is to be evicted. The caller passes each Decision that it carried out to
// [Planner.Evicted], and each that failed to [Planner.Failed]; others, such as in a dry run, come again.
//
// Plan is called every ten seconds or so, with times that do not go back. Names of nodes are unique.
// Allowed reports whether a pod may run on a node by its selectors, affinities, tolerations and
// requests; nil allows all.
func (p *Planner) Plan(now time.Time, nodes []Node, allowed func(pod *Pod, node string) bool) []Decision {
	p.forget(now, nodes)
	views := p.views(nodes)
	decisions := make([]Decision, len(nodes))
	var overcommitted []int
	for i := range nodes {
		n, d := &nodes[i], &decisions[i]
		d.Node, d.Room, d.Reason = n.Name, math.NaN(), p.observe(now, n)
		if n.IsMeasured {
			d.Room = p.room(n)
		}
		h := p.nodes[n.Name]
		d.Since, d.Until = h.since, h.until
		if d.Reason == Evict {
			overcommitted = append(overcommitted, i)
		}
	}
	// Those that lost fewest pods come first, so that none is left out for the sake of others.
	slices.SortStableFunc(overcommitted, func(i, j int) int {
		return cmp.Or(cmp.Compare(p.nodes[nodes[i].Name].evictions, p.nodes[nodes[j].Name].evictions), cmp.Compare(decisions[i].Room, decisions[j].Room))
	})
	left := p.options.MaxPerCycle - len(p.recent)
	for _, i := range overcommitted {
		d := &decisions[i]
		if left <= 0 {
			d.Reason = ClusterLimit
			continue
		}
		if p.choose(now, &nodes[i], nodes, views, allowed, d); d.Reason == Evict {
			left--
			p.hold(nodes, views, d.Target, d.Pod.Demand)
		}
	}
	return decisions
}

// Evicted notes that the eviction of a decision was carried out, or begun.
func (p *Planner) Evicted(now time.Time, d Decision) {
	h := p.nodes[d.Node]
	if d.Reason != Evict || h == nil {
		return
	}
	h.evictions++
	h.tried, h.leaving = now, []reserve.PodKey{d.Pod.Key}
	p.recent = append(p.recent, now)
	p.reserved = append(p.reserved, reservation{d.Pod.Owner, d.Target, d.Pod.Demand, now, p.bound})
}

// Failed notes that the eviction of a decision was refused. The pod is not tried again for five minutes,
// and no pod of the node for an Interval.
func (p *Planner) Failed(now time.Time, d Decision) {
	h := p.nodes[d.Node]
	if d.Reason != Evict || h == nil {
		return
	}
	h.tried = now
	p.failed[d.Pod.Key] = now
}

// IsTooFull reports whether a node's room is below −Tolerance typical pods or a channel is full, whether
// that is current or not. Pods of other nodes are never evicted.
func (p *Planner) IsTooFull(n *Node) bool {
	return n.Signal.Saturated || p.room(n) < -p.options.Tolerance
}

// room returns what a node measures of itself, without what is on its way, in typical pods.
func (p *Planner) room(n *Node) float64 {
	v := reserve.NewView(n.Signal, reserve.Flight{}, p.options.Rules)
	return v.Rank(reserve.TypicalPod())
}

// observe brings a node's history up to date and returns Evict if the node is overcommitted and may
// lose a pod.
func (p *Planner) observe(now time.Time, n *Node) Reason {
	h := p.nodes[n.Name]
	if h == nil {
		h = &history{}
		p.nodes[n.Name] = h
	}
	gap := now.Sub(h.seen)
	h.seen = now
	switch {
	case !n.IsMeasured:
		h.since = time.Time{}
		return Unmeasured
	case !p.IsTooFull(n):
		h.since, h.evictions = time.Time{}, 0
		return HasRoom
	case h.since.IsZero() || gap > p.options.Interval:
		h.since, h.contended = now, time.Time{}
	}
	if n.TasksWait || n.MemoryPressure {
		h.contended = now
	}
	switch {
	case now.Before(h.until):
		return LeftAlone
	case now.Sub(h.since) < p.options.Sustained:
		return NotSustained
	case h.contended.IsZero() || now.Sub(h.contended) > p.options.Sustained:
		return NoContention
	case now.Sub(h.tried) < p.options.Interval || slices.ContainsFunc(n.Pods, func(pod Pod) bool { return pod.Terminating || slices.Contains(h.leaving, pod.Key) }):
		return Paused
	case h.evictions >= maxEvictions:
		h.exhausted(now)
		return LeftAlone
	}
	return Evict
}

// exhausted leaves the node alone for a while.
func (h *history) exhausted(now time.Time) { h.until, h.evictions = now.Add(leftAlone), 0 }

// forget drops what has passed: nodes that are gone, and reservations whose replacement is there.
func (p *Planner) forget(now time.Time, nodes []Node) {
	names := make(map[string]bool, len(nodes))
	p.bound = make(map[reserve.PodKey]bool, len(p.bound))
	for i := range nodes {
		names[nodes[i].Name] = true
		for j := range nodes[i].Pods {
			p.bound[nodes[i].Pods[j].Key] = true
		}
		p.findReplacements(&nodes[i])
	}
	for name := range p.nodes {
		if !names[name] {
			delete(p.nodes, name)
		}
	}
	p.recent = slices.DeleteFunc(p.recent, func(at time.Time) bool { return now.Sub(at) >= p.options.Interval })
	p.reserved = slices.DeleteFunc(p.reserved, func(r reservation) bool { return now.Sub(r.at) >= reservedFor })
	expire := func(keys map[reserve.PodKey]time.Time, after time.Duration) {
		maps.DeleteFunc(keys, func(_ reserve.PodKey, at time.Time) bool { return now.Sub(at) >= after })
	}
	expire(p.moved, movedFor)
	expire(p.failed, failedFor)
}

// findReplacements ends the reservations for which a new pod of the owner is on the node.
func (p *Planner) findReplacements(n *Node) {
	for i := range n.Pods {
		pod := &n.Pods[i]
		if _, known := p.moved[pod.Key]; known {
			continue
		}
		at := slices.IndexFunc(p.reserved, func(r reservation) bool {
			return r.owner == pod.Owner && !r.bound[pod.Key] && pod.Created.After(r.at.Add(-skew))
		})
		if at >= 0 {
			p.moved[pod.Key] = p.reserved[at].at
			p.reserved = slices.Delete(p.reserved, at, at+1)
		}
	}
}

// views returns the nodes as pods that look for room see them, with what is reserved.
func (p *Planner) views(nodes []Node) []reserve.View {
	views := make([]reserve.View, len(nodes))
	for i := range nodes {
		views[i] = reserve.NewView(nodes[i].Signal, nodes[i].Flight, p.options.Rules)
	}
	for _, r := range p.reserved {
		p.hold(nodes, views, r.node, r.demand)
	}
	return views
}

// hold takes a demand off a node's view.
func (p *Planner) hold(nodes []Node, views []reserve.View, name string, d reserve.Demand) {
	if i := slices.IndexFunc(nodes, func(n Node) bool { return n.Name == name }); i >= 0 {
		v := &views[i]
		*v = reserve.NewView(v.Signal, v.Flight.With(1, d), p.options.Rules)
	}
}

// target returns the allowed node with most room for a pod, −1 if none has any. Of nodes with the
// same room the first is taken.
func (p *Planner) target(pod *Pod, from string, nodes []Node, views []reserve.View, allowed func(*Pod, string) bool) int {
	best, most := -1, math.Inf(-1)
	for i := range nodes {
		v := &views[i]
		if !nodes[i].IsMeasured || nodes[i].Name == from || v.Fits(pod.Demand) != reserve.Admitted {
			continue
		}
		if room := v.Rank(pod.Demand); room > most && (allowed == nil || allowed(pod, nodes[i].Name)) {
			best, most = i, room
		}
	}
	return best
}

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
