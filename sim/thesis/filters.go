package thesis

import (
	"math"
	"slices"
)

// Filter smooths the samples of one channel: it takes one after the other and returns the level. The
// first sample sets the level. It is for one goroutine.
type Filter func(x float64) (level float64)

// EMA returns the exponential moving average with one gain in (0, 1], the baseline of all filters:
//
//	m += a·(x − m)
//
// A spike of n samples leaks 1 − (1−a)ⁿ of its height.
func EMA(gain float64) Filter {
	level, started := 0., false
	return func(x float64) float64 {
		if !started {
			level, started = x, true
		}
		level = approach(level, x, gain)
		return level
	}
}

// MedianEMA returns the average of the median of the latest samples, as many as window, an odd number:
//
//	m += a·(median(x_t … x_{t−W+1}) − m)
//
// What touches at most (W−1)/2 of W samples does not pass, whatever its height; all else is delayed by
// as many samples. A window of 9 is the least that a spike of 300 ms, which touches four samples at
// 10 Hz, cannot fill by half.
func MedianEMA(window int, gain float64) Filter {
	average := EMA(gain)
	var recent, sorted []float64
	next := 0
	return func(x float64) float64 {
		if recent == nil {
			recent, sorted = slices.Repeat([]float64{x}, window), make([]float64, window)
		}
		recent[next] = x
		next = (next + 1) % window
		copy(sorted, recent)
		slices.Sort(sorted)
		return average(sorted[window/2])
	}
}

// OneEuro returns the speed-adaptive filter of G. Casiez, N. Roussel and D. Vogel, "1€ Filter",
// CHI 2012: an average whose cutoff rises with the speed of the signal, to lag less when it moves.
//
//	ẋ += a(f_d)·((x − m)·rate − ẋ)
//	m += a(f_min + β·|ẋ|)·(x − m),  a(f) = 1/(1 + rate/(2πf))
//
// The rate is in samples a second, cutoffs are in Hz, and beta is in Hz per unit of the samples a second.
func OneEuro(rate, minCutoff, beta, derivativeCutoff float64) Filter {
	gain := func(cutoff float64) float64 { return 1 / (1 + rate/(2*math.Pi*cutoff)) }
	level, speed, started := 0., 0., false
	return func(x float64) float64 {
		if !started {
			level, started = x, true
			return level
		}
		speed = approach(speed, (x-level)*rate, gain(derivativeCutoff))
		level = approach(level, x, gain(minCutoff+beta*math.Abs(speed)))
		return level
	}
}

// approach moves a level by a share gain of its distance to x.
func approach(level, x, gain float64) float64 {
	e := x - level
	next := level + gain*e
	if (next > x) == (e > 0) {
		return x // rounding must not carry the level past the sample
	}
	return next
}
