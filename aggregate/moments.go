package aggregate

import "github.com/spazio-scheduler/spazio/svd"

// Symmetric d×d matrices are kept as their lower triangle, row by row: element
// (i,j), j ≤ i, at i(i+1)/2+j. It halves a node's memory.

func packedLen(dim int) int { return dim * (dim + 1) / 2 }

// meanSquaresTo writes UΣ²Uᵀ/b of a valid state to dst of length d(d+1)/2.
func meanSquaresTo(dst []float64, s svd.State) {
	clear(dst)
	for k, sigma := range s.Sigma {
		u := s.U[k*s.Dim : (k+1)*s.Dim]
		energy := sigma * sigma / float64(s.Block)
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
