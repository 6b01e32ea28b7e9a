package reserve

import (
	"math"
	"slices"
	"time"
)

// FleetAge is how long a scheduler takes a fleet to be unchanged.
const FleetAge = time.Second

// coresSteps is how many steps a core is rounded to.
const coresSteps = 10

// RoundCores rounds the cores that a pod is expected to keep busy to tenths, one at
// least: pods that take about the same share a Fleet and a scheduling result.
func RoundCores(cores float64) float64 { return math.Max(math.Round(cores*coresSteps), 1) / coresSteps }

// maxGain is how many times better, or worse, than the fleet's median a node may count
// as, because a node that misreports its power must not gain more. Real
// machines differ by less.
const maxGain = 4

// Fleet is the goodness of all nodes, with which that of one is compared. The zero value is
// a fleet that nothing is known about. It is a plain value.
type Fleet struct{ median, mean float64 }

// FleetOf returns the fleet of nodes of these goodnesses. One that is not a positive
// finite number, such as NaN, is that of a node without any known power.
func FleetOf(goodness []float64) Fleet {
	known := make([]float64, 0, len(goodness))
	for _, g := range goodness {
		if isKnown(g) {
			known = append(known, g)
		}
	}
	if len(known) == 0 {
		return Fleet{}
	}
	slices.Sort(known)
	f := Fleet{median: math.Sqrt(known[(len(known)-1)/2]) * math.Sqrt(known[len(known)/2])}
	sum := 0.
	for _, g := range known {
		sum += f.clip(g)
	}
	f.mean = sum / float64(len(known))
	return f
}

// Relative returns a node's goodness over the fleet's median, within ¼ and 4. A node of
// which nothing is known has the mean of the others, so that it neither gains nor
// loses; where no node is known it is NaN.
func (f Fleet) Relative(goodness float64) float64 {
	switch {
	case f.median == 0:
		return math.NaN()
	case !isKnown(goodness):
		return f.mean
	}
	return f.clip(goodness)
}

func (f Fleet) clip(goodness float64) float64 {
	return min(max(goodness/f.median, 1./maxGain), maxGain)
}

func isKnown(goodness float64) bool { return goodness > 0 && goodness <= math.MaxFloat64 }
