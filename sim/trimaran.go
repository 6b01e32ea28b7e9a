package sim

import "github.com/spazio-scheduler/spazio/sim/baseline"

// TargetLoadPacking is Trimaran's plugin of that name in place of
// kube-scheduler's scores for resources, as its authors advise.
type TargetLoadPacking struct {
	// Target is T in percent; default 40.
	Target float64
	// Latest takes the newest scrape, and no deviation, in place of load-watcher's window.
	Latest bool
}

type targetPolicy struct {
	watched
	target float64
}

// Start implements Scheduler.
func (o TargetLoadPacking) Start(c *Cluster) (Policy, error) {
	setDefault(&o.Target, baseline.TargetUtilisation)
	return &targetPolicy{watch(c, o.Latest), o.Target}, nil
}

// inFlightSpan is how long TargetLoadPacking adds its guess for a pod to a
// measurement that cannot show it yet, in seconds.
const inFlightSpan = 60

func (p *targetPolicy) Score(scores []float64, nodes []int, pod int) {
	for i, n := range nodes {
		m, seen := p.c.nodes[n], &p.seen[n]
		expected := seen.cpu.Mean + p.predicted(int32(pod))
		for _, other := range m.assigned {
			if bound := p.c.records[other].Bound + p.c.Warmup; bound > seen.at || seen.at-bound < inFlightSpan {
				expected += p.predicted(other)
			}
		}
		scores[i] = float64(baseline.TargetLoadPacking(expected, m.capacity.CPU, p.target))
	}
}

func (p *targetPolicy) predicted(pod int32) float64 {
	return baseline.PredictedCPU(p.c.pods[pod].Request.CPU, p.c.pods[pod].Limit.CPU)
}

// LoadVariationRiskBalancing is Trimaran's plugin of that name beside
// kube-scheduler's scores, which it leaves as they are.
type LoadVariationRiskBalancing struct {
	// Latest takes the newest scrape, and no deviation, in place of load-watcher's window.
	Latest bool
}

type variationPolicy struct{ watched }

// Start implements Scheduler.
func (o LoadVariationRiskBalancing) Start(c *Cluster) (Policy, error) {
	return &variationPolicy{watch(c, o.Latest)}, nil
}

func (p *variationPolicy) Score(scores []float64, nodes []int, pod int) {
	for i, n := range nodes {
		m, seen := p.c.nodes[n], &p.seen[n]
		scores[i] = p.c.defaultScore(m, int32(pod))
		scores[i] += float64(baseline.LoadVariationRiskBalancing{}.Score(seen.cpu, seen.memory, p.c.pods[pod].request(), m.allocatable))
	}
}

// LowRiskOverCommitment is Trimaran's plugin of that name beside kube-scheduler's
// scores, which it leaves as they are.
type LowRiskOverCommitment struct {
	// Latest takes the newest scrape, and no deviation, in place of load-watcher's window.
	Latest bool
}

type riskPolicy struct{ watched }

// Start implements Scheduler.
func (o LowRiskOverCommitment) Start(c *Cluster) (Policy, error) {
	return &riskPolicy{watch(c, o.Latest)}, nil
}

func (p *riskPolicy) Score(scores []float64, nodes []int, pod int) {
	request, limit := p.c.pods[pod].request(), p.c.pods[pod].Limit
	none := baseline.Resources{}
	for i, n := range nodes {
		m, seen := p.c.nodes[n], &p.seen[n]
		scores[i] = p.c.defaultScore(m, int32(pod))
		if request == none && limit == none {
			continue
		}
		without := declared(m.requested, m.limits)
		with := declared(m.requested.Plus(request), m.limits.Plus(limit.Max(request)))
		scores[i] += float64(baseline.LowRiskOverCommitment(seen.cpu, seen.memory, without, with, m.allocatable))
	}
}

func declared(request, limit baseline.Resources) [2]baseline.Declared {
	return [2]baseline.Declared{{Request: request.CPU, Limit: limit.CPU}, {Request: request.Memory, Limit: limit.Memory}}
}
