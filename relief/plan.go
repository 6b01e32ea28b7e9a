package relief

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
)

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
