package sim

import (
	"cmp"
	"slices"

	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// LowNodeLoad is Koordinator's descheduler beside Spazio's placement, by the rule of its plugin of that
// name: once a minute it takes a node as hot whose mean usage of five minutes was above High in more
// than five rounds in a row, and as idle one with all usages at most Low. While there are idle nodes
// it evicts pods from the hot ones, the largest users first and at most two a node and round, that
// fit an idle node below High, until the node is below High.
type LowNodeLoad struct {
	Spazio
}

// LowNodeUtilization is the Kubernetes descheduler beside Spazio's placement, by the rule of its plugin
// of that name on one Prometheus query, the CPU usage of the last minute: every five minutes it
// evicts one pod from each node above its target if some node is below its threshold. With such a
// query it does not know what a pod uses, so it takes the first.
type LowNodeUtilization struct {
	Spazio
}

// The thresholds that the projects publish as shares of a node. See Koordinator's page on load-aware
// descheduling and the descheduler's base policy.
var (
	loadLow, loadHigh               = baseline.Resources{CPU: .2, Memory: .3}, baseline.Resources{CPU: .5, Memory: .6}
	utilizationLow, utilizationHigh = .2, .5
)

const (
	lowNodePeriod = 60 // seconds between two looks at the usage
	// loadWindow and utilizationEvery are in such looks; hotRounds have to be exceeded.
	loadWindow       = 5
	utilizationEvery = 5
	hotRounds        = 5
	maxMigrating     = 2
)

// Start implements Scheduler.
func (o LowNodeLoad) Start(c *Cluster) (Policy, error) {
	d := &lowNodeLoad{usages: newUsages(c.run, loadWindow), hot: make([]int, len(c.run.nodes))}
	c.Every(lowNodePeriod, lowNodePeriod, d.round)
	return o.Spazio.Start(c)
}

// Start implements Scheduler.
func (o LowNodeUtilization) Start(c *Cluster) (Policy, error) {
	u, round := newUsages(c.run, 1), 0
	c.Every(lowNodePeriod, lowNodePeriod, func() {
		u.take()
		if round++; round%utilizationEvery == 0 {
			u.evictFirst()
		}
	})
	return o.Spazio.Start(c)
}

// usages are the mean usages of nodes and pods over a window of looks.
type usages struct {
	c      *cluster
	window int
	past   [][]counter // by node, the oldest first
	pods   []podTotal
}

// podTotal is what a pod's life has used and when that was seen last, and its mean since the look
// before.
type podTotal struct {
	life           int32
	at, used, mean float64
}

func newUsages(c *cluster, window int) *usages {
	return &usages{c: c, window: window, past: make([][]counter, len(c.nodes)), pods: make([]podTotal, len(c.pods))}
}

// take looks at all nodes.
func (u *usages) take() {
	for i, m := range u.c.nodes {
		u.c.advance(m)
		past := append(u.past[i], m.counter(u.c.now))
		u.past[i] = past[max(0, len(past)-u.window-1):]
		for _, pod := range m.assigned {
			t := &u.pods[pod]
			if t.life != u.c.lives[pod] || t.at == 0 {
				*t = podTotal{life: u.c.lives[pod], at: u.c.now}
			}
			used, _ := m.model.Progress(node.PodID(pod))
			if s := u.c.pods[pod].Server; s.Rate > 0 {
				used = t.used + s.Rate*s.Work*(u.c.now-t.at)
			}
			if span := u.c.now - t.at; span > 0 {
				t.mean = (used - t.used) / span
			}
			t.at, t.used = u.c.now, used
		}
	}
}

// of is a node's mean usage as a share of what it has; ok is false before the second look.
func (u *usages) of(i int) (share baseline.Resources, ok bool) {
	past := u.past[i]
	if len(past) < 2 {
		return share, false
	}
	first, last, m := past[0], past[len(past)-1], u.c.nodes[i]
	span := last.at - first.at
	return baseline.Resources{
		CPU: (last.busy - first.busy) / span / m.capacity.CPU, Memory: (last.byteSeconds - first.byteSeconds) / span / m.capacity.Memory,
	}, true
}

// all returns the usage of every node; ok is false before the second look.
func (u *usages) all() (shares []baseline.Resources, ok bool) {
	for i := range u.c.nodes {
		share, ok := u.of(i)
		if !ok {
			return nil, false
		}
		shares = append(shares, share)
	}
	return shares, true
}

// evictFirst is LowNodeUtilization's round.
func (u *usages) evictFirst() {
	shares, ok := u.all()
	if !ok || !slices.ContainsFunc(shares, func(s baseline.Resources) bool { return s.CPU <= utilizationLow }) {
		return
	}
	for i, m := range u.c.nodes {
		if shares[i].CPU <= utilizationHigh {
			continue
		}
		if at := slices.IndexFunc(m.assigned, u.c.evictable); at >= 0 {
			u.c.evict(m.assigned[at])
		}
	}
}

// evictable reports whether a pod runs and a descheduler may evict it.
func (s *cluster) evictable(pod int32) bool {
	return s.pods[pod].Evictable && s.records[pod].Running != -1 && s.records[pod].Done < 0
}

// lowNodeLoad is LowNodeLoad in a run.
type lowNodeLoad struct {
	*usages
	hot []int // rounds in a row, by node
}

// round looks at the nodes and evicts.
func (d *lowNodeLoad) round() {
	d.take()
	shares, ok := d.all()
	if !ok {
		return
	}
	low, high := loadLow, loadHigh
	isHot := func(s baseline.Resources) bool { return s.CPU > high.CPU || s.Memory > high.Memory }
	var idle, abnormal []int
	free := 0. // cores of idle nodes
	for i, s := range shares {
		if s.CPU <= low.CPU && s.Memory <= low.Memory {
			idle = append(idle, i)
			free += (high.CPU - s.CPU) * d.c.nodes[i].capacity.CPU
		}
	}
	for i, s := range shares {
		switch {
		case len(idle) == 0: // it does not look at hot nodes then
		case !isHot(s):
			d.hot[i] = 0
		default:
			if d.hot[i]++; d.hot[i] > hotRounds {
				abnormal = append(abnormal, i)
			}
		}
	}
	slices.SortStableFunc(abnormal, func(a, b int) int {
		return cmp.Compare(shares[b].CPU+shares[b].Memory, shares[a].CPU+shares[a].Memory)
	})
	for _, i := range abnormal {
		free = d.relieve(d.c.nodes[i], shares[i], high, idle, shares, free)
		d.hot[i] = 0 // a node that was relieved is looked at afresh
	}
}

// relieve evicts from one hot node and returns what is left free.
func (d *lowNodeLoad) relieve(m *machine, share, high baseline.Resources, idle []int, shares []baseline.Resources, free float64) float64 {
	pods := slices.Clone(m.assigned)
	slices.SortStableFunc(pods, func(a, b int32) int {
		return cmp.Or(cmp.Compare(d.pods[b].mean, d.pods[a].mean), cmp.Compare(d.c.records[b].Bound, d.c.records[a].Bound))
	})
	evicted := 0
	for _, pod := range pods {
		if evicted == maxMigrating || free <= 0 || share.CPU <= high.CPU && share.Memory <= high.Memory {
			break
		}
		used := d.pods[pod].mean
		fits := slices.ContainsFunc(idle, func(i int) bool {
			return shares[i].CPU+used/d.c.nodes[i].capacity.CPU <= high.CPU && d.c.fits(d.c.nodes[i], pod)
		})
		if fits && d.c.evictable(pod) && d.c.evict(pod) {
			evicted++
			free -= used
			share.CPU -= used / m.capacity.CPU
		}
	}
	return free
}
