package reserve_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spazio-scheduler/spazio/reserve"
)

func TestFleet(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, test := range []struct {
		name       string
		goodness   []float64
		asked, got float64
	}{
		{"the median", []float64{8, 2, 4}, 4, 1},
		{"better", []float64{8, 2, 4}, 8, 2},
		{"of two: their geometric mean", []float64{1, 16}, 2, .5},
		{"of four", []float64{100, 1, 16, 1e-9}, 8, 2},
		{"a boast", []float64{8, 2, 4}, 1e300, 4},
		{"a very bad one", []float64{8, 2, 4}, 1e-300, .25},
		{"unknown gets the mean", []float64{8, 2, 4, nan}, nan, 3.5 / 3},
		{"the mean of what is clipped", []float64{4, 4, 4e9}, nan, 2},
		{"no number is unknown", []float64{4, 4, inf, 0, -1}, inf, 1},
		{"none is unknown", []float64{4, 4}, 0, 1},
		{"less than none is unknown", []float64{4, 4}, -3, 1},
		{"one node", []float64{7}, 7, 1},
		{"all are known no more", []float64{nan, inf, 0}, 5, nan},
		{"nobody", nil, nan, nan},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := slices.Clone(test.goodness)
			got := reserve.FleetOf(test.goodness).Relative(test.asked)
			if !(math.Abs(got-test.got) < 1e-12) && !(math.IsNaN(got) && math.IsNaN(test.got)) {
				t.Errorf("got %v, want %v", got, test.got)
			}
			if fmt.Sprint(before) != fmt.Sprint(test.goodness) {
				t.Errorf("%v became %v", before, test.goodness)
			}
		})
	}
	if got := (reserve.Fleet{}).Relative(3); !math.IsNaN(got) {
		t.Errorf("the zero Fleet says %v", got)
	}
}

// TestFleetIsFreeOfUnits, and a node of which nothing is known is worth what the
// others are on average.
func TestFleetIsFreeOfUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 6))
	for range 500 {
		some, scaled := make([]float64, 1+rng.IntN(40)), []float64(nil)
		for i := range some {
			if some[i] = math.Exp(3 * rng.NormFloat64()); rng.IntN(4) == 0 {
				some[i] = math.NaN()
			}
			scaled = append(scaled, 1e9*some[i])
		}
		f, g := reserve.FleetOf(some), reserve.FleetOf(scaled)
		sum, known := 0., 0.
		for i := range some {
			a, b := f.Relative(some[i]), g.Relative(scaled[i])
			if math.Abs(a-b) > 1e-9 {
				t.Fatalf("of %v: %v, in another unit %v", some, a, b)
			}
			if !math.IsNaN(some[i]) {
				sum, known = sum+a, known+1
			}
		}
		unknown := f.Relative(math.NaN())
		if known == 0 {
			if !math.IsNaN(unknown) {
				t.Fatalf("nothing is known of %v, and %v of one more", some, unknown)
			}
			continue
		}
		if math.Abs(unknown-sum/known) > 1e-12 || unknown < .25 || unknown > 4 {
			t.Fatalf("of %v: unknown counts as %v, the known as %v on average", some, unknown, sum/known)
		}
	}
}

func TestRoundCores(t *testing.T) {
	for _, test := range [][2]float64{{0, .1}, {.001, .1}, {.14, .1}, {.16, .2}, {.52, .5}, {.48, .5}, {1, 1}, {3.96, 4}, {4096, 4096}} {
		if got := reserve.RoundCores(test[0]); got != test[1] {
			t.Errorf("%v cores are rounded to %v, want %v", test[0], got, test[1])
		}
	}
}

func FuzzScore(f *testing.F) {
	f.Add(4., 9., 25., .5, .25, .5)
	f.Add(math.NaN(), math.Inf(1), -1., 0., 0., 1.)
	f.Fuzz(func(t *testing.T, free, k, g, u, blend, energy float64) {
		r := reserve.Ranking{Blend: blend, Energy: energy}
		if r.Validate() != nil {
			return
		}
		u = math.Abs(math.Remainder(u, .5))
		g = reserve.FleetOf([]float64{g, 1, 2, 3}).Relative(g)
		got := reserve.Score(free, k, g, u, r)
		if !(got >= 0) {
			t.Fatalf("Score(%v, %v, %v, %v, %+v) = %v", free, k, g, u, r, got)
		}
		if better := reserve.Score(free, k, g*1.5, u, r); better < got*(1-1e-12) {
			t.Fatalf("Score(%v, %v, %v, %v, %+v) = %v, and %v of a better node", free, k, g, u, r, got, better)
		}
		if wider := reserve.Score(free+1, k, g, u, r); wider < got*(1-1e-12) {
			t.Fatalf("Score(%v, %v, %v, %v, %+v) = %v, and %v of a node with more room", free, k, g, u, r, got, wider)
		}
	})
}

func BenchmarkScore(b *testing.B) {
	for _, r := range []reserve.Ranking{{}, {Energy: .5}, {Energy: .25}, {Blend: .25, Energy: .5}} {
		b.Run(fmt.Sprintf("blend=%v/energy=%v", r.Blend, r.Energy), func(b *testing.B) {
			b.ReportAllocs()
			sum := 0.
			for b.Loop() {
				sum += reserve.Score(3, 2, 1.5, .5, r)
			}
			if sum == 0 {
				b.Fatal("nothing was scored")
			}
		})
	}
}
