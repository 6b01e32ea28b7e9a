package svd_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/svd"
)

// refused fails unless err names the field and the cause.
func refused(t *testing.T, what string, err error, field string, cause error) {
	t.Helper()
	if !names(err, field+" =") || !errors.Is(err, cause) {
		t.Errorf("%s: error %v, want %s: %v", what, err, field, cause)
	}
}

// names reports whether err is one of package svd whose text begins with that of the field.
func names(err error, field string) bool {
	return err != nil && strings.HasPrefix(err.Error(), "svd: "+field)
}

func taken(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// TestOptionBounds: what lies at a bound is taken, what lies beyond refused.
func TestOptionBounds(t *testing.T) {
	taken(t, "largest block", svd.Options{Block: svd.MaxBlock}.Validate())
	refused(t, "above it", svd.Options{Block: svd.MaxBlock + 1}.Validate(), "Block", svd.ErrRange)
	taken(t, "least weight", svd.Options{Alpha: 1e-6}.Validate())
	refused(t, "below it", svd.Options{Alpha: 9e-7}.Validate(), "Alpha", svd.ErrRange)
	taken(t, "all energy", svd.Options{EnergyLow: 1, EnergyHigh: 1}.Validate())
	refused(t, "negative share", svd.Options{EnergyLow: -1, EnergyHigh: .5}.Validate(), "EnergyLow", svd.ErrRange)
	refused(t, "more than all", svd.Options{EnergyLow: 1.5, EnergyHigh: 1}.Validate(), "EnergyLow", svd.ErrRange)
}

func TestSampleBounds(t *testing.T) {
	const most = svd.MaxMagnitude
	_, err := svd.Update(svd.Model{}, [][]float64{{most, -most}}, svd.Options{})
	taken(t, "largest samples", err)
	_, err = svd.Update(svd.Model{}, [][]float64{{most, -1.01 * most}}, svd.Options{})
	refused(t, "larger ones", err, "samples[0][1]", svd.ErrRange)
	_, err = svd.Update(svd.Model{}, [][]float64{{0, 1}}, svd.Options{Unit: true})
	taken(t, "the ends of the unit interval", err)
	m := mustUpdate(t, svd.Model{}, [][]float64{{.1, .2}}, svd.Options{})
	_, err = svd.Update(m, [][]float64{{.1, .2, .3}}, svd.Options{})
	refused(t, "a channel more than the model has", err, "len(samples[0])", svd.ErrLength)
}

func TestStateBounds(t *testing.T) {
	good := svd.State{Dim: 2, Block: 4, Mass: 1, U: []float64{1, 0, 0, 1}, Sigma: []float64{2, 1}}
	const most = svd.MaxRMS
	for _, c := range []struct {
		what   string
		change func(*svd.State)
		field  string // that is refused
		cause  error
	}{
		{"largest block", func(s *svd.State) { s.Block = svd.MaxBlock }, "", nil},
		{"larger block", func(s *svd.State) { s.Block = svd.MaxBlock + 1 }, "Block", svd.ErrRange},
		{"largest energy left out", func(s *svd.State) { s.Residual = 2 * most * most * 4 }, "", nil},
		{"more energy", func(s *svd.State) { s.Residual = 2.02 * most * most * 4 }, "Residual", svd.ErrRange},
		{"largest mean", func(s *svd.State) { s.Mean = []float64{svd.MaxMagnitude, 0} }, "", nil},
		{"larger mean", func(s *svd.State) { s.Mean = []float64{0, 1.01 * svd.MaxMagnitude} }, "Mean[1]", svd.ErrRange},
		{"largest singular value", func(s *svd.State) { s.Sigma[0] = 2 * most }, "", nil},
		{"larger singular value", func(s *svd.State) { s.Sigma[0] = 2.02 * most }, "Sigma[0]", svd.ErrRange},
		{"no vectors", func(s *svd.State) { clear(s.U) }, "U[0]", svd.ErrOrthonormal},
	} {
		s := good
		s.U, s.Sigma = append([]float64(nil), good.U...), append([]float64(nil), good.Sigma...)
		c.change(&s)
		if err := s.Validate(); c.field == "" {
			taken(t, c.what, err)
		} else {
			refused(t, c.what, err, c.field, c.cause)
		}
	}
}

func TestMomentBounds(t *testing.T) {
	const most = svd.MaxRMS * svd.MaxRMS
	identity := make([]float64, svd.MaxDim*svd.MaxDim)
	for i := range svd.MaxDim {
		identity[i*(svd.MaxDim+1)] = 1
	}
	from := func(dim, block int, mass float64, g ...float64) error {
		_, err := svd.FromMoments(dim, block, mass, g)
		return err
	}
	taken(t, "largest dimension", from(svd.MaxDim, 1, 1, identity...))
	taken(t, "largest block", from(1, svd.MaxBlock, 1, 1))
	refused(t, "no block", from(1, 0, 1, 1), "block", svd.ErrRange)
	refused(t, "larger block", from(1, svd.MaxBlock+1, 1, 1), "block", svd.ErrRange)
	taken(t, "no mass", from(1, 1, 0, 1))
	taken(t, "largest mass", from(1, 1, svd.MaxMass, 1))
	taken(t, "largest moment", from(1, 4, 1, 4*most))
	refused(t, "larger moment", from(1, 4, 1, 4.04*most), "g[0]", svd.ErrRange)

	// Tolerances are relative, and the element is named.
	for _, s := range []float64{1e-6, .3, 1e6} {
		taken(t, "rounding", from(3, 1, 1, s, 0, 0, 0, s, .1*s, 0, .1*s*(1+1e-9), s))
		err := from(3, 1, 1, s, 0, 0, 0, s, .1*s, 0, .1*s+3e-9*s, s)
		refused(t, "not symmetric", err, "g[7]", svd.ErrIndefinite)
		if value := .1*s + 3e-9*s; !names(err, fmt.Sprintf("g[7] = %v:", value)) {
			t.Errorf("%v, want the value %v", err, value)
		}
		err = from(3, 1, 1, s, 0, 0, 0, s, 0, 0, 0, -2e-9*s)
		refused(t, "not semidefinite", err, "g[8]", svd.ErrIndefinite)
		if value := -2e-9 * s; !names(err, fmt.Sprintf("g[8] = %v:", value)) {
			t.Errorf("%v, want the value %v", err, value)
		}
	}
}

// TestDstIsOverwritten: nothing of what dst held is left.
func TestDstIsOverwritten(t *testing.T) {
	tie := mustUpdate(t, svd.Model{}, [][]float64{{1, 0}, {0, 1}}, svd.Options{Block: 2})
	junk := func(n int) []float64 {
		s := make([]float64, n)
		for i := range s {
			s[i] = 7 * float64(i+1)
		}
		return s
	}
	for what, got := range map[string][2][]float64{
		"direction":        {tie.DirectionTo(junk(2)), {math.Sqrt2 / 2, math.Sqrt2 / 2}},
		"moments":          {tie.MomentsTo(junk(4)), {1, 0, 0, 1}},
		"no such vector":   {tie.VectorTo(junk(2), 2), {0, 0}},
		"vector":           {tie.VectorTo(junk(2), 0), {1, 0}}, // the sort is stable
		"the other vector": {tie.VectorTo(junk(2), 1), {0, 1}},
	} {
		for i, want := range got[1] {
			if !near(got[0][i], want, 1e-15) {
				t.Errorf("%s: %v, want %v", what, got[0], got[1])
				break
			}
		}
	}
}

// TestRoundingBelowZero: a component below 0 by rounding is 0, one below that is
// itself.
func TestRoundingBelowZero(t *testing.T) {
	const edge = -64 * 0x1p-53
	for v, want := range map[float64]float64{edge: 0, 1.001 * edge: 1.001 * edge, -0x1p-60: 0} {
		m := mustFromState(t, svd.State{Dim: 2, Block: 1, Mass: 1, U: []float64{1, v}, Sigma: []float64{1}})
		if got := m.DirectionTo(nil)[1]; got != want {
			t.Errorf("a component of %g is %g, want %g", v, got, want)
		}
	}
}

// TestCompleteIsFirst: where nothing was seen the vectors are the channels, in
// their order.
func TestCompleteIsFirst(t *testing.T) {
	m := mustUpdate(t, svd.Model{}, [][]float64{{0, 0, 0}}, svd.Options{})
	for i := range 3 {
		if u := m.VectorTo(nil, i); u[i] != 1 {
			t.Errorf("vector %d is %v", i, u)
		}
	}
}

// TestEqual: models that differ in one thing alone are not equal.
func TestEqual(t *testing.T) {
	base := svd.State{Dim: 2, Block: 2, Mass: 1, U: []float64{1, 0}, Sigma: []float64{1}, Residual: .5, Mean: []float64{.1, .2}}
	m := mustFromState(t, base)
	if !m.Equal(mustFromState(t, base)) {
		t.Error("a model is not equal to itself")
	}
	for what, change := range map[string]func(*svd.State){
		"block":    func(s *svd.State) { s.Block = 3 },
		"mass":     func(s *svd.State) { s.Mass = 2 },
		"vectors":  func(s *svd.State) { s.U = []float64{0, 1} },
		"values":   func(s *svd.State) { s.Sigma = []float64{2} },
		"residual": func(s *svd.State) { s.Residual = .25 },
		"mean":     func(s *svd.State) { s.Mean = []float64{.1, .3} },
		"centring": func(s *svd.State) { s.Mean = nil },
	} {
		s := base
		change(&s)
		if m.Equal(mustFromState(t, s)) {
			t.Errorf("equal though the %s differs", what)
		}
	}
}

// TestCloneKeepsItsMean: an update in place of the original leaves the clone.
func TestCloneKeepsItsMean(t *testing.T) {
	opt := svd.Options{Centre: true}
	m := mustUpdate(t, svd.Model{}, [][]float64{{.1, .2}, {.3, .2}}, opt)
	kept := m.Clone()
	if err := svd.UpdateTo(&m, m, [][]float64{{.9, .9}}, opt, nil); err != nil {
		t.Fatal(err)
	}
	if mean := kept.MeanTo(nil); !near(mean[0], .2, 1e-15) || !near(mean[1], .2, 1e-15) {
		t.Errorf("mean of the clone %v, want .2 .2", mean)
	}
}

// TestMergeToTheLargestMass: the sum may be MaxMass, no more.
func TestMergeToTheLargestMass(t *testing.T) {
	half := mustFromState(t, svd.State{Dim: 1, Block: 1, Mass: svd.MaxMass / 2, U: []float64{1}, Sigma: []float64{1}})
	whole, err := svd.Merge(half, half)
	if err != nil || whole.Mass() != svd.MaxMass {
		t.Fatalf("mass %v, %v", whole.Mass(), err)
	}
	_, err = svd.Merge(whole, half)
	refused(t, "more than the largest mass", err, "Mass", svd.ErrRange)
}

// TestWorkspaceOfAnySize: a Workspace serves problems of any size in any order.
func TestWorkspaceOfAnySize(t *testing.T) {
	var ws svd.Workspace
	for _, d := range []int{5, 2, 7, 1, 3} {
		samples := make([][]float64, 4)
		for j := range samples {
			samples[j] = make([]float64, d)
			for i := range samples[j] {
				samples[j][i] = float64((i*7+j*5)%11) / 11
			}
		}
		var got svd.Model
		if err := svd.UpdateTo(&got, svd.Model{}, samples, svd.Options{}, &ws); err != nil {
			t.Fatal(err)
		}
		if want := mustUpdate(t, svd.Model{}, samples, svd.Options{}); !got.Equal(want) {
			t.Errorf("d=%d: %+v, in a fresh workspace %+v", d, got.State(), want.State())
		}
	}
}

// TestRankAtTheEnergyBounds: a share at a bound lies within it, and between the
// bounds the rank rests.
func TestRankAtTheEnergyBounds(t *testing.T) {
	equal := [][]float64{{1, 0}, {0, 1}} // each direction has half of the energy
	rank := func(m svd.Model, samples [][]float64, opt svd.Options) int {
		opt.Block = len(samples)
		return mustUpdate(t, m, samples, opt).Rank()
	}
	if r := rank(svd.Model{}, equal, svd.Options{EnergyLow: .5, EnergyHigh: 1}); r != 1 {
		t.Errorf("rank %d where one direction holds the lower bound", r)
	}
	two := mustUpdate(t, svd.Model{}, equal, svd.Options{Block: 2})
	if r := rank(two, equal, svd.Options{EnergyLow: .5, EnergyHigh: .75}); r != 1 {
		t.Errorf("rank %d where two directions hold more than the upper bound and one the lower", r)
	}
	for _, high := range []float64{1, .99999} {
		// Of 1 and 1/4 the first direction is .8: two hold all.
		want := 2
		if high < 1 {
			want = 1
		}
		if r := rank(two, [][]float64{{4, 0}, {4, .5}}, svd.Options{EnergyLow: .6, EnergyHigh: high}); r != want {
			t.Errorf("rank %d with an upper bound of %g, want %d", r, high, want)
		}
	}
	three := mustUpdate(t, svd.Model{}, [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, svd.Options{Block: 3})
	if r := rank(three, [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, svd.Options{Rank: 2, EnergyLow: .9, EnergyHigh: 1}); r != 2 {
		t.Errorf("rank %d above its limit of 2", r)
	}
	if r := rank(svd.Model{}, [][]float64{{0, 0}, {0, 0}}, svd.Options{EnergyLow: .9, EnergyHigh: .95}); r != 1 {
		t.Errorf("rank %d of samples of zero, want 1", r)
	}
	// Between the bounds: of three equal directions two hold two thirds.
	if r := rank(three, [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, svd.Options{EnergyLow: .3, EnergyHigh: .7}); r != 2 {
		t.Errorf("rank %d, want the 2 that first lies within the bounds", r)
	}
}
