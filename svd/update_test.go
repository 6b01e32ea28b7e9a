package svd_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/svd"
)

func mustUpdate(t testing.TB, m svd.Model, samples [][]float64, opt svd.Options) svd.Model {
	t.Helper()
	next, err := svd.Update(m, samples, opt)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func mustFromState(t testing.TB, s svd.State) svd.Model {
	t.Helper()
	m, err := svd.FromState(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// identical reports whether two models agree to the last bit.
func identical(a, b svd.Model) bool {
	x, y := a.State(), b.State()
	return x.Dim == y.Dim && x.Block == y.Block && sameBits([]float64{x.Mass}, []float64{y.Mass}) &&
		sameBits(x.U, y.U) && sameBits(x.Sigma, y.Sigma) &&
		sameBits([]float64{x.Residual}, []float64{y.Residual}) && sameBits(x.Mean, y.Mean)
}

func sameBits(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			return false
		}
	}
	return true
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

func TestFirstBlockTakesFullWeight(t *testing.T) {
	m := mustUpdate(t, svd.Model{}, [][]float64{{3, 0}, {0, 4}}, svd.Options{Block: 2})
	if !near(m.Sigma(0), 4, 1e-15) || !near(m.Sigma(1), 3, 1e-15) || m.Mass() != 1 {
		t.Errorf("σ = %g, %g, mass %g; want 4, 3 and 1", m.Sigma(0), m.Sigma(1), m.Mass())
	}
}

// Identical samples leave σ₁ = √b·‖y‖, however many of a block arrive and
// however the past is weighted.
func TestPartialBlockIsScaledToFull(t *testing.T) {
	y := []float64{0.3, 0.4}
	for _, n := range []int{1, 3, 10} {
		samples := make([][]float64, n)
		for i := range samples {
			samples[i] = y
		}
		var m svd.Model
		for k := range 3 {
			m = mustUpdate(t, m, samples, svd.Options{})
			if want := 0.5 * math.Sqrt(10); !near(m.Sigma(0), want, 1e-14) {
				t.Errorf("b' = %d, block %d: σ₁ = %g, want %g", n, k, m.Sigma(0), want)
			}
		}
		if want := float64(n) / 10 * 1.75; !near(m.Mass(), want, 1e-15) {
			t.Errorf("b' = %d: mass %g, want %g", n, m.Mass(), want)
		}
	}
}

// With half-life h a block counts half as much after h others: of a block of
// load after many idle ones and h idle blocks later, half the energy is left.
func TestForgetting(t *testing.T) {
	zero := [][]float64{{0, 0}}
	for _, c := range []struct {
		opt    svd.Options
		blocks int
	}{
		{svd.Options{}, 1},
		{svd.Options{Alpha: 5, Beta: 5}, 1},
		{svd.Options{HalfLife: 1}, 1},
		{svd.Options{HalfLife: 8}, 8},
		{svd.Options{Alpha: math.Sqrt(0.5), Beta: 1 - math.Sqrt(0.5)}, 2},
	} {
		c.opt.Block = 1
		var m svd.Model
		for range 60 * c.blocks {
			m = mustUpdate(t, m, zero, c.opt)
		}
		m = mustUpdate(t, m, [][]float64{{1, 1}}, c.opt)
		before := m.Energy(0)
		for range c.blocks {
			m = mustUpdate(t, m, zero, c.opt)
		}
		if !near(m.Energy(0), before/2, 1e-12) {
			t.Errorf("%+v: λ₁ went from %g to %g in %d blocks", c.opt, before, m.Energy(0), c.blocks)
		}
	}
}

// A constant load after a burst: the demand is the root mean square by the
// weights of the samples, from the first block on and for any half-life.
// Checked against sums in closed form.
func TestDemandIsTheWeightedRMS(t *testing.T) {
	for _, halfLife := range []float64{1, 2, 10, 60, 1e3, 1e4, 1e6} {
		for _, sizes := range [][]int{{10}, {10, 3}, {1}, {7, 10, 1}} {
			w := math.Exp2(-1 / halfLife)
			opt := svd.Options{HalfLife: halfLife}
			var m svd.Model
			var ws svd.Workspace
			var squares, total float64
			for k := range 300 {
				y, n := .1, sizes[k%len(sizes)]
				if k < 2 {
					y = .9
				}
				samples := make([][]float64, n)
				for j := range samples {
					samples[j] = []float64{y, y / 2}
				}
				if err := svd.UpdateTo(&m, m, samples, opt, &ws); err != nil {
					t.Fatal(err)
				}
				squares, total = w*squares+float64(n)*y*y, w*total+float64(n)
				want := math.Sqrt(squares / total)
				if q := m.DemandTo(nil); !near(q[0], want, 1e-12) || !near(q[1], want/2, 1e-12) {
					t.Fatalf("half-life %g, blocks of %v, block %d: demand %.15g, want %.15g", halfLife, sizes, k, q, want)
				}
				if !near(m.Mass()/total, .1, 1e-13) {
					t.Fatalf("half-life %g, blocks of %v, block %d: mass %g, want %g", halfLife, sizes, k, m.Mass(), total/10)
				}
			}
		}
	}
}

// An update is the merge of what forgetting leaves of the past with the model
// of the block alone.
func TestUpdateEqualsMerge(t *testing.T) {
	for _, d := range []int{1, 2, 4, 12} {
		for _, halfLife := range []float64{1, 2, 10, 60, 1e3, 1e4, 1e6} {
			for _, centre := range []bool{false, true} {
				rng := rand.New(rand.NewPCG(uint64(d), 8))
				opt := svd.Options{HalfLife: halfLife, Centre: centre}
				var m svd.Model
				for k := range 40 {
					samples := block(rng, d, 10)
					if k%2 == 1 {
						samples = samples[:1+rng.IntN(10)]
					}
					past := m
					if k > 0 {
						s := m.State()
						s.Mass *= math.Exp2(-1 / halfLife)
						past = mustFromState(t, s)
					}
					want := mustMerge(t, past, mustUpdate(t, svd.Model{}, samples, opt))
					m = mustUpdate(t, m, samples, opt)
					if x := distance(m, want); !(x <= 1e-12) || !near(m.Mass()/want.Mass(), 1, 1e-12) {
						t.Fatalf("d=%d, half-life %g, block %d: off by %g, mass %g, want %g",
							d, halfLife, k, x, m.Mass(), want.Mass())
					}
					for i, mean := range want.MeanTo(nil) {
						if got := m.MeanTo(nil)[i]; !near(got, mean, 1e-12) {
							t.Fatalf("d=%d, half-life %g, block %d: mean %g, want %g", d, halfLife, k, got, mean)
						}
					}
				}
			}
		}
	}
}

// A change of the block size restates the past: the mean energy of a sample
// and the direction stay, and so does the number of samples in the mass.
func TestUpdateRestatesForAnotherBlock(t *testing.T) {
	y := [][]float64{{0.6, 0.8}, {0.6, 0.8}}
	m := mustUpdate(t, svd.Model{}, y, svd.Options{Block: 2})
	m = mustUpdate(t, m, y, svd.Options{Block: 8})
	if !near(m.Sigma(0), math.Sqrt(8), 1e-14) || m.Block() != 8 {
		t.Errorf("σ₁ = %g for blocks of %d, want √8 for 8", m.Sigma(0), m.Block())
	}
	if want := 0.5*0.25 + 0.25; !near(m.Mass(), want, 1e-15) {
		t.Errorf("mass %g, want %g", m.Mass(), want)
	}
}

// TestDeficient feeds blocks that span less than ℝ^d, also none of it.
func TestDeficient(t *testing.T) {
	var dirty svd.Workspace // what it holds must not matter
	for _, d := range []int{1, 2, 4, 9, 16, 20, 64} {
		rng := rand.New(rand.NewPCG(uint64(d), 2))
		line := make([]float64, d)
		line[0], line[d-1] = 0.5, 0.5
		zero, tiny := make([]float64, d), make([]float64, d)
		for i := range tiny {
			tiny[i] = math.Ldexp(1+rng.Float64(), -500-30*i)
		}
		if err := svd.UpdateTo(new(svd.Model), svd.Model{}, block(rng, d, 10), svd.Options{Rank: d}, &dirty); err != nil {
			t.Fatal(err)
		}
		for name, sequence := range map[string][][][]float64{
			"zeros":       {{zero}, {zero, zero}},
			"one sample":  {block(rng, d, 1)},
			"a line":      {{line, line, line}, {line}, {zero}},
			"zeros first": {{zero, zero}, block(rng, d, 3)},
			"zeros after": {block(rng, d, 3), {zero}},
			"underflow":   {{line, tiny}, {tiny}, {line, zero, tiny}},
		} {
			var m svd.Model
			for k, samples := range sequence {
				pure := mustUpdate(t, m, samples, svd.Options{Rank: d})
				if err := svd.UpdateTo(&m, m, samples, svd.Options{Rank: d}, &dirty); err != nil {
					t.Fatal(err)
				}
				if !identical(m, pure) {
					t.Fatalf("d=%d, %s, block %d: depends on the workspace", d, name, k)
				}
				s := m.State()
				if err := s.Validate(); err != nil {
					t.Fatalf("d=%d, %s, block %d: %v", d, name, k, err)
				}
				if o := orthonormality(s); len(s.Sigma) != d || o > 1e-14 {
					t.Errorf("d=%d, %s, block %d: rank %d, |UᵀU − I| = %g", d, name, k, len(s.Sigma), o)
				}
			}
		}
	}
}

// Truncation keeps the leading values of the untruncated decomposition.
func TestRankTruncates(t *testing.T) {
	for _, d := range []int{4, 12, 20} {
		rng := rand.New(rand.NewPCG(uint64(d), 3))
		samples := block(rng, d, 10)
		full := mustUpdate(t, svd.Model{}, samples, svd.Options{Rank: d})
		for r := 1; r <= d; r++ {
			m := mustUpdate(t, svd.Model{}, samples, svd.Options{Rank: r})
			if m.Rank() != r {
				t.Fatalf("rank %d, want %d", m.Rank(), r)
			}
			for i := range r {
				if !near(m.Sigma(i), full.Sigma(i), 0) {
					t.Errorf("d=%d, r=%d: σ_%d = %g, want %g", d, r, i+1, m.Sigma(i), full.Sigma(i))
				}
			}
		}
	}
	wide := mustUpdate(t, svd.Model{}, block(rand.New(rand.NewPCG(1, 1)), 40, 10), svd.Options{})
	if wide.Rank() != svd.DefaultRank {
		t.Errorf("default rank at d = 40 is %d, want %d", wide.Rank(), svd.DefaultRank)
	}
}

// Each step of a truncated stream equals the batch decomposition of what was
// kept beside the block, each with its mass.
func TestTruncatedStreamMatchesBatch(t *testing.T) {
	for _, d := range []int{4, 11, 24} {
		rng := rand.New(rand.NewPCG(uint64(d), 4))
		opt := svd.Options{Rank: 3}
		m := mustUpdate(t, svd.Model{}, block(rng, d, 10), opt)
		for range 20 {
			twin := &stream{dim: d}
			s := m.State()
			for i, sigma := range s.Sigma {
				c := make([]float64, d)
				for j, v := range column(s, i) {
					c[j] = sigma * v
				}
				twin.columns, twin.weights = append(twin.columns, c), append(twin.weights, m.Mass())
			}
			samples := block(rng, d, 1+rng.IntN(10))
			twin.append(samples, 0.5)
			mass := 0.5*m.Mass() + float64(len(samples))/10
			m = mustUpdate(t, m, samples, opt)
			sigma, _ := twin.batch(t, mass)
			for i := range 3 {
				if !near(m.Sigma(i), sigma[i], 1e-13*sigma[0]) {
					t.Fatalf("d=%d: σ_%d = %g, want %g", d, i+1, m.Sigma(i), sigma[i])
				}
			}
		}
	}
}

func TestUpdateRejects(t *testing.T) {
	good := [][]float64{{0.1, 0.2, 0.3}, {0.3, 0.2, 0.1}}
	m := mustUpdate(t, svd.Model{}, good, svd.Options{})
	with := func(v float64) [][]float64 { return [][]float64{{0.1, 0.2, 0.3}, {0.1, v, 0.3}} }
	for name, c := range map[string]struct {
		samples [][]float64
		opt     svd.Options
		cause   error
		sample  bool
	}{
		"NaN":             {with(math.NaN()), svd.Options{}, svd.ErrNotFinite, true},
		"+Inf":            {with(math.Inf(1)), svd.Options{}, svd.ErrNotFinite, true},
		"-Inf":            {with(math.Inf(-1)), svd.Options{}, svd.ErrNotFinite, true},
		"huge":            {with(1e101), svd.Options{}, svd.ErrRange, true},
		"above one":       {with(1.1), svd.Options{Unit: true}, svd.ErrRange, true},
		"below zero":      {with(-0.1), svd.Options{Unit: true}, svd.ErrRange, true},
		"NaN, unit":       {with(math.NaN()), svd.Options{Unit: true}, svd.ErrNotFinite, true},
		"short sample":    {[][]float64{{1, 2, 3}, {1, 2}}, svd.Options{}, svd.ErrLength, true},
		"empty sample":    {[][]float64{{}}, svd.Options{}, svd.ErrLength, true},
		"no samples":      {nil, svd.Options{}, svd.ErrLength, false},
		"too many":        {good, svd.Options{Block: 1}, svd.ErrLength, false},
		"rank above d":    {good, svd.Options{Rank: 4}, svd.ErrRange, false},
		"rank below 0":    {good, svd.Options{Rank: -1}, svd.ErrRange, false},
		"block below 0":   {good, svd.Options{Block: -1}, svd.ErrRange, false},
		"alpha NaN":       {good, svd.Options{Alpha: math.NaN()}, svd.ErrRange, false},
		"beta negative":   {good, svd.Options{Beta: -1}, svd.ErrRange, false},
		"half-life":       {good, svd.Options{HalfLife: -1}, svd.ErrRange, false},
		"low above high":  {good, svd.Options{EnergyLow: 0.9, EnergyHigh: 0.8}, svd.ErrRange, false},
		"high alone":      {good, svd.Options{EnergyHigh: 0.8}, svd.ErrRange, false},
		"low above 1":     {good, svd.Options{EnergyLow: 1.1, EnergyHigh: 1.2}, svd.ErrRange, false},
		"low NaN":         {good, svd.Options{EnergyLow: math.NaN(), EnergyHigh: 1}, svd.ErrRange, false},
		"centring":        {good, svd.Options{Centre: true}, svd.ErrCentring, false},
		"two forgettings": {good, svd.Options{HalfLife: 1, Alpha: 1}, svd.ErrRange, false},
	} {
		t.Run(name, func(t *testing.T) {
			dst, before := m.Clone(), m.Clone()
			err := svd.UpdateTo(&dst, m, c.samples, c.opt, nil)
			if !errors.Is(err, c.cause) {
				t.Fatalf("error %v, want %v", err, c.cause)
			}
			if text := err.Error(); c.sample != strings.Contains(text, "samples[") || c.sample && len(c.samples) == 2 && !strings.Contains(text, "samples[1]") {
				t.Errorf("error names %s", text)
			}
			if !identical(dst, before) || !identical(m, before) {
				t.Error("a rejected block has changed the model")
			}
			if err := svd.UpdateTo(&m, m, c.samples, c.opt, nil); err == nil || !identical(m, before) {
				t.Error("a rejected block has changed the model in place")
			}
		})
	}
}

// A sample that is too wide for a first block is an error as well.
func TestDimensionLimit(t *testing.T) {
	_, err := svd.Update(svd.Model{}, [][]float64{make([]float64, svd.MaxDim+1)}, svd.Options{})
	if !errors.Is(err, svd.ErrLength) {
		t.Errorf("error %v, want ErrLength", err)
	}
}

func TestNilDestination(t *testing.T) {
	if err := svd.UpdateTo(nil, svd.Model{}, [][]float64{{1}}, svd.Options{}, nil); !errors.Is(err, svd.ErrRange) {
		t.Errorf("error %v, want ErrRange", err)
	}
}

// UpdateTo in place, UpdateTo elsewhere and Update agree to the last bit, and
// the pure form leaves its argument alone.
func TestFormsAgree(t *testing.T) {
	for _, d := range []int{2, 4, 16, 20} {
		rng := rand.New(rand.NewPCG(uint64(d), 5))
		var inPlace, elsewhere, pure svd.Model
		var ws svd.Workspace
		for range 20 {
			samples := block(rng, d, 1+rng.IntN(10))
			before := pure.Clone()
			next := mustUpdate(t, pure, samples, svd.Options{})
			if !identical(pure, before) {
				t.Fatal("Update has modified its argument")
			}
			pure = next
			if err := svd.UpdateTo(&elsewhere, before, samples, svd.Options{}, &ws); err != nil {
				t.Fatal(err)
			}
			if err := svd.UpdateTo(&inPlace, inPlace, samples, svd.Options{}, &ws); err != nil {
				t.Fatal(err)
			}
			if !identical(pure, inPlace) || !identical(pure, elsewhere) {
				t.Fatalf("d=%d: the forms of Update differ", d)
			}
		}
	}
}

func TestNoAllocations(t *testing.T) {
	for _, d := range []int{1, 2, 4, 8, 15, 16, 32, 64} {
		rng := rand.New(rand.NewPCG(uint64(d), 6))
		samples := block(rng, d, 10)
		opt := svd.Options{Rank: d}
		m := mustUpdate(t, svd.Model{}, samples, opt)
		other, dst := m.Clone(), m.Clone()
		var ws svd.Workspace
		vector, matrix := make([]float64, d), make([]float64, d*d)
		centred := opt
		centred.Centre, centred.EnergyLow, centred.EnergyHigh = true, 0.9, 0.99
		c := mustUpdate(t, svd.Model{}, samples, centred)
		twin := c.Clone()
		for name, f := range map[string]func(){
			"UpdateTo":  func() { _ = svd.UpdateTo(&m, m, samples, opt, &ws) },
			"MergeTo":   func() { _ = svd.MergeTo(&dst, m, other, &ws) },
			"BlendTo":   func() { _ = svd.BlendTo(&dst, m, other, 0.5, &ws) },
			"DemandTo":  func() { m.DemandTo(vector) },
			"MomentsTo": func() { m.MomentsTo(matrix) },

			"centred UpdateTo": func() { _ = svd.UpdateTo(&c, c, samples, centred, &ws) },
			"centred MergeTo":  func() { _ = svd.MergeTo(&dst, c, twin, &ws) },
		} {
			f()
			if n := testing.AllocsPerRun(20, f); n != 0 {
				t.Errorf("d=%d: %s makes %g allocations", d, name, n)
			}
		}
	}
}

// Magnitudes far from 1 lose nothing: scaling by a power of two is exact.
func TestExtremeMagnitudes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	a, b := block(rng, 4, 10), block(rng, 4, 10)
	plain := mustUpdate(t, mustUpdate(t, svd.Model{}, a, svd.Options{}), b, svd.Options{})
	for _, exponent := range []int{-900, -300, 300, 330} {
		f := math.Ldexp(1, exponent)
		for _, samples := range [][][]float64{a, b} {
			for _, y := range samples {
				for i := range y {
					y[i] *= f
				}
			}
		}
		m := mustUpdate(t, mustUpdate(t, svd.Model{}, a, svd.Options{}), b, svd.Options{})
		for i := range 4 {
			if !near(m.Sigma(i)/f, plain.Sigma(i), 1e-14) {
				t.Errorf("2^%d: σ_%d = %g, want %g", exponent, i+1, m.Sigma(i)/f, plain.Sigma(i))
			}
		}
		for _, samples := range [][][]float64{a, b} {
			for _, y := range samples {
				for i := range y {
					y[i] /= f
				}
			}
		}
	}
}
