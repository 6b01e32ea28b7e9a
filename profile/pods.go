package profile

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// pods is the evidence of the pods seen in a slot, or in the whole day, of both
// resources. A pod's later reading replaces its earlier one, so what live pods
// show is kept by pod and what ended ones have shown by node.
type pods struct {
	config *Config
	ended  [resources]map[string]Evidence // by node
	live   map[string]*reading            // by pod
	doubts [resources][]doubt
	seen   int // pods
	days   int
	newest int64 // day
}

const resources = 2

// reading is the last one of a live pod.
type reading struct {
	node   string
	at     time.Time
	amount [resources]float64
	weight [resources]float64 // 0: not in the evidence
}

// doubt is a pod whose reading contradicts the evidence.
type doubt struct {
	pod, node string
	amount    float64
	at        time.Time
	ended     bool
}

func newPods(c *Config) *pods {
	p := &pods{config: c, live: map[string]*reading{}}
	for r := range p.ended {
		p.ended[r] = map[string]Evidence{}
	}
	return p
}

// observe takes a pod's reading and says whether it restarted the evidence.
func (p *pods) observe(at time.Time, w *Window, amount [resources]float64, weight float64, today int64) (restarted bool) {
	if today > p.newest {
		p.days, p.newest = p.days+1, today
	}
	pod := p.live[w.Pod]
	if pod == nil {
		p.seen++
		pod = &reading{}
		p.live[w.Pod] = pod
	}
	pod.node, pod.at = w.Node, at
	for r, x := range amount {
		pod.amount[r], pod.weight[r] = x, 0
		if p.judge(r, at, w, x, weight) {
			restarted = true
		}
	}
	if w.Ended {
		p.end(w.Pod)
	}
	return restarted
}

// judge holds a reading against the other pods'.
func (p *pods) judge(r int, at time.Time, w *Window, x, weight float64) (restarted bool) {
	p.doubts[r] = slices.DeleteFunc(p.doubts[r], func(d doubt) bool { return d.pod == w.Pod })
	others := p.evidence(r)
	for _, d := range p.doubts[r] {
		others.Doubts[others.Doubt] = d.amount
		others.Doubt++
	}
	switch _, verdict := others.Take(at, x, weight, p.config.evidence(r)); verdict {
	case Taken:
		p.live[w.Pod].weight[r] = weight
		p.believe(r)
	case Doubted:
		p.doubts[r] = append(p.doubts[r], doubt{w.Pod, w.Node, x, at, w.Ended})
	case Restarted:
		clear(p.ended[r])
		for _, pod := range p.live {
			pod.weight[r] = 0
		}
		p.live[w.Pod].weight[r] = 1
		p.believe(r)
		return true
	}
	return false
}

// believe takes the doubts in.
func (p *pods) believe(r int) {
	for _, d := range p.doubts[r] {
		if d.ended {
			p.add(r, d.node, d.at, d.amount, 1)
		} else if pod := p.live[d.pod]; pod != nil {
			pod.weight[r] = 1
		}
	}
	p.doubts[r] = nil
}

func (p *pods) add(r int, node string, at time.Time, x, weight float64) {
	e := p.ended[r][node]
	e.add(at, x, weight, p.config.PodHalfLife)
	p.ended[r][node] = e
}

// end keeps what a pod has shown in the end.
func (p *pods) end(name string) {
	pod := p.live[name]
	if pod == nil {
		return
	}
	for r, weight := range pod.weight {
		if weight > 0 {
			p.add(r, pod.node, pod.at, pod.amount[r], weight)
		}
		for i := range p.doubts[r] {
			if p.doubts[r][i].pod == name {
				p.doubts[r][i].ended = true
			}
		}
	}
	delete(p.live, name)
}

// restrict believes what was seen with the weight of at most a few pods, and
// forgets whose it was: those of an older revision.
func (p *pods) restrict(n float64) {
	for r := range p.ended {
		e := p.evidence(r).Few(n)
		clear(p.ended[r])
		if e.Pods > 0 {
			p.ended[r][""] = e
		}
		p.doubts[r] = nil
	}
	clear(p.live)
}

// nodeReach is how many times the median node's weight a node may have, as in the
// fleet's costs: one node that lies is not the workload.
const nodeReach = 4

// evidence is that of all pods of a resource, whatever the order they came in.
func (p *pods) evidence(r int) Evidence {
	byNode := maps.Clone(p.ended[r])
	for _, name := range slices.Sorted(maps.Keys(p.live)) {
		pod := p.live[name]
		if pod.weight[r] > 0 {
			e := byNode[pod.node]
			e.add(pod.at, pod.amount[r], pod.weight[r], p.config.PodHalfLife)
			byNode[pod.node] = e
		}
	}
	nodes := slices.Sorted(maps.Keys(byNode))
	var newest time.Time
	for _, node := range nodes {
		if at := byNode[node].At; at.After(newest) {
			newest = at
		}
	}
	all := make([]Evidence, 0, len(nodes))
	for _, node := range nodes {
		e := byNode[node]
		e.age(newest, newest.Sub(e.At), p.config.PodHalfLife)
		all = append(all, e)
	}
	return pooled(all, newest)
}

// pooled is the evidence of several nodes, none of more weight than nodeReach
// times the median.
func pooled(all []Evidence, at time.Time) Evidence {
	most := 0.
	if len(all) > 0 {
		byWeight := slices.SortedFunc(slices.Values(all), func(a, b Evidence) int { return cmp.Compare(a.Pods, b.Pods) })
		most = nodeReach * byWeight[(len(byWeight)-1)/2].Pods
	}
	sum := Evidence{At: at}
	for _, e := range all {
		sum.pool(min(e.Pods, most), e.Mean, e.Var)
	}
	return sum
}
