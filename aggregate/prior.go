package aggregate

import (
	"math"
	"time"
)

const (
	// sdFloor bounds a node's precision: no cost of a pod is known better than
	// to a tenth of the fleet's typical cost, as pods differ by more. Without
	// it one node that claims a deviation of 0 would decide alone.
	sdFloor = .1
	// maxPrecision bounds it further, to four typical nodes' precision: a
	// share ε of nodes then has at most 4ε/(4ε + ½ − ε) of the weight, and so
	// one in a hundred moves the median by at most 4 % of the honest nodes'
	// weight, whatever deviations they claim.
	maxPrecision = 4
	// normalMAD makes the median absolute deviation of a normal distribution
	// its standard deviation: 1/Φ⁻¹(¾).
	normalMAD = 1.4826022185056018
)

// medianError is that of a normal sample's median against its mean: √(π/2).
var medianError = math.Sqrt(math.Pi / 2)

// prior returns, per channel, the median of the nodes' known costs weighted by
// precision 1/sd² and age, and as its deviation what a further node may differ
// by: the spread between nodes (median absolute deviation) and the error of
// the median itself.
func (a *Aggregator) prior(g *group, at time.Time) []Cost {
	g.fades = g.fades[:0]
	for _, n := range g.nodes {
		g.fades = append(g.fades, math.Exp2(-max(0, a.options.halfLives(n.at, at))))
	}
	costs := make([]Cost, g.key.dim)
	for i := range costs {
		costs[i] = g.channelPrior(i)
	}
	return costs
}

// estimate is what one node knows of a cost, and the share that its age leaves.
type estimate struct{ value, sd, weight float64 }

func (g *group) channelPrior(channel int) Cost {
	g.known = g.known[:0]
	for i, n := range g.nodes {
		if channel < len(n.costs) && n.costs[channel].Known {
			g.known = append(g.known, estimate{n.costs[channel].Value, n.costs[channel].SD, g.fades[i]})
		}
	}
	if len(g.known) == 0 {
		return Cost{}
	}
	heaviest := g.weigh()
	if !(heaviest > 0) { // all so old that their weight is 0
		return Cost{}
	}
	factor := integers(heaviest)
	g.sample = g.sample[:0]
	for _, e := range g.known {
		if w := uint64(math.Round(e.weight * factor)); w > 0 {
			g.sample = append(g.sample, weighted{e.value, w})
		}
	}
	precision := float64(totalWeight(g.sample)) / factor
	value := median(g.sample)
	for i, x := range g.sample {
		g.sample[i].value = math.Abs(x.value - value)
	}
	spread := normalMAD * median(g.sample)
	return Cost{Value: value, SD: math.Hypot(spread, medianError/math.Sqrt(precision)), Known: true}
}

// weigh multiplies the known estimates' weights by bounded precisions, and
// returns the largest. Its medians are plain ones, which no claim of precision
// moves.
func (g *group) weigh() (heaviest float64) {
	floor := sdFloor * g.plainMedian(func(e estimate) float64 { return e.value })
	precision := func(e estimate) float64 {
		sd := max(e.sd, floor)
		return 1 / (sd * sd)
	}
	most := maxPrecision * g.plainMedian(precision)
	for i, e := range g.known {
		g.known[i].weight *= min(precision(e), most)
		heaviest = max(heaviest, g.known[i].weight)
	}
	return heaviest
}

func (g *group) plainMedian(of func(estimate) float64) float64 {
	g.sample = g.sample[:0]
	for _, e := range g.known {
		g.sample = append(g.sample, weighted{of(e), 1})
	}
	return median(g.sample)
}
