package svd

import "math"

// orthonormalise makes the columns of ws.u orthonormal in one pass of the
// modified Gram–Schmidt process.
func (ws *Workspace) orthonormalise() { orthonormalise(ws.u, ws.dim, ws.dim) }

// orthonormalise makes the first n columns of u (d rows, column-major)
// orthonormal, each against those before it. Columns that are already nearly
// so move by rounding only; one that is zero or depends on those before it is
// replaced by a direction that completes the basis.
func orthonormalise(u []float64, d, n int) {
	for i := range n {
		v := u[i*d : (i+1)*d]
		if norm := reduce(u, v, d, i); norm > 0.9 {
			scale(1/norm, v)
			continue
		}
		complete(u, v, d, i)
	}
}

// reduce subtracts from v its projections on the first i columns of u and
// returns the norm of what is left.
func reduce(u, v []float64, d, i int) float64 {
	for j := range i {
		w := u[j*d : (j+1)*d]
		axpy(-dot(w, v), w, v)
	}
	return math.Sqrt(dot(v, v))
}

// complete sets v to a unit vector orthogonal to the first i < d columns of
// u: the coordinate direction farthest from their span, the first of equals.
func complete(u, v []float64, d, i int) {
	best, least := 0, math.Inf(1)
	for k := range d {
		var inside float64 // squared projection of e_k on the span
		for j := range i {
			inside += u[j*d+k] * u[j*d+k]
		}
		if inside < least-tieTolerance {
			best, least = k, inside
		}
	}
	clear(v)
	v[best] = 1
	// At least (d−i)/d of e_k lies outside the span; a second reduction
	// removes what rounding left of the rest.
	scale(1/reduce(u, v, d, i), v)
	scale(1/reduce(u, v, d, i), v)
}

// orient fixes the sign of each column of ws.u.
func (ws *Workspace) orient() { orient(ws.u, ws.dim, ws.dim) }

// orient makes the sum of each of the first n columns of u non-negative; if
// it is zero, the first component that is not.
func orient(u []float64, d, n int) {
	for i := range n {
		v := u[i*d : (i+1)*d]
		s := sum(v)
		for k := 0; s == 0 && k < d; k++ {
			s = v[k]
		}
		if s < 0 {
			scale(-1, v)
		}
	}
}
