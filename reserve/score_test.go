package reserve_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/reserve"
)

func FuzzScore(f *testing.F) {
	f.Add(4., 9., 25., .5, .25, .5)
	f.Add(math.NaN(), math.Inf(1), -1., 0., 0., 1.)
	f.Fuzz(func(t *testing.T, free, k, g, u, blend, energy float64) {
		r := reserve.Ranking{Blend: blend, Energy: energy}
		if r.Validate() != nil {
			return
		}
		u = math.Abs(math.Remainder(u, .5))
		g = math.Min(math.Max(g, .25), 4) // or NaN if no node's goodness is known
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
