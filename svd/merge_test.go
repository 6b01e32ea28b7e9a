package svd_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/svd"
)

func mustMerge(t testing.TB, a, b svd.Model) svd.Model {
	t.Helper()
	m, err := svd.Merge(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// models returns n models of random streams of different lengths.
func models(t testing.TB, rng *rand.Rand, d, n int) []svd.Model {
	out := make([]svd.Model, n)
	for i := range out {
		for range 1 + rng.IntN(6) {
			out[i] = mustUpdate(t, out[i], block(rng, d, 1+rng.IntN(10)), svd.Options{Rank: d})
		}
	}
	return out
}

// distance is the largest difference of the moments, over the largest moment:
// blind to the signs and ties that leave U undetermined.
func distance(a, b svd.Model) float64 {
	ga, gb := a.MomentsTo(nil), b.MomentsTo(nil)
	var worst, largest float64
	for i := range ga {
		worst = max(worst, math.Abs(ga[i]-gb[i]))
		largest = max(largest, math.Abs(ga[i]))
	}
	if largest == 0 {
		return worst
	}
	return worst / largest
}

func TestMergeIsCommutativeAndAssociative(t *testing.T) {
	for _, d := range []int{1, 2, 4, 9, 16, 20} {
		rng := rand.New(rand.NewPCG(uint64(d), 11))
		for range 20 {
			ms := models(t, rng, d, 3)
			a, b, c := ms[0], ms[1], ms[2]
			ab, ba := mustMerge(t, a, b), mustMerge(t, b, a)
			left, right := mustMerge(t, ab, c), mustMerge(t, a, mustMerge(t, b, c))
			if x := distance(ab, ba); x > 1e-13 || !near(ab.Mass(), ba.Mass(), 0) {
				t.Errorf("d=%d: merges of a and b differ by %g", d, x)
			}
			if x := distance(left, right); x > 1e-13 || !near(left.Mass(), right.Mass(), 1e-14) {
				t.Errorf("d=%d: the ways to merge a, b and c differ by %g", d, x)
			}
		}
	}
}

// The naive twin of Merge is the mass-weighted mean of the second moments.
func TestMergeMatchesMoments(t *testing.T) {
	for _, d := range []int{2, 4, 15, 16} {
		rng := rand.New(rand.NewPCG(uint64(d), 12))
		for range 20 {
			ms := models(t, rng, d, 2)
			m := mustMerge(t, ms[0], ms[1])
			mean, other := ms[0].MomentsTo(nil), ms[1].MomentsTo(nil)
			share := ms[0].Mass() / (ms[0].Mass() + ms[1].Mass())
			for i := range mean {
				mean[i] = share*mean[i] + (1-share)*other[i]
			}
			want, err := svd.FromMoments(d, 10, m.Mass(), mean)
			if err != nil {
				t.Fatal(err)
			}
			if x := distance(m, want); x > 1e-13 {
				t.Errorf("d=%d: the merge is off by %g", d, x)
			}
			if o := orthonormality(m.State()); o > 1e-13 {
				t.Errorf("d=%d: |UᵀU − I| = %g", d, o)
			}
		}
	}
}

// Low ranks add up, so that nothing is lost.
func TestMergeOfLowRanks(t *testing.T) {
	for _, d := range []int{4, 20} {
		rng := rand.New(rand.NewPCG(uint64(d), 13))
		low := mustUpdate(t, svd.Model{}, block(rng, d, 10), svd.Options{Rank: 1})
		two := mustUpdate(t, svd.Model{}, block(rng, d, 10), svd.Options{Rank: 2})
		full := mustUpdate(t, svd.Model{}, block(rng, d, 10), svd.Options{Rank: d})
		for _, c := range []struct {
			a, b svd.Model
			rank int
		}{{low, two, 3}, {two, low, 3}, {low, full, d}, {full, two, d}} {
			m := mustMerge(t, c.a, c.b)
			if m.Rank() != c.rank {
				t.Errorf("d=%d: rank %d, want %d", d, m.Rank(), c.rank)
			}
			mean, other := c.a.MomentsTo(nil), c.b.MomentsTo(nil)
			for i := range mean {
				mean[i] = (mean[i] + other[i]) / 2
			}
			want, err := svd.FromMoments(d, 10, 2, mean)
			if err != nil {
				t.Fatal(err)
			}
			if x := distance(m, want); x > 1e-13 {
				t.Errorf("d=%d: the merge is off by %g", d, x)
			}
		}
	}
}

func TestMergeIdentity(t *testing.T) {
	a := models(t, rand.New(rand.NewPCG(1, 14)), 4, 1)[0]
	s := a.State()
	s.Mass = 0
	weightless, err := svd.FromState(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []svd.Model{{}, weightless} {
		if !identical(mustMerge(t, a, e), a) || !identical(mustMerge(t, e, a), a) {
			t.Error("a model of mass 0 has changed a merge")
		}
	}
	if m := mustMerge(t, svd.Model{}, svd.Model{}); !m.Equal(svd.Model{}) {
		t.Errorf("two empty models merge to %+v", m)
	}
}

// The same samples stated for blocks of 5 and of 10 merge like themselves.
func TestMergeRestatesBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 15))
	samples := block(rng, 4, 5)
	five := mustUpdate(t, svd.Model{}, samples, svd.Options{Block: 5})
	ten := mustUpdate(t, svd.Model{}, samples, svd.Options{Block: 10})
	want := mustMerge(t, ten, ten)
	for _, m := range []svd.Model{mustMerge(t, five, ten), mustMerge(t, ten, five)} {
		if m.Block() != 10 || !near(m.Mass(), want.Mass(), 1e-15) || distance(m, want) > 1e-14 {
			t.Errorf("block %d, mass %g, off by %g", m.Block(), m.Mass(), distance(m, want))
		}
	}
}

func TestMergeRejects(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 16))
	a, b := models(t, rng, 3, 1)[0], models(t, rng, 4, 1)[0]
	dst := a.Clone()
	if err := svd.MergeTo(&dst, a, b, nil); !errors.Is(err, svd.ErrLength) || !identical(dst, a) {
		t.Errorf("error %v, want ErrLength and dst unchanged", err)
	}
	if err := svd.BlendTo(&dst, a, b, 0.5, nil); !errors.Is(err, svd.ErrLength) || !identical(dst, a) {
		t.Errorf("error %v, want ErrLength and dst unchanged", err)
	}
	if err := svd.MergeTo(nil, a, a, nil); !errors.Is(err, svd.ErrRange) {
		t.Errorf("error %v, want ErrRange", err)
	}
	if err := svd.BlendTo(nil, a, a, 0.5, nil); !errors.Is(err, svd.ErrRange) {
		t.Errorf("error %v, want ErrRange", err)
	}
	s := a.State()
	s.Mass = svd.MaxMass
	heavy, err := svd.FromState(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := svd.Merge(heavy, heavy); !errors.Is(err, svd.ErrRange) {
		t.Errorf("error %v, want ErrRange", err)
	}
	for _, share := range []float64{-0.1, 1.1, math.NaN()} {
		if _, err := svd.Blend(a, a, share); !errors.Is(err, svd.ErrRange) {
			t.Errorf("share %g: error %v, want ErrRange", share, err)
		}
	}
}

// Every operand may be the destination.
func TestMergeAliases(t *testing.T) {
	for _, d := range []int{4, 20} {
		rng := rand.New(rand.NewPCG(uint64(d), 17))
		ms := models(t, rng, d, 2)
		a, b := ms[0], ms[1]
		want := mustMerge(t, a, b)
		left, right, both := a.Clone(), b.Clone(), a.Clone()
		var ws svd.Workspace
		if svd.MergeTo(&left, left, b, &ws) != nil || svd.MergeTo(&right, a, right, &ws) != nil ||
			svd.MergeTo(&both, both, both, &ws) != nil {
			t.Fatal("a merge was rejected")
		}
		if !identical(left, want) || !identical(right, want) {
			t.Errorf("d=%d: a merge into an operand differs", d)
		}
		if x := distance(both, a); x > 1e-13 || !near(both.Mass(), 2*a.Mass(), 0) {
			t.Errorf("d=%d: a merge with itself has changed the moments by %g, the mass from %g to %g", d, x, a.Mass(), both.Mass())
		}
	}
}

func TestBlend(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 18))
	ms := models(t, rng, 4, 2)
	local, global := ms[0], ms[1]
	for _, share := range []float64{0, 0.2, 0.5, 1} {
		m, err := svd.Blend(local, global, share)
		if err != nil {
			t.Fatal(err)
		}
		gl, gg, g := local.MomentsTo(nil), global.MomentsTo(nil), m.MomentsTo(nil)
		for i := range g {
			if want := (1-share)*gl[i] + share*gg[i]; !near(g[i], want, 1e-13) {
				t.Errorf("share %g: moment %d is %g, want %g", share, i, g[i], want)
			}
		}
		if m.Mass() != local.Mass() || m.Block() != local.Block() {
			t.Errorf("share %g: mass %g, block %d; want those of the local model", share, m.Mass(), m.Block())
		}
	}
	for _, share := range []float64{0, 0.5, 1} {
		if m, err := svd.Blend(svd.Model{}, global, share); err != nil || !identical(m, global) {
			t.Errorf("share %g: a fresh node does not take the global model", share)
		}
		if m, err := svd.Blend(local, svd.Model{}, share); err != nil || !identical(m, local) {
			t.Errorf("share %g: a fleet without a model changes the local one", share)
		}
	}
}

// Blend states the global model for the local block size.
func TestBlendRestates(t *testing.T) {
	y := [][]float64{{0.6, 0.8}}
	local := mustUpdate(t, svd.Model{}, y, svd.Options{Block: 4})
	global := mustUpdate(t, svd.Model{}, y, svd.Options{Block: 100})
	m, err := svd.Blend(local, global, 0.5)
	if err != nil || m.Block() != 4 || !near(m.Sigma(0), 2, 1e-14) {
		t.Errorf("σ₁ = %g for blocks of %d, want 2 for 4 (%v)", m.Sigma(0), m.Block(), err)
	}
}
