package sim

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim/baseline"
)

// Peaks is PEAKS, Trimaran's plugin for power, in the place of kube-scheduler's scores,
// as its authors configure it, with metrics-server for its telemetry.
type Peaks struct {
	// K are the nodes' models, in turn. The default is what comes nearest to the true
	// power of each, the best that can be told to it.
	K []baseline.PowerModel
}

type peaksPolicy struct {
	watched
	models []baseline.PowerModel // by node
	raw    []int64
	whole  []int64
}

// Start implements Scheduler.
func (o Peaks) Start(c *Cluster) (Policy, error) {
	for i, k := range o.K {
		for _, v := range []float64{k.K0, k.K1, k.K2} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, refuse(fmt.Sprintf("Peaks.K[%d]", i), k, "finite numbers")
			}
		}
	}
	return &peaksPolicy{watched: watch(c, true), models: o.models(c.run)}, nil
}

// models are those of the nodes.
func (o Peaks) models(c *cluster) []baseline.PowerModel {
	models := make([]baseline.PowerModel, len(c.nodes))
	for i, m := range c.nodes {
		if len(o.K) > 0 {
			models[i] = o.K[i%len(o.K)]
			continue
		}
		power := m.model.Params().Power
		models[i] = baseline.FitPower(func(percent float64) float64 { return power.At(percent / 100) })
	}
	return models
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
