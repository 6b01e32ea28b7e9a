package svd_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/svd"
)

// weighted is the naive twin of centred models: every sample with its weight.
type weighted struct {
	samples [][]float64
	weights []float64
}

func (s *weighted) append(samples [][]float64, w float64) {
	for i := range s.weights {
		s.weights[i] *= w
	}
	for _, y := range samples {
		s.samples = append(s.samples, y)
		s.weights = append(s.weights, 1)
	}
}

// scatter returns the mean and, for b samples, the scatter about it.
func (s *weighted) scatter(d, b int) (mean, g []float64) {
	mean, g = make([]float64, d), make([]float64, d*d)
	var total float64
	for _, w := range s.weights {
		total += w
	}
	for j, y := range s.samples {
		for i, v := range y {
			mean[i] += s.weights[j] / total * v
		}
	}
	for n, y := range s.samples {
		for i := range d {
			for j := range d {
				g[i*d+j] += float64(b) * s.weights[n] / total * (y[i] - mean[i]) * (y[j] - mean[j])
			}
		}
	}
	return mean, g
}

// union mixes the samples of a and b by the given weights of each.
func union(a, b weighted, wa, wb float64) weighted {
	var out weighted
	for i, y := range a.samples {
		out.samples, out.weights = append(out.samples, y), append(out.weights, wa*a.weights[i])
	}
	for i, y := range b.samples {
		out.samples, out.weights = append(out.samples, y), append(out.weights, wb*b.weights[i])
	}
	return out
}

func (s weighted) compare(t *testing.T, what string, m svd.Model) {
	t.Helper()
	mean, g := s.scatter(m.Dim(), m.Block())
	got := m.MeanTo(nil)
	for i := range mean {
		if !near(got[i], mean[i], 1e-13) {
			t.Fatalf("%s: mean %g at %d, want %g", what, got[i], i, mean[i])
		}
	}
	for i, v := range m.MomentsTo(nil) {
		if !near(v, g[i], 1e-12*max(1, m.Energy(0))) {
			t.Fatalf("%s: scatter %g at %d, want %g", what, v, i, g[i])
		}
	}
	if o := orthonormality(m.State()); o > 1e-13 {
		t.Fatalf("%s: |UᵀU − I| = %g", what, o)
	}
}

// TestCentredMatchesScatter follows two streams, their merge and their blend.
func TestCentredMatchesScatter(t *testing.T) {
	for _, d := range []int{1, 2, 4, 11, 12, 20} {
		rng := rand.New(rand.NewPCG(uint64(d), 51))
		opt := svd.Options{Rank: d, Centre: true, Alpha: 3}
		var twins [2]weighted
		var ms [2]svd.Model
		var ws svd.Workspace
		for k := range 30 {
			samples := block(rng, d, 1+rng.IntN(10))
			for _, y := range samples {
				y[0] += float64(k % 2) // the streams have different means
			}
			twins[k%2].append(samples, 0.75)
			pure := mustUpdate(t, ms[k%2], samples, opt)
			if err := svd.UpdateTo(&ms[k%2], ms[k%2], samples, opt, &ws); err != nil {
				t.Fatal(err)
			}
			if !identical(pure, ms[k%2]) {
				t.Fatalf("d=%d: the forms of Update differ", d)
			}
			twins[k%2].compare(t, "update", ms[k%2])
		}
		merged := mustMerge(t, ms[0], ms[1])
		union(twins[0], twins[1], 1, 1).compare(t, "merge", merged)
		union(twins[0], twins[1], 1, 1).compare(t, "merge", mustMerge(t, ms[1], ms[0]))
		blended, err := svd.Blend(ms[0], ms[1], 0.3)
		if err != nil {
			t.Fatal(err)
		}
		union(twins[0], twins[1], 0.7/ms[0].Mass(), 0.3/ms[1].Mass()).compare(t, "blend", blended)
		if err := svd.MergeTo(&ms[0], ms[0], ms[1], &ws); err != nil || !identical(ms[0], merged) {
			t.Fatalf("d=%d: a merge into an operand differs (%v)", d, err)
		}
	}
}

// Merges of centred models of low rank are exact and associative: the column
// of the means adds to the rank.
func TestCentredMergeIsAssociative(t *testing.T) {
	for _, d := range []int{4, 16} {
		rng := rand.New(rand.NewPCG(uint64(d), 52))
		var ms [3]svd.Model
		for i := range ms {
			samples := block(rng, d, 10)
			for _, y := range samples {
				y[i] += 3
			}
			ms[i] = mustUpdate(t, svd.Model{}, samples, svd.Options{Rank: 1, Centre: true})
		}
		ab := mustMerge(t, ms[0], ms[1])
		if ab.Rank() != 3 || !ab.Centred() {
			t.Errorf("d=%d: rank %d, want 1 + 1 + 1", d, ab.Rank())
		}
		left, right := mustMerge(t, ab, ms[2]), mustMerge(t, ms[0], mustMerge(t, ms[1], ms[2]))
		if x := distance(left, right); x > 1e-13 {
			t.Errorf("d=%d: the ways to merge differ by %g", d, x)
		}
		l, r := left.MeanTo(nil), right.MeanTo(nil)
		for i := range l {
			if !near(l[i], r[i], 1e-14) {
				t.Errorf("d=%d: mean %g and %g", d, l[i], r[i])
			}
		}
	}
}

// A large mean costs the scatter no digits beyond those of the samples.
func TestCentredFarFromZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 53))
	var near0, far svd.Model
	const offset = 1 << 20
	opt := svd.Options{Centre: true}
	for range 20 {
		a := block(rng, 4, 10)
		b := block(rng, 4, 10)
		for j, y := range a {
			for i := range y {
				b[j][i] = y[i] + offset
				y[i] = b[j][i] - offset // the digits that survive the sum
			}
		}
		near0, far = mustUpdate(t, near0, a, opt), mustUpdate(t, far, b, opt)
	}
	for i := range 4 {
		if !near(near0.Sigma(i), far.Sigma(i), 1e-9*near0.Sigma(0)) {
			t.Errorf("σ_%d = %.17g, shifted by 2^20 %.17g", i+1, near0.Sigma(i), far.Sigma(i))
		}
	}
}

func TestCentringDoesNotMix(t *testing.T) {
	samples := [][]float64{{0.1, 0.2}, {0.3, 0.1}}
	plain := mustUpdate(t, svd.Model{}, samples, svd.Options{})
	centred := mustUpdate(t, svd.Model{}, samples, svd.Options{Centre: true})
	dst := plain.Clone()
	for name, f := range map[string]func() error{
		"update of a plain model":   func() error { return svd.UpdateTo(&dst, plain, samples, svd.Options{Centre: true}, nil) },
		"update of a centred model": func() error { return svd.UpdateTo(&dst, centred, samples, svd.Options{}, nil) },
		"merge":                     func() error { return svd.MergeTo(&dst, plain, centred, nil) },
		"blend":                     func() error { return svd.BlendTo(&dst, centred, plain, 0, nil) },
	} {
		if err := f(); !errors.Is(err, svd.ErrCentring) || !identical(dst, plain) {
			t.Errorf("%s: error %v, want ErrCentring and dst unchanged", name, err)
		}
	}
	// An empty model is neither.
	if m := mustMerge(t, svd.Model{}, centred); !identical(m, centred) {
		t.Error("the zero Model is not the identity of centred models")
	}
	s := centred.State()
	s.Mass = 0
	weightless, err := svd.FromState(s)
	if err != nil {
		t.Fatal(err)
	}
	if m := mustUpdate(t, weightless, samples, svd.Options{}); !identical(m, plain) {
		t.Error("a centred model of mass 0 does not start anew")
	}
}

func TestCentredState(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 54))
	var m svd.Model
	for range 3 {
		m = mustUpdate(t, m, block(rng, 3, 10), svd.Options{Centre: true, Rank: 2})
	}
	s := m.State()
	back, err := svd.FromState(s)
	if err != nil || !identical(back, m) || !back.Equal(m) || !back.Centred() || s.Residual == 0 {
		t.Fatalf("the model has changed on its way (%v)", err)
	}
	s.Mean[0] = 7
	if clone := m.Clone(); !clone.Equal(m) || m.MeanTo(nil)[0] == 7 {
		t.Error("writing to a State has changed a Model")
	}
	for name, c := range map[string]struct {
		change func(*svd.State)
		field  string
		index  int
		cause  error
	}{
		"short mean":        {func(s *svd.State) { s.Mean = s.Mean[:2] }, "len(Mean)", -1, svd.ErrLength},
		"mean NaN":          {func(s *svd.State) { s.Mean[1] = math.NaN() }, "Mean", 1, svd.ErrNotFinite},
		"mean huge":         {func(s *svd.State) { s.Mean[2] = 1e101 }, "Mean", 2, svd.ErrRange},
		"residual NaN":      {func(s *svd.State) { s.Residual = math.NaN() }, "Residual", -1, svd.ErrNotFinite},
		"residual negative": {func(s *svd.State) { s.Residual = -1 }, "Residual", -1, svd.ErrRange},
		"residual huge":     {func(s *svd.State) { s.Residual = 1e300 }, "Residual", -1, svd.ErrRange},
	} {
		s := m.State()
		c.change(&s)
		_, err := svd.FromState(s)
		if !errors.Is(err, c.cause) || !names(err, indexed(c.field, c.index)+" =") {
			t.Errorf("%s: error %v, want %s[%d]: %v", name, err, c.field, c.index, c.cause)
		}
	}
}
