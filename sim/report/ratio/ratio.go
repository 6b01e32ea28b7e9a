// Package ratio estimates the ratio of two quantities from pairs of
// measurements that were taken one after the other.
//
//	ratio = exp(mean ln(aᵢ/bᵢ)),  95 % interval = ratio · exp(±t(n−1) · s/√n)
//
// with s the standard deviation of the logarithms and t Student's quantile. The
// machine's state, which drifts, is the same in both halves of a pair and
// cancels out.
//
// Types that do not speak of concurrent use are plain values.
package ratio

import (
	"errors"
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim/report"
)

// ErrFew is returned for fewer pairs than an interval needs.
var ErrFew = errors.New("ratio: an interval needs two pairs at least")

// PairError names a pair whose quantities are not both positive and finite.
type PairError struct {
	Index int
	A, B  float64
}

// Error implements error.
func (e *PairError) Error() string {
	return fmt.Sprintf("ratio: pair %d is %v and %v, want two positive numbers", e.Index, e.A, e.B)
}

// Estimate is a ratio with its 95 % interval. It is a plain value, safe for
// concurrent reading.
type Estimate struct {
	Ratio, Low, High float64
	Pairs            int
}

// Width is the larger distance of the interval's ends from the ratio, relative
// to it.
func (e Estimate) Width() float64 { return e.High/e.Ratio - 1 }

// String gives the ratio with its interval and the number of pairs.
func (e Estimate) String() string {
	return fmt.Sprintf("%.3f (%.3f to %.3f, %d pairs)", e.Ratio, e.Low, e.High, e.Pairs)
}

// Of returns the ratio of a to b, which hold the quantities of each pair. The
// error is ErrFew, a *PairError, or a *field.Error where the lengths differ.
func Of(a, b []float64) (Estimate, error) {
	if len(a) != len(b) {
		return Estimate{}, report.Refuse("len(b)", len(b), fmt.Sprintf("%d, that of a", len(a)))
	}
	n := float64(len(a))
	if n < 2 {
		return Estimate{}, ErrFew
	}
	mean := 0.
	logs := make([]float64, len(a))
	for i := range a {
		logs[i] = math.Log(a[i] / b[i])
		if !(a[i] > 0 && b[i] > 0) || math.IsInf(logs[i], 0) || math.IsNaN(logs[i]) {
			return Estimate{}, &PairError{Index: i, A: a[i], B: b[i]}
		}
		mean += logs[i] / n
	}
	squares := 0.
	for _, l := range logs {
		squares += (l - mean) * (l - mean)
	}
	half := student(len(a)-1) * math.Sqrt(squares/(n-1)/n)
	return Estimate{Ratio: math.Exp(mean), Low: math.Exp(mean - half), High: math.Exp(mean + half), Pairs: len(a)}, nil
}

// Difference returns the mean of a−b with half of its 95 % interval, mean ± t(n−1)·s/√n,
// for quantities that may be 0. The error is ErrFew, or a *field.Error where the
// lengths differ.
func Difference(a, b []float64) (mean, half float64, err error) {
	if len(a) != len(b) {
		return 0, 0, report.Refuse("len(b)", len(b), fmt.Sprintf("%d, that of a", len(a)))
	}
	n := float64(len(a))
	if n < 2 {
		return 0, 0, ErrFew
	}
	for i := range a {
		mean += (a[i] - b[i]) / n
	}
	squares := 0.
	for i := range a {
		d := a[i] - b[i] - mean
		squares += d * d
	}
	return mean, student(len(a)-1) * math.Sqrt(squares/(n-1)/n), nil
}

// quantiles are those of Student's distribution at .975 for 1 to 10 degrees of
// freedom.
var quantiles = [...]float64{12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281}

// student returns Student's quantile at .975, beyond the table by Fisher's
// expansion about the normal one (Abramowitz and Stegun, 26.7.5), there within
// 10⁻⁴.
func student(degrees int) float64 {
	if degrees <= len(quantiles) {
		return quantiles[degrees-1]
	}
	const z = 1.959963984540054
	const z3, z5 = z * z * z, z * z * z * z * z
	v := float64(degrees)
	return z + (z3+z)/(4*v) + (5*z5+16*z3+3*z)/(96*v*v) + (3*z5*z*z+19*z5+17*z3-15*z)/(384*v*v*v)
}
