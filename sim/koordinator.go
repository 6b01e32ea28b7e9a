package sim

import (
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// LoadAware is Koordinator's plugin of that name beside kube-scheduler's scores,
// as in its profile. A zero field takes Koordinator's default.
type LoadAware struct {
	// Plugin is the plugin's own part.
	Plugin baseline.LoadAware
	// Interval is the time in seconds from one report of a node to the next; default 60.
	Interval float64
	// Batch has what pods request be batch resources: see baseline.BatchAllocatable. Those that
	// are on nodes from the start are the ones that these are left over from. As Koordinator
	// ships it, the plugin then scores and refuses no pod. A batch pod is BestEffort to the
	// kubelet, and its share of full cores is by its request.
	Batch bool
}

type loadAwarePolicy struct {
	plain
	plugin    baseline.LoadAware
	koordlets *koordlets
	estimates []baseline.Resources // by pod
	missing   []missing            // by node
}

// missing is what a node's last report lacks of its pods, those alone of which it
// lacks something.
type missing struct {
	known bool
	parts []baseline.Resources
	// fits is what came of the last question: pods of one estimate are alike.
	fits     bool
	estimate baseline.Resources
}

// Start implements Scheduler.
func (o LoadAware) Start(c *Cluster) (Policy, error) {
	setDefault(&o.Interval, koordletInterval)
	if err := positive("Interval", o.Interval); err != nil {
		return nil, err
	}
	if t := o.Plugin.CPUThreshold; !(t >= 0 && t <= 1) {
		return nil, refuse("Plugin.CPUThreshold", t, "a share of 0 (default) to 1")
	}
	estimates := make([]baseline.Resources, len(c.run.pods))
	for i, pod := range c.run.pods {
		estimates[i] = baseline.LoadAware{}.Estimate(pod.request(), pod.Limit)
	}
	p := &loadAwarePolicy{plain{c.run}, o.Plugin, newKoordlets(c.run, o.Interval), estimates, make([]missing, len(c.run.nodes))}
	if o.Batch {
		return newBatchPolicy(p), nil
	}
	return p, nil
}

func (p *loadAwarePolicy) start() { p.koordlets.begin() }

func (p *loadAwarePolicy) handle(e event) {
	p.koordlets.report(e)
	p.missing[e.node].known = false
}

func (p *loadAwarePolicy) bound(m *machine, _ int32)           { p.missing[m.index].known = false }
func (p *loadAwarePolicy) gone(m *machine, _ int32)            { p.missing[m.index].known = false }
func (p *loadAwarePolicy) phase(m *machine, _ node.Transition) { p.missing[m.index].known = false }

// expected is the usage with the pod: what was measured, what it lacks of the
// pods that are too young for it, and the pod itself.
func (p *loadAwarePolicy) expected(m *machine, pod int32) baseline.Resources {
	sum := p.koordlets.seen[m.index].usage.Plus(p.estimates[pod])
	for _, part := range p.lacks(m) {
		sum = sum.Plus(part)
	}
	return sum
}

// lacks is what the node's report lacks of the pods that are too young for it.
func (p *loadAwarePolicy) lacks(m *machine) []baseline.Resources {
	of := &p.missing[m.index]
	if of.known {
		return of.parts
	}
	of.known, of.parts = true, of.parts[:0]
	seen := &p.koordlets.seen[m.index]
	for _, other := range m.assigned {
		known := p.koordlets.pods[other]
		young := seen.at-(p.c.records[other].Bound+p.c.Warmup) < p.koordlets.interval
		if known.at != seen.at {
			known, young = podView{}, true // of an earlier life, or of none
		}
		if young {
			if part := p.estimates[other].Minus(known.usage).Max(baseline.Resources{}); part != (baseline.Resources{}) {
				of.parts = append(of.parts, part)
			}
		}
	}
	return of.parts
}

func (p *loadAwarePolicy) Admits(node, pod int) bool {
	m, of := p.c.nodes[node], &p.missing[node]
	if estimate := p.estimates[pod]; !of.known || of.estimate != estimate {
		of.fits = p.plugin.Fits(p.expected(m, int32(pod)), m.allocatable)
		of.estimate = estimate
	}
	return of.fits
}

func (p *loadAwarePolicy) Score(scores []float64, nodes []int, pod int) {
	for i, n := range nodes {
		m := p.c.nodes[n]
		scores[i] = p.score(m, int32(pod)) + p.c.defaultScore(m, int32(pod))
	}
}

func (p *loadAwarePolicy) score(m *machine, pod int32) float64 {
	return float64(p.plugin.Score(p.expected(m, pod), m.allocatable))
}
