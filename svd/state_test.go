package svd_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/svd"
)

func TestStateRoundTrip(t *testing.T) {
	for _, d := range []int{1, 2, 4, 16, 64} {
		rng := rand.New(rand.NewPCG(uint64(d), 21))
		for _, m := range models(t, rng, d, 5) {
			back, err := svd.FromState(m.State())
			if err != nil {
				t.Fatal(err)
			}
			if !identical(back, m) {
				t.Errorf("d=%d: the model has changed on its way", d)
			}
		}
	}
}

// States share no storage with models.
func TestStateIsACopy(t *testing.T) {
	m := models(t, rand.New(rand.NewPCG(1, 22)), 3, 1)[0]
	before := m.Clone()
	s := m.State()
	other, err := svd.FromState(s)
	if err != nil {
		t.Fatal(err)
	}
	s.U[0], s.Sigma[0] = 7, 7
	if !identical(m, before) || !identical(other, before) {
		t.Error("writing to a State has changed a Model")
	}
}

// A transport in single precision costs its digits but not orthonormality.
func TestSinglePrecision(t *testing.T) {
	for _, m := range models(t, rand.New(rand.NewPCG(1, 23)), 4, 20) {
		s := m.State()
		for i, v := range s.U {
			s.U[i] = float64(float32(v))
		}
		got, err := svd.FromState(s)
		if err != nil {
			t.Fatal(err)
		}
		if o := orthonormality(got.State()); o > 1e-14 {
			t.Errorf("|UᵀU − I| = %g", o)
		}
		if x := distance(got, m); x > 1e-6 {
			t.Errorf("the moments are off by %g", x)
		}
	}
}

// FromState applies the sign rule to a foreign decomposition.
func TestFromStateOrients(t *testing.T) {
	m, err := svd.FromState(svd.State{Dim: 2, Block: 10, Mass: 1, U: []float64{-0.6, -0.8, -0.8, 0.6}, Sigma: []float64{2, 1}})
	if err != nil {
		t.Fatal(err)
	}
	if u := m.State().U; u[0] != 0.6 || u[1] != 0.8 || u[2] != 0.8 || u[3] != -0.6 {
		t.Errorf("U = %v", u)
	}
	// A sum of zero leaves the choice to the first component.
	h := math.Sqrt(0.5)
	m, err = svd.FromState(svd.State{Dim: 2, Block: 10, Mass: 1, U: []float64{-h, h}, Sigma: []float64{2}})
	if err != nil {
		t.Fatal(err)
	}
	if u := m.State().U; u[0] != h || u[1] != -h {
		t.Errorf("U = %v", u)
	}
}

func TestStateRejects(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		change func(*svd.State)
		field  string
		index  int
		cause  error
	}{
		"d = 0":            {func(s *svd.State) { s.Dim = 0 }, "Dim", -1, svd.ErrRange},
		"d too large":      {func(s *svd.State) { s.Dim = 65 }, "Dim", -1, svd.ErrRange},
		"d negative":       {func(s *svd.State) { s.Dim = -1 }, "Dim", -1, svd.ErrRange},
		"b = 0":            {func(s *svd.State) { s.Block = 0 }, "Block", -1, svd.ErrRange},
		"b too large":      {func(s *svd.State) { s.Block = svd.MaxBlock + 1 }, "Block", -1, svd.ErrRange},
		"mass negative":    {func(s *svd.State) { s.Mass = -1 }, "Mass", -1, svd.ErrRange},
		"mass NaN":         {func(s *svd.State) { s.Mass = nan }, "Mass", -1, svd.ErrNotFinite},
		"mass infinite":    {func(s *svd.State) { s.Mass = inf }, "Mass", -1, svd.ErrNotFinite},
		"no sigma":         {func(s *svd.State) { s.Sigma = nil }, "len(Sigma)", -1, svd.ErrLength},
		"r > d":            {func(s *svd.State) { s.Sigma = []float64{3, 2, 1} }, "len(Sigma)", -1, svd.ErrLength},
		"short U":          {func(s *svd.State) { s.U = s.U[:3] }, "len(U)", -1, svd.ErrLength},
		"ascending":        {func(s *svd.State) { s.Sigma = []float64{1, 2} }, "Sigma", 1, svd.ErrOrder},
		"sigma negative":   {func(s *svd.State) { s.Sigma[1] = -1 }, "Sigma", 1, svd.ErrRange},
		"sigma NaN":        {func(s *svd.State) { s.Sigma[1] = nan }, "Sigma", 1, svd.ErrNotFinite},
		"sigma infinite":   {func(s *svd.State) { s.Sigma[0] = inf }, "Sigma", 0, svd.ErrNotFinite},
		"sigma huge":       {func(s *svd.State) { s.Sigma[0] = 1e130 }, "Sigma", 0, svd.ErrRange},
		"U NaN":            {func(s *svd.State) { s.U[2] = nan }, "U", 2, svd.ErrNotFinite},
		"U not normal":     {func(s *svd.State) { s.U[0] = 1.1 }, "U", 0, svd.ErrOrthonormal},
		"U overflows":      {func(s *svd.State) { s.U[3] = 1e300 }, "U", 2, svd.ErrOrthonormal},
		"U not orthogonal": {func(s *svd.State) { s.U = []float64{1, 0, 1, 0} }, "U", 2, svd.ErrOrthonormal},
	} {
		t.Run(name, func(t *testing.T) {
			s := svd.State{Dim: 2, Block: 10, Mass: 1, U: []float64{1, 0, 0, 1}, Sigma: []float64{2, 1}}
			c.change(&s)
			_, err := svd.FromState(s)
			if !errors.Is(err, c.cause) || !names(err, indexed(c.field, c.index)+" =") {
				t.Errorf("error %v, want %s: %v", err, indexed(c.field, c.index), c.cause)
			}
		})
	}
}

func TestMomentsRoundTrip(t *testing.T) {
	for _, d := range []int{1, 2, 4, 16, 40} {
		rng := rand.New(rand.NewPCG(uint64(d), 24))
		for _, m := range models(t, rng, d, 5) {
			back, err := svd.FromMoments(d, m.Block(), m.Mass(), m.MomentsTo(nil))
			if err != nil {
				t.Fatal(err)
			}
			if x := distance(back, m); x > 1e-13 {
				t.Errorf("d=%d: the moments are off by %g", d, x)
			}
			if err := back.State().Validate(); err != nil {
				t.Errorf("d=%d: %v", d, err)
			}
			if o := orthonormality(back.State()); o > 1e-13 {
				t.Errorf("d=%d: |UᵀU − I| = %g", d, o)
			}
		}
	}
}

// Moments are additive, so an aggregator can take a node out of a sum again.
func TestMomentsSubtract(t *testing.T) {
	ms := models(t, rand.New(rand.NewPCG(1, 25)), 4, 2)
	sum := make([]float64, 16)
	for _, m := range ms {
		for i, g := range m.MomentsTo(nil) {
			sum[i] += m.Mass() * g
		}
	}
	for i, g := range ms[1].MomentsTo(nil) {
		sum[i] = (sum[i] - ms[1].Mass()*g) / ms[0].Mass()
	}
	m, err := svd.FromMoments(4, 10, ms[0].Mass(), sum)
	if err != nil {
		t.Fatal(err)
	}
	if x := distance(m, ms[0]); x > 1e-13 {
		t.Errorf("what is left is off by %g", x)
	}
}

func TestFromMomentsExtremes(t *testing.T) {
	for _, f := range []float64{0, 1e-300, 1e-30, 1e30, 1e200} {
		m, err := svd.FromMoments(2, 10, 1, []float64{4 * f, 0, 0, f})
		if err != nil {
			t.Fatal(err)
		}
		if want := 2 * math.Sqrt(f); !near(m.Sigma(0), want, 1e-14*want) || !near(m.Sigma(1), want/2, 1e-14*want) {
			t.Errorf("f = %g: σ = %g, %g", f, m.Sigma(0), m.Sigma(1))
		}
		if err := m.State().Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestFromMomentsRejects(t *testing.T) {
	good := []float64{2, 1, 1, 2}
	for name, c := range map[string]struct {
		dim, block int
		mass       float64
		g          []float64
		cause      error
	}{
		"dim":        {0, 10, 1, nil, svd.ErrRange},
		"block":      {2, 0, 1, good, svd.ErrRange},
		"mass":       {2, 10, -1, good, svd.ErrRange},
		"mass NaN":   {2, 10, math.NaN(), good, svd.ErrNotFinite},
		"length":     {2, 10, 1, good[:3], svd.ErrLength},
		"NaN":        {2, 10, 1, []float64{1, math.NaN(), 0, 1}, svd.ErrNotFinite},
		"huge":       {2, 10, 1, []float64{1e300, 0, 0, 1}, svd.ErrRange},
		"asymmetric": {2, 10, 1, []float64{1, 0.1, 0, 1}, svd.ErrIndefinite},
		"negative":   {2, 10, 1, []float64{1, 0, 0, -0.1}, svd.ErrIndefinite},
		// Its columns are orthogonal as they stand: only uᵀGu shows it.
		"saddle": {2, 10, 1, []float64{0, 1, 1, 0}, svd.ErrIndefinite},
	} {
		_, err := svd.FromMoments(c.dim, c.block, c.mass, c.g)
		if !errors.Is(err, c.cause) {
			t.Errorf("%s: error %v, want %v", name, err, c.cause)
		}
	}
}

// indexed is the name of an element, or of the whole for an index below 0.
func indexed(field string, index int) string {
	if index < 0 {
		return field
	}
	return fmt.Sprintf("%s[%d]", field, index)
}

// VectorTo gives the columns of the State, in the storage of dst.
func TestVectorTo(t *testing.T) {
	m := models(t, rand.New(rand.NewPCG(1, 26)), 4, 1)[0]
	dst := make([]float64, 7)
	for i := range 4 {
		got := m.VectorTo(dst, i)
		if &got[0] != &dst[0] || !sameBits(got, column(m.State(), i)) {
			t.Errorf("u_%d = %v of %v", i+1, got, m.State().U)
		}
	}
	for _, i := range []int{-1, 4} {
		for _, v := range m.VectorTo(nil, i) {
			if v != 0 {
				t.Errorf("u_%d = %v outside of the rank", i+1, m.VectorTo(nil, i))
			}
		}
	}
	if got := (svd.Model{}).VectorTo(dst, 0); len(got) != 0 {
		t.Errorf("of the zero Model: %v", got)
	}
}

// FromMoments takes rounding for what it is, and nothing more.
func TestFromMomentsTolerance(t *testing.T) {
	for _, c := range []struct {
		g     []float64
		valid bool
	}{
		{[]float64{1, 1e-10, 0, 1}, true},
		{[]float64{1, 1e-8, 0, 1}, false},
		{[]float64{1, 0, 0, -1e-10}, true},
		{[]float64{1, 0, 0, -1e-8}, false},
	} {
		if _, err := svd.FromMoments(2, 10, 1, c.g); (err == nil) != c.valid {
			t.Errorf("%v: error %v", c.g, err)
		}
	}
}
