package svd

import (
	"fmt"
	"math"
)

// Merge returns the model of the union of what a and b have seen, each
// weighted by its mass:
//
//	U'Σ' = svd([√(m₁/(m₁+m₂))·U₁Σ₁  √(m₂/(m₁+m₂))·U₂Σ₂]),  m' = m₁ + m₂
//
// It is commutative and associative up to rounding, as no singular value is
// dropped: the rank is min(d, r₁+r₂). A model of mass 0 is the identity. The
// block size is the larger of the two; the other model is restated for it
// (σ by √(b'/b), mass by b/b'), so every sample keeps its weight.
//
// Two centred models merge about their joint mean, by one more column
// √(m₁m₂·b)/(m₁+m₂)·(μ₂−μ₁), which may add to the rank.
//
// An error reports differing dimensions, a mass beyond MaxMass, or
// ErrCentring if only one of the models is centred.
func Merge(a, b Model) (Model, error) {
	var merged Model
	if err := MergeTo(&merged, a, b, nil); err != nil {
		return Model{}, err
	}
	return merged, nil
}

// MergeTo is [Merge] into dst, in dst's own storage; dst may be a or b. It
// does not allocate once dst and ws have grown; a nil ws stands for a new
// one. dst is unchanged if an error is returned.
func MergeTo(dst *Model, a, b Model, ws *Workspace) error {
	if dst == nil {
		return refuse("dst", nil, ErrRange)
	}
	if err := compatible(a, b); err != nil {
		return err
	}
	switch {
	case a.dim == 0 || a.empty() && !b.empty():
		b.assign(dst)
		return nil
	case b.empty():
		a.assign(dst)
		return nil
	}
	block := max(a.block, b.block)
	_, ma := a.restate(block)
	_, mb := b.restate(block)
	mass := ma + mb
	if mass > MaxMass {
		return refuse("Mass", mass, ErrRange)
	}
	join(dst, a, ma/mass, b, mb/mass, block, mass, ws)
	return nil
}

// Blend returns the effective model of a node that listens to its fleet:
//
//	U'Σ' = svd([√(1−share)·U_l Σ_l  √share·U_g Σ_g])
//
// with the share of the global model in [0, 1], and the mass and block size
// of the local one. If one of the models is empty the result is the other,
// whatever the share: a fresh node starts from the fleet's load. Centred
// models blend about their joint mean.
//
// An error reports differing dimensions, a share out of range, or
// ErrCentring if only one of the models is centred.
func Blend(local, global Model, share float64) (Model, error) {
	var blended Model
	if err := BlendTo(&blended, local, global, share, nil); err != nil {
		return Model{}, err
	}
	return blended, nil
}

// BlendTo is [Blend] into dst, under the conditions of [MergeTo].
func BlendTo(dst *Model, local, global Model, share float64, ws *Workspace) error {
	if dst == nil {
		return refuse("dst", nil, ErrRange)
	}
	if !(share >= 0 && share <= 1) {
		return refuse("share", share, ErrRange)
	}
	if err := compatible(local, global); err != nil {
		return err
	}
	switch {
	case local.empty() && !global.empty():
		global.assign(dst)
		return nil
	case global.empty() || share == 0:
		local.assign(dst)
		return nil
	}
	join(dst, local, 1-share, global, share, local.block, local.mass, ws)
	return nil
}

// compatible returns an error unless a and b can be mixed; an empty model mixes with any
// other of its dimension.
func compatible(a, b Model) error {
	if a.dim != b.dim && a.dim != 0 && b.dim != 0 {
		return refuse("Dim", b.dim, fmt.Errorf("%w: the other has %d", ErrLength, a.dim))
	}
	if a.Centred() != b.Centred() && !a.empty() && !b.empty() {
		return refuse("len(Mean)", len(b.mean), ErrCentring)
	}
	return nil
}

// join stores svd([√wa·UaΣa  √wb·UbΣb]), untruncated, both stated for block;
// about the joint mean if they are centred.
func join(dst *Model, a Model, wa float64, b Model, wb float64, block int, mass float64, ws *Workspace) {
	if ws == nil {
		ws = new(Workspace)
	}
	if warm(b) && !warm(a) {
		a, wa, b, wb = b, wb, a, wa
	}
	fa, _ := a.restate(block)
	fb, _ := b.restate(block)
	fa, fb = fa*math.Sqrt(wa), fb*math.Sqrt(wb)
	residual := fa*fa*a.residual + fb*fb*b.residual
	columns, correction := len(b.sigma), 0.0
	if a.Centred() {
		correction = ws.mixMeans(a.mean, wa, b.mean, wb, block)
		columns++
	}
	rank := min(a.dim, len(a.sigma)+columns)
	factor, unit := balance(max(fa*a.Sigma(0), fb*b.Sigma(0), correction))
	first := ws.begin(a, fa*factor, columns)
	ws.appendModel(b, fb*factor, first)
	if a.Centred() {
		ws.appendColumn(first+len(b.sigma), factor, ws.shift)
	}
	ws.decompose(unit)
	ws.store(dst, rank, block, mass, residual)
}
