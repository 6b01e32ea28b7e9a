package kalman_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/kalman"
)

// finite fails the test on a NaN or an infinity in an estimate.
func finite(t *testing.T, e kalman.Estimate) {
	t.Helper()
	for _, v := range []float64{e.Level, e.LevelSD, e.Cost, e.CostSD, e.MeanPods, e.Capacity()} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("%v in %+v", v, e)
		}
	}
}

// FuzzStep applies a configuration and two measurements repeatedly.
func FuzzStep(f *testing.F) {
	f.Add(.5, 2.0, .9, 3.0, .1, 4e-4, .03, .003, 9.0)
	f.Add(1.0, 1e6, .03, 0.0, 1e3, 1e-12, 1e6, 1e6, math.MaxFloat64)
	f.Add(.03, 1e6, .04, 1e6-1, 1e-6, 1.0, 0.0, 0.0, 1e-300)
	f.Add(1.0, 1e6, .04, 1e6-1, 1e-6, 1.0, 0.0, 0.0, 1e-300)
	f.Fuzz(func(t *testing.T, z1, n1, z2, n2, prior, noise, level, cost, gate float64) {
		c := kalman.Config{Prior: prior, Noise: noise, LevelDrift: level, CostDrift: cost, Gate: gate, Saturation: 2}
		s := kalman.State{}
		for i := range 40 {
			z, n := z1, n1
			if i%3 > 0 || i > 30 {
				z, n = z2, n2
			}
			next, _, err := kalman.Step(s, z, n, c)
			if err != nil && next != s {
				t.Fatalf("state changed by a rejected measurement")
			}
			if err == nil {
				if err := next.Validate(); err != nil {
					t.Fatalf("%v after (%v, %v) on %+v", err, z, n, s)
				}
				finite(t, next.Estimate(c))
			}
			s = next
		}
	})
}

// FuzzStepState applies a measurement to an arbitrary state.
func FuzzStepState(f *testing.F) {
	f.Add(.5, 2.0, .5, .01, .2, .01, 0.0, 2.0, 1e-3, 3)
	f.Add(.5, 47.0, -17.0, .001, .2, .02, 0.0, 2.0, .00025, 98) // P_c above its prior
	f.Fuzz(func(t *testing.T, z, n, level, levelVar, cost, costVar, cov, mean, diff float64, outliers int) {
		s := kalman.State{
			Level: level, LevelVar: levelVar, Cost: cost, CostVar: costVar, Cov: cov, MeanPods: mean,
			DiffVar: diff, LastSignal: z, LastPods: n, Outliers: outliers, Started: true,
		}
		c := kalman.Config{Saturation: 2}
		next, _, err := kalman.Step(s, z, n, c)
		if err != nil {
			if !sameBits(s, next) {
				t.Fatalf("state changed by a rejected step: %+v", next)
			}
			return
		}
		finite(t, next.Estimate(c))
	})
}

func sameBits(a, b kalman.State) bool {
	return cmp.Equal(a, b, cmp.Comparer(func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }))
}

// FuzzPerChannel drives two channels with 8 bytes per observation.
func FuzzPerChannel(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := kalman.NewPerChannel(kalman.Config{}, kalman.Config{Prior: .1})
		if err != nil {
			t.Fatal(err)
		}
		before, after := p.EstimatesTo(nil), p.EstimatesTo(nil)
		for ; len(data) >= 8; data = data[8:] {
			b := binary.LittleEndian.Uint64(data)
			o := kalman.Observation{
				Headroom: []float64{float64(b&0xff) / 250, float64(b>>8&0xff) / 250},
				Pods:     float64(int16(b>>16)) / 8, Churn: b>>40&3 == 0, Transitioning: float64(int8(b>>42)) / 4, Pause: b>>50&7 == 0,
			}
			err := p.Step(o)
			after = p.EstimatesTo(after)
			if err != nil && !cmp.Equal(before, after) {
				t.Fatalf("a rejected observation changed %+v to %+v", before, after)
			}
			for _, e := range after {
				finite(t, e)
			}
			copy(before, after)
		}
	})
}

// FuzzPool shrinks any finite estimate towards any fleet.
func FuzzPool(f *testing.F) {
	f.Add(.1, .05, .2, .1, .5, .125, true)
	f.Add(1e200, 1e200, 1e200, 1e200, 1e200, 1e200, true)
	f.Fuzz(func(t *testing.T, cost, sd, fleet, fleetSD, spread, floor float64, known bool) {
		if !(cost > 0 && sd >= 0) || math.IsInf(cost, 0) || math.IsInf(sd, 0) {
			return
		}
		e := kalman.Pool(kalman.Estimate{Cost: cost, CostSD: sd, Known: known, Level: .5, Started: true}, kalman.Fleet{Cost: fleet, SD: fleetSD}, spread, floor)
		finite(t, e)
		if !(e.Cost > 0) || !(e.CostSD >= 0) {
			t.Fatalf("cost %v ± %v", e.Cost, e.CostSD)
		}
	})
}
