package capacity

import (
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
// end: +Inf and −1. It returns an ErrInvalid or ErrLength.
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
