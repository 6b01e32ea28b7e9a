package aggregate

import (
	"cmp"
	"slices"

	"github.com/spazio-scheduler/spazio/svd"
)

// Symmetric d×d matrices are kept as their lower triangle, row by row: element
// (i,j), j ≤ i, at i(i+1)/2+j. It halves a node's memory.

func packedLen(dim int) int { return dim * (dim + 1) / 2 }

// faintest is the least mean square of a sample that is not taken for 0: the
// digits of what is fainter would be lost by underflow in weighted sums, and
// with them definiteness.
const faintest = 1e-100

// meanSquaresTo writes UΣ²Uᵀ/b of a valid state to dst of length d(d+1)/2.
func meanSquaresTo(dst []float64, s svd.State) {
	clear(dst)
	for k, sigma := range s.Sigma {
		u := s.U[k*s.Dim : (k+1)*s.Dim]
		energy := sigma * sigma / float64(s.Block)
		if energy < faintest {
			break // the rest is no larger
		}
		at := 0
		for i, ui := range u {
			for _, uj := range u[:i+1] {
				dst[at] += energy * ui * uj
				at++
			}
		}
	}
}

// axpy adds f·x to dst of the same length.
func axpy(dst []float64, f float64, x []float64) {
	for i, v := range x {
		dst[i] += f * v
	}
}

// trace is the sum of a packed matrix's diagonal.
func trace(packed []float64) (t float64) {
	for at, step := 0, 2; at < len(packed); at, step = at+step, step+1 {
		t += packed[at]
	}
	return t
}

// unpackTo writes f times a packed matrix to dst of length d², row-major.
func unpackTo(dst []float64, dim int, f float64, packed []float64) {
	at := 0
	for i := range dim {
		for j := range i + 1 {
			v := f * packed[at]
			dst[i*dim+j], dst[j*dim+i] = v, v
			at++
		}
	}
}

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
// where half falls between them. It sorts xs, which must not be empty.
func median(xs []weighted) float64 {
	total := totalWeight(xs)
	value, reached, rest := quantile(xs, total-total/2)
	if total%2 == 0 && reached == total/2 && len(rest) > 0 {
		return value + (rest[0].value-value)/2
	}
	return value
}

// quantile returns the least value up to which the weights sum to at least
// target, that sum, and the values beyond. It sorts xs, which must not be empty.
func quantile(xs []weighted, target uint64) (value float64, reached uint64, rest []weighted) {
	slices.SortFunc(xs, func(x, y weighted) int { return cmp.Compare(x.value, y.value) })
	for i := 0; i < len(xs) && (i == 0 || reached < target); {
		value = xs[i].value
		for ; i < len(xs) && xs[i].value == value; i++ {
			reached += xs[i].weight
		}
		rest = xs[i:]
	}
	return value, reached, rest
}
