package baseline

import (
	"math"
	"slices"
)

// PowerModel is PEAKS' configuration of a node: at x percent of its CPU it takes
//
//	K0 + K1·exp(K2·x)
//
// watts.
type PowerModel struct{ K0, K1, K2 float64 }

// jump is by how much the power rises from x percent to y.
func (m PowerModel) jump(x, y float64) float64 { return m.K1 * (math.Exp(m.K2*y) - math.Exp(m.K2*x)) }

// FitPower is the model that is nearest to a node's power at each percent, by least
// squares. K2 is at most .1 either way: beyond, a hundredth part of the load would take
// most of the power.
func FitPower(watts func(percent float64) float64) PowerModel {
	var y [101]float64
	for x := range y {
		y[x] = watts(float64(x))
	}
	// The error has one minimum by K2 over what nodes take: golden-section search.
	const golden, most = .6180339887498949, .1
	low, high := -most, most
	for high-low > 1e-9 {
		a, b := high-golden*(high-low), low+golden*(high-low)
		_, missA := fitPower(y[:], a)
		_, missB := fitPower(y[:], b)
		if missA <= missB {
			high = b
		} else {
			low = a
		}
	}
	m, _ := fitPower(y[:], (low+high)/2)
	return m
}

// fitPower is the model nearest to the powers of a given K2, and the sum of the squares
// that it misses by.
func fitPower(y []float64, k2 float64) (m PowerModel, miss float64) {
	const straight = 1e-6 // as good as a line, which is no exponential function
	if math.Abs(k2) < straight {
		k2 = math.Copysign(straight, k2)
	}
	z := func(x int) float64 { return math.Expm1(k2*float64(x)) / k2 }
	var meanZ, meanY float64
	for x := range y {
		meanZ, meanY = meanZ+z(x)/float64(len(y)), meanY+y[x]/float64(len(y))
	}
	var covariance, variance float64
	for x := range y {
		covariance += (z(x) - meanZ) * (y[x] - meanY)
		variance += (z(x) - meanZ) * (z(x) - meanZ)
	}
	slope := covariance / variance
	for x := range y {
		d := y[x] - meanY - slope*(z(x)-meanZ)
		miss += d * d
	}
	m.K1, m.K2 = slope/k2, k2
	m.K0 = meanY - slope*meanZ - m.K1
	return m, miss
}

// peaksUnit makes a whole number of PEAKS' score, in watts.
const peaksUnit = 1e15

// Peaks is PEAKS' raw score of a node of so many cores, of which so many are used, for a
// pod that requests so many: by how much the pod raises the power, in 10⁻¹⁵ W. Where the
// node would be beyond its cores it is 0, as if the pod took nothing there.
func Peaks(m PowerModel, used, request, capacity float64) int64 {
	if !(capacity > 0) {
		return 0
	}
	before, after := 100*used/capacity, 100*(used+request)/capacity
	if after > 100 {
		return 0
	}
	return int64(min(max(m.jump(before, after)*peaksUnit, -mostPeaks), mostPeaks))
}

// mostPeaks keeps the difference of two scores in an int64.
const mostPeaks = math.MaxInt64 / 4

// NormalizePeaksTo writes the scores of PEAKS' raw ones, the least raw one 100, to dst,
// which grows as append does and is returned. Where all raw scores are 0 so are these.
func NormalizePeaksTo(dst []int64, raw []int64) []int64 {
	dst = slices.Grow(dst[:0], len(raw))[:len(raw)]
	if len(raw) == 0 {
		return dst
	}
	least, most := slices.Min(raw), slices.Max(raw)
	for i, cost := range raw {
		switch {
		case least == 0 && most == 0:
			dst[i] = 0
		case least == most:
			dst[i] = maxScore
		default:
			dst[i] = maxScore - int64(maxScore*float64(cost-least)/float64(most-least))
		}
	}
	return dst
}
