package aggregate

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// estimate is what one node knows of a cost. Its weight is its age's share
// until the precision is put in.
type estimate struct{ value, sd, weight float64 }

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
	g.ages = g.ages[:0]
	for _, n := range g.nodes {
		g.ages = append(g.ages, math.Exp2(-max(0, a.options.halfLives(n.at, at))))
	}
	costs := make([]Cost, g.key.dim)
	for i := range costs {
		costs[i] = g.channelPrior(i)
	}
	return costs
}

func (g *group) channelPrior(channel int) Cost {
	known := g.scratch[:0]
	for i, n := range g.nodes {
		if channel < len(n.costs) && n.costs[channel].Known {
			known = append(known, estimate{n.costs[channel].Value, n.costs[channel].SD, g.ages[i]})
		}
	}
	g.scratch = known
	if len(known) == 0 {
		return Cost{}
	}
	slices.SortFunc(known, func(x, y estimate) int {
		if x.value != y.value {
			return cmp.Compare(x.value, y.value)
		}
		return cmp.Or(cmp.Compare(x.sd, y.sd), cmp.Compare(x.weight, y.weight))
	})
	// The floor goes by the plain median, which no claim of precision moves.
	n := len(known)
	floor := sdFloor * (known[(n-1)/2].value + known[n/2].value) / 2
	var precision float64
	for i, e := range known {
		sd := max(e.sd, floor)
		known[i].weight /= sd * sd
		precision += known[i].weight
	}
	if !(precision > 0) { // all so old that their weight is 0
		return Cost{}
	}
	value, at := median(known, precision/2)
	spread := normalMAD * deviation(known, precision/2, value, at)
	return Cost{Value: value, SD: math.Hypot(spread, medianError/math.Sqrt(precision)), Known: true}
}

// median returns the value at which the weights of sorted estimates reach
// half, the mean of two where half falls between them, and how many estimates
// are no greater.
func median(sorted []estimate, half float64) (float64, int) {
	var below float64
	for i, e := range sorted {
		below += e.weight
		switch {
		case below == half && i+1 < len(sorted):
			return (e.value + sorted[i+1].value) / 2, i + 1
		case below >= half:
			return e.value, i + 1
		}
	}
	return sorted[len(sorted)-1].value, len(sorted)
}

// deviation returns the weighted median of |value − center|. It walks outward
// from at, the first estimate beyond the center, so that nothing is sorted
// again.
func deviation(sorted []estimate, half, center float64, at int) float64 {
	low, high := at-1, at
	next := func() (d, weight float64) {
		switch {
		case high == len(sorted) || low >= 0 && center-sorted[low].value <= sorted[high].value-center:
			low--
			return center - sorted[low+1].value, sorted[low+1].weight
		default:
			high++
			return sorted[high-1].value - center, sorted[high-1].weight
		}
	}
	var d, within float64
	for range sorted {
		var weight float64
		last := d
		d, weight = next()
		if within == half {
			return (last + d) / 2
		}
		if within += weight; within > half {
			return d
		}
	}
	return d
}
