package sim

import (
	"github.com/spazio-scheduler/spazio/sim/baseline"
)

// Default is kube-scheduler with its default profile: LeastAllocated and
// BalancedAllocation, ties broken by chance.
type Default struct{}

type defaultPolicy struct{ plain }

func (Default) build(c *cluster) (policy, error) { return defaultPolicy{plain{c}}, nil }

func (p defaultPolicy) score(scores []float64, nodes []int32, pod int32) {
	for i, n := range nodes {
		scores[i] = p.c.defaultScore(p.c.nodes[n], pod)
	}
}

// defaultScore is the sum of kube-scheduler's own scores.
func (s *cluster) defaultScore(m *machine, pod int32) float64 {
	request := s.pods[pod].request()
	return float64(
		baseline.LeastAllocated(m.allocatable, m.nonzero.Plus(baseline.NonZero(request))) +
			baseline.BalancedAllocation(m.allocatable, m.requested, request))
}

// TargetLoadPacking is Trimaran's plugin of that name in place of
// kube-scheduler's scores for resources, as its authors advise.
type TargetLoadPacking struct {
	// Target is T in percent; default 40.
	Target float64
	// Watcher is its telemetry.
	Watcher LoadWatcher
}

type targetPolicy struct {
	watched
	target float64
}

func (o TargetLoadPacking) build(c *cluster) (policy, error) {
	setDefault(&o.Target, baseline.TargetUtilisation)
	w, err := o.Watcher.build(c)
	return &targetPolicy{w, o.Target}, err
}

// inFlightSpan is how long TargetLoadPacking adds its guess for a pod to a
// measurement that cannot show it yet, in seconds.
const inFlightSpan = 60

func (p *targetPolicy) score(scores []float64, nodes []int32, pod int32) {
	for i, n := range nodes {
		m, seen := p.c.nodes[n], &p.seen[n]
		expected := seen.cpu.Mean + p.predicted(pod)
		for _, other := range m.assigned {
			if bound := p.c.records[other].Bound + p.c.Warmup; bound > seen.at || seen.at-bound < inFlightSpan {
				expected += p.predicted(other)
			}
		}
		scores[i] = float64(baseline.TargetLoadPacking(expected, m.capacity.CPU, p.target))
	}
}

func (p *targetPolicy) predicted(pod int32) float64 {
	return baseline.PredictedCPU(p.c.pods[pod].request().CPU, p.c.pods[pod].Limit.CPU)
}

// LoadVariationRiskBalancing is Trimaran's plugin of that name in place of
// kube-scheduler's scores for resources.
type LoadVariationRiskBalancing struct{ Watcher LoadWatcher }

type variationPolicy struct{ watched }

func (o LoadVariationRiskBalancing) build(c *cluster) (policy, error) {
	w, err := o.Watcher.build(c)
	return &variationPolicy{w}, err
}

func (p *variationPolicy) score(scores []float64, nodes []int32, pod int32) {
	for i, n := range nodes {
		m, seen := p.c.nodes[n], &p.seen[n]
		scores[i] = float64(baseline.LoadVariationRiskBalancing(seen.cpu, seen.memory, p.c.pods[pod].request(), m.allocatable))
	}
}

// LowRiskOverCommitment is Trimaran's plugin of that name in place of
// kube-scheduler's scores for resources.
type LowRiskOverCommitment struct{ Watcher LoadWatcher }

type riskPolicy struct{ watched }

func (o LowRiskOverCommitment) build(c *cluster) (policy, error) {
	w, err := o.Watcher.build(c)
	return &riskPolicy{w}, err
}

func (p *riskPolicy) score(scores []float64, nodes []int32, pod int32) {
	request, limit := p.c.pods[pod].request(), p.c.pods[pod].Limit
	none := baseline.Resources{}
	for i, n := range nodes {
		scores[i] = 0
		if request == none && limit == none {
			continue
		}
		m, seen := p.c.nodes[n], &p.seen[n]
		without := declared(m.requested, m.limits)
		with := declared(m.requested.Plus(request), m.limits.Plus(limit.Max(request)))
		scores[i] = float64(baseline.LowRiskOverCommitment(seen.cpu, seen.memory, without, with, m.allocatable))
	}
}

func declared(request, limit baseline.Resources) [2]baseline.Declared {
	return [2]baseline.Declared{{Request: request.CPU, Limit: limit.CPU}, {Request: request.Memory, Limit: limit.Memory}}
}

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
}

func (o LoadAware) build(c *cluster) (policy, error) {
	k, err := o.Koordlet.build(c)
	return &loadAwarePolicy{plain{c}, o.Plugin, k}, err
}

func (p *loadAwarePolicy) start()         { p.koordlets.begin() }
func (p *loadAwarePolicy) handle(e event) { p.koordlets.report(e) }

// expected is the usage with the pod: what was measured, what it lacks of the
// pods that are too young for it, and the pod itself.
func (p *loadAwarePolicy) expected(m *machine, pod int32) baseline.Resources {
	seen := &p.koordlets.seen[m.index]
	sum := seen.usage.Plus(p.estimate(pod))
	for _, other := range m.assigned {
		known := p.koordlets.pods[other]
		young := seen.at-(p.c.records[other].Bound+p.c.Warmup) < p.koordlets.options.Interval
		if known.at != seen.at {
			known, young = podView{}, true // of an earlier life, or of none
		}
		if young {
			sum = sum.Plus(p.estimate(other).Minus(known.usage).Max(baseline.Resources{}))
		}
	}
	return sum
}

func (p *loadAwarePolicy) estimate(pod int32) baseline.Resources {
	return p.plugin.Estimate(p.c.pods[pod].request(), p.c.pods[pod].Limit)
}

func (p *loadAwarePolicy) admits(m *machine, pod int32) bool {
	return p.plugin.Fits(p.expected(m, pod), m.allocatable)
}

func (p *loadAwarePolicy) score(scores []float64, nodes []int32, pod int32) {
	for i, n := range nodes {
		m := p.c.nodes[n]
		scores[i] = float64(p.plugin.Score(p.expected(m, pod), m.allocatable)) + p.c.defaultScore(m, pod)
	}
}
