package svd

import "math"

// tieTolerance is the relative distance below which singular values count as
// equal. Their directions are then decided by rounding (the angle error of a
// singular vector is about 1e-16 over the relative gap), so 1e-9 leaves the
// directions it separates good to 1e-7.
const tieTolerance = 1e-9

// rounding bounds the error of a component of a singular vector.
const rounding = 64 * 0x1p-53

// DirectionTo writes u₁, the direction of the typical load, to dst and returns
// it with length d, grown as append does; nil allocates.
//
// On a tie of the largest singular values the direction is P·1 normalised,
// P the projector on the space they span: for non-negative samples it is
// non-negative whatever basis of that space the decomposition found. A component
// below 0 by no more than rounding is 0. The sum of the components is ≥ 0. A
// model of zero samples yields (1, …, 1)/√d, the zero Model a slice of length 0.
func (m Model) DirectionTo(dst []float64) []float64 {
	dst = resize(dst, m.dim)
	if len(m.sigma) == 0 {
		return dst
	}
	top := 1
	for top < len(m.sigma) && m.sigma[top] >= m.sigma[0]*(1-tieTolerance) {
		top++
	}
	if top == 1 || !m.project(dst, top) {
		copy(dst, m.column(0))
	}
	for i, v := range dst {
		if v < 0 && v >= -rounding { // 0, of samples that are not negative
			dst[i] = 0
		}
	}
	return dst
}

// project writes P·1 normalised to dst, P the projector on the first top
// columns. It reports false if P·1 vanishes, as data of mixed sign allow.
func (m Model) project(dst []float64, top int) bool {
	clear(dst)
	for i := range top {
		u := m.column(i)
		axpy(sum(u), u, dst)
	}
	norm := math.Sqrt(dot(dst, dst))
	if norm < tieTolerance {
		return false
	}
	scale(1/norm, dst)
	return true
}

// DemandTo writes q = σ₁/√b · u₁ to dst and returns it with length d: the
// usage that one more typical load adds to each channel, in the unit of the
// samples. σ₁/√b is the root mean square of the samples along u₁. See
// [Model.DirectionTo] for u₁ and the handling of dst. Of a centred model it is
// one standard deviation along u₁, no demand of a load.
func (m Model) DemandTo(dst []float64) []float64 {
	dst = m.DirectionTo(dst)
	if m.block > 0 {
		scale(m.Sigma(0)/math.Sqrt(float64(m.block)), dst)
	}
	return dst
}

// VectorTo writes u_(i+1), counting i from 0, to dst and returns it with length
// d; outside the rank all d elements are 0. Its sum is ≥ 0. See [Model.DirectionTo] for the
// direction of the typical load and the handling of dst.
func (m Model) VectorTo(dst []float64, i int) []float64 {
	dst = resize(dst, m.dim)
	if i < 0 || i >= len(m.sigma) {
		clear(dst)
		return dst
	}
	copy(dst, m.column(i))
	return dst
}
