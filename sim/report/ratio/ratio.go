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

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

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
	if err := paired(a, b); err != nil {
		return Estimate{}, err
	}
	logs := make([]float64, len(a))
	for i := range a {
		logs[i] = math.Log(a[i] / b[i])
		if !(a[i] > 0 && b[i] > 0) || math.IsInf(logs[i], 0) || math.IsNaN(logs[i]) {
			return Estimate{}, &PairError{Index: i, A: a[i], B: b[i]}
		}
	}
	mean, half := interval(logs)
	return Estimate{Ratio: math.Exp(mean), Low: math.Exp(mean - half), High: math.Exp(mean + half), Pairs: len(a)}, nil
}

// Difference returns the mean of a−b with half of its 95 % interval, mean ± t(n−1)·s/√n,
// for quantities that may be 0. The error is ErrFew, or a *field.Error where the
// lengths differ.
func Difference(a, b []float64) (mean, half float64, err error) {
	if err := paired(a, b); err != nil {
		return 0, 0, err
	}
	mean, half = interval(floats.SubTo(make([]float64, len(a)), a, b))
	return mean, half, nil
}

func paired(a, b []float64) error {
	switch {
	case len(a) != len(b):
		return report.Refuse("len(b)", len(b), fmt.Sprintf("%d, that of a", len(a)))
	case len(a) < 2:
		return ErrFew
	}
	return nil
}

// interval is the mean of values with half of its 95 % interval.
func interval(values []float64) (mean, half float64) {
	mean, deviation := stat.MeanStdDev(values, nil)
	n := float64(len(values))
	return mean, distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(.975) * stat.StdErr(deviation, n)
}
