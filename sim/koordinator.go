package sim

import "github.com/spazio-scheduler/spazio/sim/baseline"

// LoadAware is Koordinator's plugin of that name beside kube-scheduler's scores,
// as in its profile.
type LoadAware struct {
	Plugin baseline.LoadAware
	// Koordlet is its telemetry.
	Koordlet Koordlet
}

type loadAwarePolicy struct {
	plain
	plugin    baseline.LoadAware
	koordlets *koordlets
	estimates []baseline.Resources // by pod
}

// Start implements Scheduler.
func (o LoadAware) Start(c *Cluster) (Policy, error) {
	k, err := o.Koordlet.build(c.run)
	estimates := make([]baseline.Resources, len(c.run.pods))
	for i, pod := range c.run.pods {
		estimates[i] = o.Plugin.Estimate(pod.request(), pod.Limit)
	}
	return &loadAwarePolicy{plain{c.run}, o.Plugin, k, estimates}, err
}

func (p *loadAwarePolicy) start()         { p.koordlets.begin() }
func (p *loadAwarePolicy) handle(e event) { p.koordlets.report(e) }

// expected is the usage with the pod: what was measured, what it lacks of the
// pods that are too young for it, and the pod itself.
func (p *loadAwarePolicy) expected(m *machine, pod int32) baseline.Resources {
	seen := &p.koordlets.seen[m.index]
	sum := seen.usage.Plus(p.estimates[pod])
	for _, other := range m.assigned {
		known := p.koordlets.pods[other]
		young := seen.at-(p.c.records[other].Bound+p.c.Warmup) < p.koordlets.options.Interval
		if known.at != seen.at {
			known, young = podView{}, true // of an earlier life, or of none
		}
		if young {
			sum = sum.Plus(p.estimates[other].Minus(known.usage).Max(baseline.Resources{}))
		}
	}
	return sum
}

func (p *loadAwarePolicy) Admits(node, pod int) bool {
	m := p.c.nodes[node]
	return p.plugin.Fits(p.expected(m, int32(pod)), m.allocatable)
}

func (p *loadAwarePolicy) Score(scores []float64, nodes []int, pod int) {
	for i, n := range nodes {
		m := p.c.nodes[n]
		scores[i] = float64(p.plugin.Score(p.expected(m, int32(pod)), m.allocatable)) + p.c.defaultScore(m, int32(pod))
	}
}
