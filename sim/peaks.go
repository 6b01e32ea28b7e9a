package sim

import "github.com/spazio-scheduler/spazio/sim/baseline"

// Peaks is PEAKS, Trimaran's plugin for power, in the place of kube-scheduler's scores,
// as its authors configure it, with metrics-server for its telemetry. Its model of each
// node is the one nearest to the node's true power.
type Peaks struct{}

type peaksPolicy struct {
	watched
	models []baseline.PowerModel // by node
	raw    []int64
	whole  []int64
}

// Start implements Scheduler.
func (Peaks) Start(c *Cluster) (Policy, error) {
	p := &peaksPolicy{watched: watch(c, true)}
	for _, m := range c.run.nodes {
		power := m.model.Params().Power
		p.models = append(p.models, baseline.FitPower(func(percent float64) float64 { return power.At(percent / 100) }))
	}
	return p, nil
}

func (p *peaksPolicy) Score(scores []float64, nodes []int, pod int) {
	request := p.c.claims[pod].request.CPU
	p.raw = p.raw[:0]
	for _, n := range nodes {
		p.raw = append(p.raw, baseline.Peaks(p.models[n], p.seen[n].cpu.Mean, request, p.c.nodes[n].capacity.CPU))
	}
	p.whole = baseline.NormalizePeaksTo(p.whole, p.raw)
	for i, score := range p.whole {
		scores[i] = float64(score)
	}
}
