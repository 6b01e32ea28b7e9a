package aggregate

import "math"

// Sway bounds the angle, in radians, by which nodes with the given share of the
// weight, in [0,1), can have turned the global direction u₁ from where the
// others' models alone put it; see the package documentation. It is π/2 where
// nothing can be promised.
func (g Global) Sway(share float64) float64 {
	if !(share >= 0 && share < g.Kept) || g.Model.Dim() < 2 {
		if g.Model.Dim() == 1 {
			return 0
		}
		return math.Pi / 2
	}
	moved := share * g.Reach / (g.Kept - share)
	gap := (g.Model.Energy(0) - g.Model.Energy(1)) / float64(g.Model.Block())
	if !(2*moved < gap) {
		return math.Pi / 2
	}
	return math.Asin(moved / (gap - moved))
}
