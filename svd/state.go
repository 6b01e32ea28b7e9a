package svd

import (
	"math"
	"slices"
)

// orthonormalTolerance bounds |UᵀU − I| of an accepted State. It leaves room
// for a wire format of single precision; [FromState] then restores U to
// working precision.
const orthonormalTolerance = 1e-6

// State is a [Model] as plain data, for storage and transport. A State is not
// safe for use by a goroutine while another modifies it.
type State struct {
	// Dim is d, in [1, MaxDim]; Block is b, in [1, MaxBlock].
	Dim, Block int
	// Mass is m, in blocks, in [0, MaxMass].
	Mass float64
	// U holds d·r values, column by column; its columns are orthonormal.
	U []float64
	// Sigma holds r values, 1 ≤ r ≤ d, descending, ≥ 0.
	Sigma []float64
	// Residual is the energy of b samples that truncation discarded, ≥ 0.
	Residual float64
	// Mean holds the d means of a centred model, each at most MaxMagnitude;
	// its samples are counted by Mass·Block. It is empty for any other.
	Mean []float64
}

// Validate returns an error for the first field that is not as
// documented; U must be orthonormal to 1e-6.
func (s State) Validate() error {
	switch {
	case s.Dim < 1 || s.Dim > MaxDim:
		return refuse("Dim", s.Dim, ErrRange)
	case s.Block < 1 || s.Block > MaxBlock:
		return refuse("Block", s.Block, ErrRange)
	case math.IsNaN(s.Mass) || math.IsInf(s.Mass, 0):
		return refuse("Mass", s.Mass, ErrNotFinite)
	case s.Mass < 0 || s.Mass > MaxMass:
		return refuse("Mass", s.Mass, ErrRange)
	case len(s.Sigma) < 1 || len(s.Sigma) > s.Dim:
		return refuse("len(Sigma)", len(s.Sigma), ErrLength)
	case len(s.U) != s.Dim*len(s.Sigma):
		return refuse("len(U)", len(s.U), ErrLength)
	case math.IsNaN(s.Residual) || math.IsInf(s.Residual, 0):
		return refuse("Residual", s.Residual, ErrNotFinite)
	case s.Residual < 0 || s.Residual > maxEnergy(s.Dim, s.Block):
		return refuse("Residual", s.Residual, ErrRange)
	case len(s.Mean) != 0 && len(s.Mean) != s.Dim:
		return refuse("len(Mean)", len(s.Mean), ErrLength)
	}
	for i, v := range s.Mean {
		if !(math.Abs(v) <= MaxMagnitude) {
			return refuseElement("Mean", i, v, rangeOrFinite(v))
		}
	}
	if err := s.validateSigma(); err != nil {
		return err
	}
	for i, v := range s.U {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return refuseElement("U", i, v, ErrNotFinite)
		}
	}
	if dev, at := deviation(s.U, s.Dim, len(s.Sigma)); !(dev <= orthonormalTolerance) {
		return refuseElement("U", at, dev, ErrOrthonormal)
	}
	return nil
}

func (s State) validateSigma() error {
	limit := MaxRMS * math.Sqrt(float64(s.Block))
	for i, v := range s.Sigma {
		var cause error
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			cause = ErrNotFinite
		case v < 0 || v > limit:
			cause = ErrRange
		case i > 0 && v > s.Sigma[i-1]:
			cause = ErrOrder
		default:
			continue
		}
		return refuseElement("Sigma", i, v, cause)
	}
	return nil
}

// deviation returns the largest element of |UᵀU − I| for the first n columns
// of u, and the index in u at which its column begins.
func deviation(u []float64, d, n int) (largest float64, at int) {
	for i := range n {
		x := u[i*d : (i+1)*d]
		for j := range i + 1 {
			g := dot(x, u[j*d:(j+1)*d])
			if i == j {
				g--
			}
			if dev := math.Abs(g); !(dev <= largest) {
				largest, at = dev, i*d
			}
		}
	}
	return largest, at
}

// FromState returns the model that s describes; s is copied. If U is less
// than orthonormal to working precision, as after a transport in single
// precision, it is made so, and the sign rule is applied; the State of a
// Model comes back to the last bit. The error is that of [State.Validate].
func FromState(s State) (Model, error) {
	if err := s.Validate(); err != nil {
		return Model{}, err
	}
	m := Model{
		dim: s.Dim, block: s.Block, mass: s.Mass,
		u: slices.Clone(s.U), sigma: slices.Clone(s.Sigma), residual: s.Residual,
	}
	if len(s.Mean) > 0 {
		m.mean = slices.Clone(s.Mean)
	}
	if dev, _ := deviation(m.u, m.dim, len(m.sigma)); dev > 1e-13 {
		orthonormalise(m.u, m.dim, len(m.sigma))
	}
	orient(m.u, m.dim, len(m.sigma))
	return m, nil
}

// State returns m as plain data that shares no storage with it. The State of
// the zero Model is the zero State, which does not validate: an empty model
// is not worth sending.
func (m Model) State() State {
	return State{
		Dim: m.dim, Block: m.block, Mass: m.mass,
		U: slices.Clone(m.u), Sigma: slices.Clone(m.sigma),
		Residual: m.residual, Mean: slices.Clone(m.mean),
	}
}
