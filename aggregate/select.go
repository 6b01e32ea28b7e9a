package aggregate

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// weighted is a value with a positive weight. Weights are integers because
// their sums then do not depend on the order of the values.
type weighted struct {
	value  float64
	weight uint64
}

// unit is the integer weight of the heaviest value; 2^22 of them, as many as
// there may be nodes, fit into 64 bits.
const unit = 1 << 40

// integers returns the factor that makes weights of at most heaviest integers.
func integers(heaviest float64) float64 { return unit / heaviest }

func totalWeight(xs []weighted) (total uint64) {
	for _, x := range xs {
		total += x.weight
	}
	return total
}

// median returns the value at which the weights reach half, the mean of two
// where half falls between them. It reorders xs, which must not be empty.
func median(xs []weighted) float64 {
	total := totalWeight(xs)
	value, reached, rest := quantile(xs, total-total/2)
	if total%2 == 0 && reached == total/2 && len(rest) > 0 {
		next := math.Inf(1)
		for _, x := range rest {
			next = min(next, x.value)
		}
		return value + (next-value)/2
	}
	return value
}

// quantile returns the least value up to which the weights sum to at least
// target, that sum, and the values beyond. It reorders xs, which must not be
// empty, in linear time: what is left after too many unlucky pivots is sorted.
func quantile(xs []weighted, target uint64) (value float64, reached uint64, rest []weighted) {
	low, high := 0, len(xs)
	var below uint64 // weight of xs[:low]
	for patience := 2 * bits.Len(uint(len(xs))); high-low > 16 && patience > 0; patience-- {
		equal, greater := partition(xs[low:high])
		equal, greater = low+equal, low+greater
		less := below + totalWeight(xs[low:equal])
		if target <= less {
			high = equal
			continue
		}
		reached = less + totalWeight(xs[equal:greater])
		if target <= reached || greater == len(xs) {
			return xs[equal].value, reached, xs[greater:]
		}
		low, below = greater, reached
	}
	slices.SortFunc(xs[low:high], func(x, y weighted) int { return cmp.Compare(x.value, y.value) })
	for i := low; i < high; {
		value = xs[i].value
		for ; i < high && xs[i].value == value; i++ {
			below += xs[i].weight
		}
		if below >= target {
			return value, below, xs[i:]
		}
	}
	return value, below, xs[high:]
}

// partition moves values less than a pivot before those equal to it, and those
// greater behind; it returns where the equal and the greater ones begin.
func partition(xs []weighted) (equal, greater int) {
	a, b, c := xs[0].value, xs[len(xs)/2].value, xs[len(xs)-1].value
	pivot := max(min(a, b), min(max(a, b), c))
	greater = len(xs)
	for i := 0; i < greater; {
		switch {
		case xs[i].value < pivot:
			xs[i], xs[equal] = xs[equal], xs[i]
			equal++
			i++
		case xs[i].value > pivot:
			greater--
			xs[i], xs[greater] = xs[greater], xs[i]
		default:
			i++
		}
	}
	return equal, greater
}
