package experiment

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// errPairs is wrapped where an interval cannot be computed from the given pairs.
var errPairs = errors.New("an interval needs at least two pairs of positive, finite numbers")

// PairedRatio returns the ratio of a to b, quantities above 0 that were measured in pairs, with its
// 95 % confidence interval:
//
//	exp(mean ln(aᵢ/bᵢ)) · exp(±t(n−1) · s/√n)
//
// with s the standard deviation of the logarithms and t Student's quantile. What drifts slowly on
// the machine is the same in both halves of a pair and cancels out. There is an error unless two pairs at least are given, all positive and finite.
func PairedRatio(a, b []float64) (Interval, error) {
	if err := checkPairs(a, b); err != nil {
		return Interval{}, err
	}
	logs := make([]float64, len(a))
	for i := range a {
		logs[i] = math.Log(a[i] / b[i])
		if !(a[i] > 0 && b[i] > 0) || math.IsInf(logs[i], 0) || math.IsNaN(logs[i]) {
			return Interval{}, fmt.Errorf("%w: pair %d is %v and %v", errPairs, i, a[i], b[i])
		}
	}
	i := intervalOf(logs)
	i.Mean, i.Low, i.High = math.Exp(i.Mean), math.Exp(i.Low), math.Exp(i.High)
	return i, nil
}

// PairedDifference returns the mean of a−b with its 95 % confidence interval, for quantities that
// may be 0. There is an error unless as many a as b are given, two at least.
func PairedDifference(a, b []float64) (Interval, error) {
	if err := checkPairs(a, b); err != nil {
		return Interval{}, err
	}
	return intervalOf(floats.SubTo(make([]float64, len(a)), a, b)), nil
}

func checkPairs(a, b []float64) error {
	if len(a) != len(b) || len(a) < 2 {
		return fmt.Errorf("%w: %d and %d numbers", errPairs, len(a), len(b))
	}
	return nil
}
