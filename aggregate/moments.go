package aggregate

import (
	"math"

	"github.com/spazio-scheduler/spazio/svd"
)

// Symmetric d×d matrices are kept as their lower triangle, row by row: element
// (i,j), j ≤ i, at i(i+1)/2+j. It halves a node's memory.

func packedLen(dim int) int { return dim * (dim + 1) / 2 }

// dimension is d of a packed matrix of length n.
func dimension(n int) int { return int(math.Sqrt(float64(2 * n))) }

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

// frobenius is the norm of the whole matrix: what is off the diagonal counts
// twice.
func frobenius(packed []float64) float64 {
	var sum float64
	for at, diagonal, step := 0, 0, 2; at < len(packed); at++ {
		v := packed[at] * packed[at]
		if at == diagonal {
			sum += v
			diagonal, step = diagonal+step, step+1
		} else {
			sum += 2 * v
		}
	}
	return math.Sqrt(sum)
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
