package svd

import "math"

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
// A *FieldError reports differing dimensions or a mass beyond MaxMass.
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
		return fieldError("dst", 0, ErrNil)
	}
	if err := sameDim(a, b); err != nil {
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
	fa, ma := a.restate(block)
	fb, mb := b.restate(block)
	mass := ma + mb
	if mass > MaxMass {
		return fieldError("Mass", mass, ErrRange)
	}
	join(dst, a, fa*math.Sqrt(ma/mass), b, fb*math.Sqrt(mb/mass), block, mass, ws)
	return nil
}

// Blend returns the effective model of a node that listens to its fleet:
//
//	U'Σ' = svd([√(1−share)·U_l Σ_l  √share·U_g Σ_g])
//
// with the share of the global model in [0, 1], and the mass and block size
// of the local one. If one of the models is empty the result is the other,
// whatever the share: a fresh node starts from the fleet's load.
//
// A *FieldError reports differing dimensions or a share out of range.
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
		return fieldError("dst", 0, ErrNil)
	}
	if !(share >= 0 && share <= 1) {
		return fieldError("share", share, ErrRange)
	}
	if err := sameDim(local, global); err != nil {
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
	f, _ := global.restate(local.block)
	join(dst, local, math.Sqrt(1-share), global, f*math.Sqrt(share), local.block, local.mass, ws)
	return nil
}

func sameDim(a, b Model) error {
	if a.dim != b.dim && a.dim != 0 && b.dim != 0 {
		return fieldError("Dim", float64(b.dim), ErrDimension)
	}
	return nil
}

// join stores svd([fa·UaΣa  fb·UbΣb]), untruncated.
func join(dst *Model, a Model, fa float64, b Model, fb float64, block int, mass float64, ws *Workspace) {
	if ws == nil {
		ws = new(Workspace)
	}
	if warm(b) && !warm(a) {
		a, fa, b, fb = b, fb, a, fa
	}
	rank := min(a.dim, len(a.sigma)+len(b.sigma))
	factor, unit := balance(max(fa*a.Sigma(0), fb*b.Sigma(0)))
	ws.appendModel(b, fb*factor, ws.begin(a, fa*factor, len(b.sigma)))
	ws.decompose(unit)
	ws.store(dst, rank, block, mass)
}
