package sim

import (
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// LoadAware is Koordinator's plugin of that name beside kube-scheduler's scores,
// as in its profile.
type LoadAware struct{}

type loadAwarePolicy struct {
	plain
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
func (LoadAware) Start(c *Cluster) (Policy, error) {
	estimates := make([]baseline.Resources, len(c.run.pods))
	for i, pod := range c.run.pods {
		estimates[i] = baseline.LoadAware{}.Estimate(pod.request(), pod.Limit)
	}
	return &loadAwarePolicy{plain{c.run}, newKoordlets(c.run), estimates, make([]missing, len(c.run.nodes))}, nil
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
		young := seen.at-(p.c.records[other].Bound+p.c.Warmup) < koordletInterval
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
		of.fits = baseline.LoadAware{}.Fits(p.expected(m, int32(pod)), m.allocatable)
		of.estimate = estimate
	}
	return of.fits
}

func (p *loadAwarePolicy) Score(scores []float64, nodes []int, pod int) {
	for i, n := range nodes {
		m := p.c.nodes[n]
		scores[i] = float64(baseline.LoadAware{}.Score(p.expected(m, int32(pod)), m.allocatable)) + p.c.defaultScore(m, int32(pod))
	}
}
