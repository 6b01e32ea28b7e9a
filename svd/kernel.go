package svd

import "math"

// orthogonal is the cosine below which two columns count as orthogonal, a
// few units in the last place.
const orthogonal = 4 * 0x1p-53

// negligible bounds the squared norm of a row that is dropped, lest the
// reciprocal in its reflector overflow. Balanced, the matrix has elements of
// at least 2^-200, to which a row of norm 2^-450 contributes nothing.
const negligible = 0x1p-900

// maxSweeps ends a Jacobi iteration that rounding keeps from settling. It
// takes 2 to 6 sweeps in practice, the last of them quadratic.
const maxSweeps = 30

// jacobi decomposes the matrix by QR, one-sided Jacobi and the product with
// the basis.
func (ws *Workspace) jacobi() {
	if ws.basis == nil {
		ws.spread()
	}
	ws.triangle()
	ws.rotate()
	ws.sort()
	ws.compose()
	ws.orthonormalise()
}

// spread states the joined matrix as [0 dense] in the identity as basis.
func (ws *Workspace) spread() {
	d, c := ws.dim, ws.columns
	for j := range c {
		for i, v := range ws.joined[j*d : (j+1)*d] {
			ws.dense[i*c+j] = v
		}
	}
}

// triangle reduces W = [diag dense] to L, d×d lower triangular with
// LLᵀ = WWᵀ, by Householder's QR of Wᵀ. Reflector k acts on row k of the
// diagonal part and on the dense part alone, so the zeros of the diagonal
// part cost nothing. L is left in ws.factor with a non-negative diagonal.
func (ws *Workspace) triangle() {
	d, c := ws.dim, ws.columns
	clear(ws.factor)
	for k := range d {
		x := ws.dense[k*c : (k+1)*c]
		column := ws.factor[k*d : (k+1)*d]
		top := ws.diag[k]
		tail := dot(x, x)
		if tail < negligible {
			column[k] = top
			continue
		}
		norm := math.Sqrt(top*top + tail)
		column[k] = norm
		lead := top + norm
		tau := 1 / (norm * lead)
		for j := k + 1; j < d; j++ {
			y := ws.dense[j*c : (j+1)*c]
			s := tau * dot(x, y)
			column[j] = s * lead
			axpy(-s, x, y)
		}
	}
}

// rotate makes the columns of L orthogonal by plane rotations from the right:
// L·K = J·Σ. Rotating L instead of its transpose needs no accumulation and
// starts from smaller cosines, as the columns are graded.
func (ws *Workspace) rotate() {
	d := ws.dim
	for range maxSweeps {
		var cosine, sine float64 // largest of the sweep, squared
		for p := range d - 1 {
			x := ws.factor[p*d : (p+1)*d]
			for q := p + 1; q < d; q++ {
				y := ws.factor[q*d : (q+1)*d]
				c, s := orthogonalise(x, y)
				if c > cosine {
					cosine = c
				}
				if s > sine {
					sine = s
				}
			}
		}
		// A later rotation of the sweep brings back at most sine·cosine of
		// what an earlier one has removed.
		if d == 2 || cosine*sine <= orthogonal*orthogonal {
			return
		}
	}
}

// orthogonalise rotates columns x and y in their plane until they are
// orthogonal. It returns the squares of the cosine of the angle they made and
// of the sine of the rotation; 0 if they were orthogonal.
func orthogonalise(x, y []float64) (cosine, sine float64) {
	xx, yy, xy := products(x, y)
	if xy*xy <= orthogonal*orthogonal*xx*yy {
		return 0, 0
	}
	// With 2θ the angle of (δ, xy): cos θ = q/r and sin θ = xy/r. Two roots
	// and one division in sequence, which is what a rotation costs at small d.
	delta := (xx - yy) / 2
	q := math.Abs(delta) + math.Sqrt(delta*delta+xy*xy)
	inverse := 1 / math.Sqrt(q*q+xy*xy)
	c, s := q*inverse, xy*inverse
	if delta < 0 {
		s = -s
	}
	y = y[:len(x)]
	for i, a := range x {
		b := y[i]
		x[i] = c*a + s*b
		y[i] = c*b - s*a
	}
	return xy * xy / (xx * yy), s * s
}

// products returns xᵀx, yᵀy and xᵀy, each from two partial sums (see dot).
func products(x, y []float64) (xx, yy, xy float64) {
	y = y[:len(x)]
	var xx1, yy1, xy1 float64
	for len(x) >= 2 && len(y) >= 2 {
		a, b := x[0], y[0]
		xx += a * a
		yy += b * b
		xy += a * b
		a, b = x[1], y[1]
		xx1 += a * a
		yy1 += b * b
		xy1 += a * b
		x, y = x[2:], y[2:]
	}
	if len(x) > 0 && len(y) > 0 {
		a, b := x[0], y[0]
		xx += a * a
		yy += b * b
		xy += a * b
	}
	return xx + xx1, yy + yy1, xy + xy1
}

// sort sets ws.order to the columns of J·Σ in descending order of their
// norms, ws.norms, equal ones in their present order.
func (ws *Workspace) sort() {
	d := ws.dim
	for k := range d {
		column := ws.factor[k*d : (k+1)*d]
		norm := math.Sqrt(dot(column, column))
		ws.norms[k] = norm
		i := k
		for i > 0 && ws.norms[ws.order[i-1]] < norm {
			ws.order[i] = ws.order[i-1]
			i--
		}
		ws.order[i] = k
	}
}

// compose sets u to basis·J in the sorted order. A zero singular value leaves
// a zero column, which orthonormalise replaces.
func (ws *Workspace) compose() {
	d := ws.dim
	for i, k := range ws.order {
		norm := ws.norms[k]
		ws.sigma[i] = norm
		u := ws.u[i*d : (i+1)*d]
		if norm == 0 {
			clear(u)
			continue
		}
		// A norm is at least the root of the least float: 1/norm is finite.
		column, inverse := ws.factor[k*d:(k+1)*d], 1/norm
		clear(u)
		for j, v := range column {
			if ws.basis == nil {
				u[j] = v * inverse
				continue
			}
			axpy(v*inverse, ws.basis[j*d:(j+1)*d], u)
		}
	}
}
