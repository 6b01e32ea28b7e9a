package aggregate

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// weighted is one node's estimate of a cost.
type weighted struct{ value, weight float64 }

const (
	// sdFloor bounds a node's precision: no cost of a pod is known better than
	// to a tenth of the fleet's typical cost, as pods differ by more. Without
	// it one node that claims a deviation of 0 would decide alone.
	sdFloor = .1
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
	costs := make([]Cost, g.key.dim)
	for i := range costs {
		costs[i] = a.channelPrior(g, i, at)
	}
	return costs
}

func (a *Aggregator) channelPrior(g *group, channel int, at time.Time) Cost {
	known := g.scratch[:0]
	for _, n := range g.nodes {
		if channel < len(n.costs) && n.costs[channel].Known {
			known = append(known, weighted{n.costs[channel].Value, 1})
		}
	}
	g.scratch = known
	if len(known) == 0 {
		return Cost{}
	}
	floor := sdFloor * median(known)
	known = known[:0]
	var precision float64
	for _, n := range g.nodes {
		if channel >= len(n.costs) || !n.costs[channel].Known {
			continue
		}
		c := n.costs[channel]
		// The least normal number keeps 0/0 out where all costs are 0.
		sd := max(c.SD, floor, 1e-150)
		w := math.Exp2(-max(0, a.options.halfLives(n.at, at))) / (sd * sd)
		known = append(known, weighted{c.Value, w})
		precision += w
	}
	value := median(known)
	for i := range known {
		known[i].value = math.Abs(known[i].value - value)
	}
	return Cost{Value: value, SD: math.Hypot(normalMAD*median(known), medianError/math.Sqrt(precision)), Known: true}
}

// median sorts the estimates and returns the value at half their weight, the
// mean of two where the half falls between them.
func median(estimates []weighted) float64 {
	slices.SortFunc(estimates, func(x, y weighted) int {
		return cmp.Or(cmp.Compare(x.value, y.value), cmp.Compare(x.weight, y.weight))
	})
	var total float64
	for _, e := range estimates {
		total += e.weight
	}
	var below float64
	for i, e := range estimates {
		below += e.weight
		switch {
		case below == total/2 && i+1 < len(estimates):
			return (e.value + estimates[i+1].value) / 2
		case below >= total/2:
			return e.value
		}
	}
	return estimates[len(estimates)-1].value
}
