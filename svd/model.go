package svd

import (
	"math"
	"slices"
)

// Limits of a model. They bound what a decoder accepts and keep squares and
// sums of accepted values far from overflow.
const (
	// MaxDim is the largest number of channels d.
	MaxDim = 64
	// MaxBlock is the largest block size b.
	MaxBlock = 1 << 20
	// MaxMass is the largest mass m, in blocks.
	MaxMass = 1e100
	// MaxMagnitude bounds the absolute value of a sample.
	MaxMagnitude = 1e100
	// MaxRMS bounds σ₁/√b, the root mean square of the samples along u₁.
	MaxRMS = 1e120
)

// Model summarises a stream of samples y ∈ ℝ^d by the left singular vectors
// and the singular values of its exponentially weighted matrix (d × samples),
// stated for one block of b samples:
//
//	U      d×r, orthonormal columns; the sum of each column is ≥ 0
//	σ      σ₁ ≥ … ≥ σ_r ≥ 0; λ_i = σ_i² is the energy of b samples along u_i
//	mass   the weight of all samples seen, in blocks
//	mean   of the samples, if the model is centred: λ is then the energy
//	       about it
//	residual  the energy of b samples outside U, which truncation discarded
//
// The zero value is the empty model: mass 0 and the identity of [Merge].
//
// Models are values: the pure functions never modify one. The To forms
// overwrite the storage of dst, which a plain copy of dst shares; take a
// [Model.Clone] of what must survive. A Model may be read from any number of
// goroutines as long as none uses it as a destination.
type Model struct {
	dim, block int
	mass       float64
	u          []float64 // dim×rank, column-major
	sigma      []float64 // rank
	residual   float64
	mean       []float64 // dim if the model is centred, otherwise none
}

// Dim returns d, the number of channels; 0 for the zero Model.
func (m Model) Dim() int { return m.dim }

// Rank returns r, the number of singular values kept, 0 ≤ r ≤ d.
func (m Model) Rank() int { return len(m.sigma) }

// Block returns b, the number of samples that the singular values stand for.
func (m Model) Block() int { return m.block }

// Mass returns m, the weight of the samples seen, in blocks; at constant
// forgetting w it tends to 1/(1−w).
func (m Model) Mass() float64 { return m.mass }

// Sigma returns σ_(i+1), counting i from 0; 0 outside the rank.
func (m Model) Sigma(i int) float64 {
	if i < 0 || i >= len(m.sigma) {
		return 0
	}
	return m.sigma[i]
}

// Clone returns a copy that shares no storage with m.
func (m Model) Clone() Model {
	m.u = slices.Clone(m.u)
	m.sigma = slices.Clone(m.sigma)
	m.mean = slices.Clone(m.mean)
	return m
}

// Equal reports whether the two models hold equal values.
func (m Model) Equal(o Model) bool {
	return m.dim == o.dim && m.block == o.block && m.mass == o.mass &&
		m.residual == o.residual && slices.Equal(m.u, o.u) &&
		slices.Equal(m.sigma, o.sigma) && slices.Equal(m.mean, o.mean)
}

// empty reports whether m has no weight, as if no sample had been seen.
func (m Model) empty() bool { return m.mass == 0 }

// column returns u_i, counting i from 0.
func (m Model) column(i int) []float64 { return m.u[i*m.dim : (i+1)*m.dim] }

// restate returns the factor of σ and the mass of m when it is stated for
// blocks of another size; both leave the mean energy of a sample unchanged.
func (m Model) restate(block int) (factor, mass float64) {
	if m.block == block || m.block == 0 {
		return 1, m.mass
	}
	ratio := float64(block) / float64(m.block)
	return math.Sqrt(ratio), m.mass / ratio
}

// assign overwrites dst with a copy of m in dst's own storage.
func (m Model) assign(dst *Model) {
	u, sigma := resize(dst.u, len(m.u)), resize(dst.sigma, len(m.sigma))
	copy(u, m.u)
	copy(sigma, m.sigma)
	next := Model{dim: m.dim, block: m.block, mass: m.mass, u: u, sigma: sigma, residual: m.residual}
	if m.Centred() {
		next.mean = resize(dst.mean, m.dim)
		copy(next.mean, m.mean)
	}
	*dst = next
}

// resize returns s with length n, reallocated only if its capacity is short.
// The contents are unspecified.
func resize(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}
