package capacity

import (
	"fmt"
	"math"
)

// Headroom returns the room along the direction u, h = k·s in absolute units:
//
//	h = min over {i : u_i > ε} of (1 − y_i)/u_i,  ε = DefaultEpsilon
//
// at least 0, and the channel that limits it. It is Solve's k with the demand's
// size s = σ₁/√b left out: where the typical load of a fleet changes, k changes
// with it and a filter on k would chase its own ruler; h does not. Along a unit
// vector of d channels h ≤ √d. A direction without a positive element has no
// end: +Inf and −1. It returns a *FieldError.
func Headroom(y, u []float64) (h float64, limiting int, err error) {
	if len(u) != len(y) {
		return 0, -1, refuseLength("u", len(u), len(y))
	}
	h, limiting = math.Inf(1), -1
	for i, yi := range y {
		if !finite(yi) {
			return 0, -1, refuseElement("y", i, yi, "must be finite")
		}
		if !finite(u[i]) {
			return 0, -1, refuseElement("u", i, u[i], "must be finite")
		}
		if u[i] > DefaultEpsilon {
			if room := max(1-yi, 0) / u[i]; room < h {
				h, limiting = room, i
			}
		}
	}
	return h, limiting, nil
}

// LegacyDemandTo writes the expected usage of the thesis's first draft (§3.4.2)
// into dst, which it returns; dst has d elements, nil allocates:
//
//	q = Σ σ_i·u_i / Σ σ_i
//
// u holds the r directions as columns, d elements each; sigma their singular
// values, ≥ 0. It is kept for comparison with the draft. Two faults keep it from
// being the default: the sign of a direction is arbitrary, so flipping u₂, which
// describes the same data, changes q (and may make elements negative, which
// Solve refuses); and dividing by Σσ makes it blind to the size of the load, so
// k is the same on a fleet of heavy pods as on one of light ones.
// All σ = 0 gives q = 0. It returns a *FieldError and then
// leaves dst as it was.
func LegacyDemandTo(dst, u, sigma []float64) ([]float64, error) {
	d, sum, err := legacyShape(dst, u, sigma)
	if err != nil {
		return dst, err
	}
	if dst == nil {
		dst = make([]float64, d)
	}
	for j := range dst {
		dst[j] = 0
		for i, s := range sigma {
			if s > 0 {
				dst[j] += s / sum * u[i*d+j]
			}
		}
	}
	return dst, nil
}

// legacyShape returns d and Σσ.
func legacyShape(dst, u, sigma []float64) (d int, sum float64, err error) {
	r := len(sigma)
	if r == 0 {
		return 0, 0, refuseLength("sigma", 0, 1)
	}
	if d = len(u) / r; d*r != len(u) {
		return 0, 0, refuseLength("u", len(u), d*r)
	}
	if dst != nil && len(dst) != d {
		return 0, 0, refuseLength("dst", len(dst), d)
	}
	for i, s := range sigma {
		if !(s >= 0 && s <= math.MaxFloat64/float64(r)) {
			return 0, 0, refuseElement("sigma", i, s, "must be finite and not negative")
		}
		sum += s
	}
	for i, v := range u {
		if !(math.Abs(v) <= 1+1e-6) {
			return 0, 0, refuseElement("u", i, v, fmt.Sprintf("must be in [-1, 1], column %d", i/d))
		}
	}
	return d, sum, nil
}
