package svd

import "math"

// momentTolerance is the asymmetry and the negative energy, relative to the
// largest element, that FromMoments takes for rounding, as sums leave it that
// are kept by adding and subtracting.
const momentTolerance = 1e-9

// MomentsTo writes G = UΣ²Uᵀ, the d×d matrix of second moments of b samples, to
// dst in row-major order and returns it with length d², grown as append does;
// nil allocates. G is exactly symmetric, and additive:
// the moments of a [Merge] are the mass-weighted mean of those of its parts.
// Of a centred model it is the scatter about the mean, which is not additive;
// in neither case does it contain the [Model.Residual].
func (m Model) MomentsTo(dst []float64) []float64 {
	d := m.dim
	dst = resize(dst, d*d)
	clear(dst)
	for k, s := range m.sigma {
		u := m.column(k)
		for i := range d {
			axpy(s*s*u[i], u[:i+1], dst[i*d:])
		}
	}
	for i := range d {
		for j := range i {
			dst[j*d+i] = dst[i*d+j]
		}
	}
	return dst
}

// FromMoments returns the model, not centred and of full rank d, whose second moments are g
// (d×d symmetric, row-major): g is block times the mean of yyᵀ over the samples, as
// [Model.MomentsTo] has it. Squares hold half the digits: a σ_i below 1e-8·σ₁ is lost in rounding.
//
// An error reports what State.Validate would, and a g that is not
// symmetric positive semidefinite to a relative 1e-9.
func FromMoments(dim, block int, mass float64, g []float64) (Model, error) {
	switch {
	case dim < 1 || dim > MaxDim:
		return Model{}, refuse("dim", dim, ErrRange)
	case block < 1 || block > MaxBlock:
		return Model{}, refuse("block", block, ErrRange)
	case math.IsNaN(mass) || math.IsInf(mass, 0):
		return Model{}, refuse("mass", mass, ErrNotFinite)
	case mass < 0 || mass > MaxMass:
		return Model{}, refuse("mass", mass, ErrRange)
	case len(g) != dim*dim:
		return Model{}, refuse("len(g)", len(g), ErrLength)
	}
	largest, err := checkMoments(g, dim, block)
	if err != nil {
		return Model{}, err
	}
	factor, unit := 1.0, 1.0
	if largest > 0 {
		// Even powers of two have exact roots.
		_, e := math.Frexp(largest)
		e = max(e/2, -500)
		factor, unit = math.Ldexp(1, -2*e), math.Ldexp(1, e)
	}
	var ws Workspace
	ws.prepare(dim, 0)
	if err := ws.eigen(g, factor); err != nil {
		return Model{}, err
	}
	orient(ws.u, dim, dim)
	scale(unit, ws.sigma)
	var m Model
	ws.store(&m, dim, block, mass, 0)
	return m, nil
}

// checkMoments returns the largest magnitude in g.
func checkMoments(g []float64, dim, block int) (largest float64, err error) {
	limit := MaxRMS * MaxRMS * float64(block)
	for i, v := range g {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, refuseElement("g", i, v, ErrNotFinite)
		}
		if math.Abs(v) > limit {
			return 0, refuseElement("g", i, v, ErrRange)
		}
		largest = max(largest, math.Abs(v))
	}
	for i := range dim {
		for j := range i {
			if v := g[i*dim+j] - g[j*dim+i]; math.Abs(v) > momentTolerance*largest {
				return 0, refuseElement("g", i*dim+j, g[i*dim+j], ErrIndefinite)
			}
		}
	}
	return largest, nil
}

// eigen decomposes factor·g: the left singular vectors of a positive
// semidefinite matrix are its eigenvectors, its singular values the
// eigenvalues.
func (ws *Workspace) eigen(g []float64, factor float64) error {
	d := ws.dim
	for i := range d {
		for j := range d {
			ws.factor[i*d+j] = factor * (g[i*d+j]/2 + g[j*d+i]/2)
		}
	}
	symmetric := append([]float64(nil), ws.factor...)
	ws.rotate()
	ws.sort()
	ws.compose()
	// A null direction comes out of rounding errors alone; only made orthogonal
	// to the others does it say what energy is left.
	orthonormalise(ws.u, d, d)
	for i := range d {
		u := ws.u[i*d : (i+1)*d]
		var lambda float64 // uᵀGu: negative where g is not semidefinite
		for j := range d {
			lambda += u[j] * dot(u, symmetric[j*d:(j+1)*d])
		}
		if math.Abs(ws.sigma[i]-lambda) > momentTolerance*ws.sigma[0] {
			return refuseElement("g", i*(d+1), g[i*(d+1)], ErrIndefinite)
		}
		ws.sigma[i] = math.Sqrt(ws.sigma[i])
	}
	return nil
}
