package svd_test

import (
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/svd"
)

// The residual is what truncation has taken from the trace, forgotten like
// the rest: kept and discarded energy together mix exactly.
func TestResidualCompletesTheTrace(t *testing.T) {
	for _, d := range []int{4, 20} {
		rng := rand.New(rand.NewPCG(uint64(d), 41))
		for _, opt := range []svd.Options{{Rank: 2}, {Rank: 1, Centre: true}, {EnergyLow: 0.8, EnergyHigh: 0.9, Alpha: 5}} {
			full := opt
			full.Rank, full.EnergyLow, full.EnergyHigh = d, 0, 0
			var m, whole svd.Model
			for k := range 30 {
				opt.Block = 10 + k/20*5
				full.Block = opt.Block
				samples := block(rng, d, 1+rng.IntN(10))
				m, whole = mustUpdate(t, m, samples, opt), mustUpdate(t, whole, samples, full)
				want := trace(whole)
				if got := trace(m) + m.Residual(); !near(got, want, 1e-12*want) {
					t.Fatalf("d=%d, %+v: kept and discarded energy is %g, want %g", d, opt, got, want)
				}
				if whole.Residual() != 0 || whole.Explained(d) != 1 {
					t.Fatalf("d=%d: a full rank has a residual of %g", d, whole.Residual())
				}
				if got, want := m.Explained(m.Rank()), trace(m)/want; !near(got, want, 1e-12) {
					t.Fatalf("d=%d, %+v: explained %g, want %g", d, opt, got, want)
				}
			}
			if merged := mustMerge(t, m, m); !near(merged.Residual(), m.Residual(), 1e-12*trace(m)) {
				t.Errorf("d=%d: merged with itself the residual goes from %g to %g", d, m.Residual(), merged.Residual())
			}
		}
	}
}

func TestExplained(t *testing.T) {
	m := mustUpdate(t, svd.Model{}, [][]float64{{3, 0, 0}, {0, 2, 0}, {0, 0, 1}}, svd.Options{Block: 3, Rank: 2})
	for r, want := range []float64{0, 9.0 / 14, 13.0 / 14, 13.0 / 14} {
		if got := m.Explained(r); !near(got, want, 1e-15) {
			t.Errorf("Explained(%d) = %g, want %g", r, got, want)
		}
	}
	if !near(m.Energy(0), 9, 1e-14) || !near(m.Energy(1), 4, 1e-14) || m.Energy(2) != 0 || !near(m.Residual(), 1, 1e-15) {
		t.Errorf("λ = %g, %g, residual %g; want 9, 4 and 1", m.Energy(0), m.Energy(1), m.Residual())
	}
	if m.Explained(-1) != 0 || (svd.Model{}).Explained(1) != 1 {
		t.Error("Explained of nothing")
	}
	tiny := mustUpdate(t, svd.Model{}, [][]float64{{3e-200, 0}, {0, 4e-200}}, svd.Options{Block: 2})
	if got := tiny.Explained(1); !near(got, 0.64, 1e-15) {
		t.Errorf("of tiny samples the first direction explains %g, want .64", got)
	}
}

// The rank follows the number of directions that the load takes, and moves
// only when the share leaves the bounds.
func TestAdaptiveRank(t *testing.T) {
	for _, d := range []int{6, 14} {
		rng := rand.New(rand.NewPCG(uint64(d), 42))
		opt := svd.Options{Block: 20, EnergyLow: 0.95, EnergyHigh: 0.999}
		// spanned returns samples of n equally strong directions.
		spanned := func(n int) [][]float64 {
			out := make([][]float64, n)
			for j := range out {
				out[j] = make([]float64, d)
				out[j][j] = 0.5 + 0.01*rng.Float64()
			}
			return out
		}
		var m svd.Model
		var ws svd.Workspace
		for _, phase := range []struct{ directions, rank int }{{1, 1}, {4, 4}, {2, 2}, {5, 5}, {1, 1}} {
			for range 12 {
				before := m.Rank()
				if err := svd.UpdateTo(&m, m, spanned(phase.directions), opt, &ws); err != nil {
					t.Fatal(err)
				}
				share, r := m.Explained(m.Rank()), m.Rank()
				if share < opt.EnergyLow-1e-12 && r < d {
					t.Fatalf("d=%d: rank %d explains %g", d, r, share)
				}
				if share > opt.EnergyHigh+1e-12 && r > 1 && m.Explained(r-1) >= opt.EnergyLow {
					t.Fatalf("d=%d: rank %d explains %g, and %d enough", d, r, share, r-1)
				}
				if r < before && m.Explained(r) < opt.EnergyLow {
					t.Fatalf("d=%d: shrunk from %d to %d, too far", d, before, r)
				}
			}
			if m.Rank() != phase.rank {
				t.Errorf("d=%d: %d directions are kept by rank %d", d, phase.directions, m.Rank())
			}
		}
		opt.Rank = 3
		if m = mustUpdate(t, svd.Model{}, spanned(d-1), opt); m.Rank() != 3 {
			t.Errorf("d=%d: rank %d exceeds the bound of 3", d, m.Rank())
		}
		// What the past has discarded cannot be found again: with the bound gone
		// the rank grows by the new sample's direction at most, not by those
		// without energy.
		opt.Rank = d
		if m = mustUpdate(t, m, spanned(1), opt); m.Rank() > 4 {
			t.Errorf("d=%d: rank %d of three directions and a sample", d, m.Rank())
		}
	}
}

// Bounds of 1 keep every direction that holds any energy, and no other.
func TestAdaptiveRankOfOne(t *testing.T) {
	opt := svd.Options{EnergyLow: 1, EnergyHigh: 1}
	m := mustUpdate(t, svd.Model{}, [][]float64{{1, 0, 0}, {0, 1, 0}}, opt)
	if m.Rank() != 2 || m.Explained(2) != 1 {
		t.Errorf("rank %d explains %g, want 2 and all", m.Rank(), m.Explained(2))
	}
}
