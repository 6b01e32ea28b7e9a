package baseline_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim/baseline"
)

func TestMostAllocated(t *testing.T) {
	tests := []struct {
		name      string
		alloc     baseline.Resources
		requested baseline.Resources
		want      int64
	}{
		{"empty", machine, baseline.Resources{}, 0},
		// cpu 100·2/4 = 50, memory 100·4/16 = 25, mean 37.5 rounded down.
		{"half of the cores", machine, baseline.Resources{CPU: 2, Memory: 4 * gi}, 37},
		// One pod of 100m and 200Mi: 2.5 and 1.2 rounded down to 2 and 1.
		{"one pod of defaults", machine, baseline.NonZero(baseline.Resources{}), 1},
		// Pods that declare nothing may exceed it: 100 and 50.
		{"too many cores", machine, baseline.Resources{CPU: 5, Memory: 8 * gi}, 75},
		{"full", machine, machine, 100},
		{"no cores", baseline.Resources{Memory: 16 * gi}, baseline.Resources{CPU: 1, Memory: 4 * gi}, 25},
		{"no memory", baseline.Resources{CPU: 4}, baseline.Resources{CPU: 3, Memory: 4 * gi}, 75},
		{"nothing", baseline.Resources{}, machine, 0},
	}
	for _, test := range tests {
		if got := baseline.MostAllocated(test.alloc, test.requested); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

// powerAt is the power of a model at x percent.
func powerAt(m baseline.PowerModel, x float64) float64 { return m.K0 + m.K1*math.Exp(m.K2*x) }

// twinPeaks computes PEAKS' scores by its formulas, in thousandths of a core and per cent: the rise
// of K0 + K1·exp(K2·x), but none if x were above 100, and then the share of the way down from the
// dearest node to the cheapest, in hundredths rounded up.
func twinPeaks(models []baseline.PowerModel, percent []float64, cores []int64, milli int64) (raw, scores []float64) {
	for i, m := range models {
		rise, with := 0., percent[i]+float64(milli)/float64(cores[i])/10
		if with <= 100 {
			rise = powerAt(m, with) - powerAt(m, percent[i])
		}
		raw = append(raw, rise)
	}
	cheapest, dearest := slices.Min(raw), slices.Max(raw)
	for _, rise := range raw {
		switch {
		case cheapest == 0 && dearest == 0:
			scores = append(scores, 0)
		case cheapest == dearest:
			scores = append(scores, 100)
		default:
			scores = append(scores, 100*(dearest-rise)/(dearest-cheapest))
		}
	}
	return raw, scores
}

// Cases are random nodes, some overfull, and pods without requests.
func TestPeaksAsItsAuthorsHaveIt(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	full, unasked := 0, 0
	for range 2000 {
		milli := int64(rng.IntN(4)) * int64(rng.IntN(1500))
		var models []baseline.PowerModel
		var percent []float64
		var cores, raw []int64
		for i := range 1 + rng.IntN(6) {
			models = append(models, baseline.PowerModel{K0: 100 * rng.Float64(), K1: 200*rng.Float64() - 100, K2: .04*rng.Float64() - .02})
			cores = append(cores, int64(1+rng.IntN(64)))
			percent = append(percent, 100*rng.Float64())
			raw = append(raw, baseline.Peaks(models[i], percent[i]/100*float64(cores[i]), float64(milli)/1000, float64(cores[i])))
			if raw[i] == 0 {
				full++
			}
		}
		if milli == 0 {
			unasked++
		}
		want, scores := twinPeaks(models, percent, cores, milli)
		for i := range raw {
			if math.Abs(float64(raw[i])*1e-15-want[i]) > 1e-9 {
				t.Fatalf("%d, want %v W", raw[i], want[i])
			}
		}
		for i, got := range baseline.NormalizePeaksTo(nil, raw) {
			if up := float64(got) - scores[i]; up < -1e-6 || up > 1+1e-6 {
				t.Fatalf("%v: scored %d, want %v rounded up", raw, got, scores[i])
			}
		}
	}
	if full < 500 || unasked < 100 {
		t.Errorf("%d nodes were full, %d pods requested nothing", full, unasked)
	}
}

func TestNormalizePeaks(t *testing.T) {
	for _, test := range []struct {
		name      string
		raw, want []int64
	}{
		{"pods that request nothing", []int64{0, 0}, []int64{0, 0}},
		{"a full node is the best", []int64{5e15, 0, 1e15}, []int64{0, 100, 80}},
		{"all alike", []int64{7, 7}, []int64{100, 100}},
		{"rounded up", []int64{0, 1, 3}, []int64{100, 67, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, baseline.NormalizePeaksTo(nil, test.raw)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := baseline.NormalizePeaksTo(nil, nil); len(got) != 0 {
		t.Errorf("%v of no nodes", got)
	}
	dst := make([]int64, 0, 4)
	if got := baseline.NormalizePeaksTo(dst, []int64{1, 2}); &got[0] != &dst[:1][0] {
		t.Error("dst was not used")
	}
}

func TestPeaksBounds(t *testing.T) {
	steep := baseline.PowerModel{K1: 1e300, K2: 1}
	if a, b := baseline.Peaks(steep, 0, 1, 1), baseline.Peaks(baseline.PowerModel{K1: -1e300, K2: 1}, 0, 1, 1); a <= 0 || b >= 0 || a-b <= 0 {
		t.Errorf("%d and %d", a, b)
	}
	if got := baseline.Peaks(steep, 0, 1, 0); got != 0 {
		t.Errorf("%d of a node without cores", got)
	}
}

func TestFitPower(t *testing.T) {
	exponential := baseline.PowerModel{K0: 150, K1: -90, K2: -.03}
	for _, test := range []struct {
		name  string
		watts func(x float64) float64
		near  float64
	}{
		{"a model", func(x float64) float64 { return powerAt(exponential, x) }, 1e-6},
		{"a line", func(x float64) float64 { return 40 + .8*x }, .01},
		{"a curve", func(x float64) float64 { u := x / 100; return 40 + 80*(2*u-math.Pow(u, 1.4)) }, 2},
		{"no power", func(float64) float64 { return 0 }, 1e-9},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := baseline.FitPower(test.watts)
			for x := 0.; x <= 100; x++ {
				if miss := powerAt(m, x) - test.watts(x); !(math.Abs(miss) <= test.near) {
					t.Fatalf("%+v: off by %v W at %v %%", m, miss, x)
				}
			}
		})
	}
}
