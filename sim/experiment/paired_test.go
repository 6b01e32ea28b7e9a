package experiment_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// Two pairs have one degree of freedom: the interval is mean ± 12.7062 s/√2.
func TestPairedRatioOfTwo(t *testing.T) {
	got, err := experiment.PairedRatio([]float64{2, 8}, []float64{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	mean, s := math.Log(4), math.Log(4)/math.Sqrt2
	half := 12.706204736 * s / math.Sqrt2
	for name, pair := range map[string][2]float64{
		"ratio": {got.Mean, math.Exp(mean)}, "low": {got.Low, math.Exp(mean - half)}, "high": {got.High, math.Exp(mean + half)},
	} {
		if math.Abs(pair[0]/pair[1]-1) > 1e-9 {
			t.Errorf("%s = %v, want %v", name, pair[0], pair[1])
		}
	}
}

// The interval contains the true ratio 95 times in a hundred, whatever the pairs have in common.
func TestPairedRatioCovers(t *testing.T) {
	const trials = 4000
	for _, pairs := range []int{3, 8, 11, 15, 25, 60} {
		random := rand.New(rand.NewPCG(uint64(pairs), 1))
		held := 0
		for range trials {
			a, b := make([]float64, pairs), make([]float64, pairs)
			for i := range a {
				machine := math.Exp(random.NormFloat64())
				a[i] = .97 * machine * math.Exp(.05*random.NormFloat64())
				b[i] = machine * math.Exp(.05*random.NormFloat64())
			}
			e, err := experiment.PairedRatio(a, b)
			if err != nil {
				t.Fatal(err)
			}
			if e.Low <= .97 && .97 <= e.High {
				held++
			}
		}
		// Four standard deviations of the share.
		if share := float64(held) / trials; math.Abs(share-.95) > 4*math.Sqrt(.95*.05/trials) {
			t.Errorf("%d pairs: the interval holds the ratio in %.4f of the trials", pairs, share)
		}
	}
}

// Of differences 1 and 3 the mean is 2 and s is √2: half an interval is 12.7062.
func TestPairedDifference(t *testing.T) {
	d, err := experiment.PairedDifference([]float64{1, 4}, []float64{0, 1})
	if err != nil || math.Abs(d.Mean-2) > 1e-12 || math.Abs(d.High-d.Mean-12.706204736) > 1e-9 || math.Abs(d.Mean-d.Low-12.706204736) > 1e-9 {
		t.Errorf("%v, error %v", d, err)
	}
	if _, err := experiment.PairedDifference([]float64{1}, []float64{1}); !errors.Is(err, experiment.ErrPairs) {
		t.Errorf("one pair: %v", err)
	}
	if _, err := experiment.PairedDifference([]float64{1, 2}, []float64{1}); !errors.Is(err, experiment.ErrPairs) {
		t.Errorf("half a pair: %v", err)
	}
}

func TestPairedRatioRefuses(t *testing.T) {
	if _, err := experiment.PairedRatio([]float64{1}, []float64{1}); !errors.Is(err, experiment.ErrPairs) {
		t.Errorf("one pair: %v", err)
	}
	if _, err := experiment.PairedRatio([]float64{1, 2}, []float64{1}); !errors.Is(err, experiment.ErrPairs) {
		t.Errorf("half a pair: %v", err)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := experiment.PairedRatio([]float64{1, bad}, []float64{1, 1}); !errors.Is(err, experiment.ErrPairs) || !strings.Contains(err.Error(), "pair 1 is") {
			t.Errorf("%v: %v", bad, err)
		}
		if _, err := experiment.PairedRatio([]float64{1, 1}, []float64{1, bad}); !errors.Is(err, experiment.ErrPairs) || !strings.Contains(err.Error(), "pair 1 is") {
			t.Errorf("over %v: %v", bad, err)
		}
	}
}

func ExamplePairedRatio() {
	with := []float64{148, 151, 139, 160}
	without := []float64{150, 152, 141, 161}
	e, err := experiment.PairedRatio(with, without)
	fmt.Printf("%.3f (%.3f to %.3f, %d pairs) %v", e.Mean, e.Low, e.High, e.N, err)
	// Output: 0.990 (0.983 to 0.997, 4 pairs) <nil>
}
