package filter_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/filter"
)

func mustStep(t testing.TB, s filter.State, x float64, c filter.Config) filter.State {
	t.Helper()
	next, err := filter.Step(s, x, c)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// run filters a sequence and returns the levels.
func run(t testing.TB, c filter.Config, xs []float64) []float64 {
	t.Helper()
	var s filter.State
	out := make([]float64, len(xs))
	for i, x := range xs {
		s = mustStep(t, s, x, c)
		out[i] = s.Level
	}
	return out
}

// naive is the textbook form of the formulas, with a gate written out.
func naive(c filter.Config, xs []float64) []float64 {
	var m, v float64
	var length int
	var sign float64
	out := make([]float64, len(xs))
	for i, x := range xs {
		if i == 0 {
			m = x
			out[i] = m
			continue
		}
		e := x - m
		theta := math.Max(c.Delta, c.Kappa*v)
		if math.Abs(e) <= theta {
			length, sign = 0, 0
			m += c.Norm * e
			v += 0.05 * (math.Abs(e) - v)
		} else {
			if math.Copysign(1, e) == sign {
				length++
			} else {
				length, sign = 1, math.Copysign(1, e)
			}
			if length < c.N {
				m += c.Hold * e
			} else {
				m += c.Fast * e
			}
		}
		out[i] = m
	}
	return out
}

// explicit names every default.
var explicit = filter.Config{
	N: filter.DefaultN, Norm: filter.DefaultNorm, Hold: filter.DefaultHold,
	Fast: filter.DefaultFast, Delta: filter.DefaultDelta, Kappa: filter.DefaultKappa,
}

func randomConfig(rng *rand.Rand) filter.Config {
	return filter.Config{
		N: 1 + rng.IntN(8), Norm: 0.01 + 0.99*rng.Float64(), Hold: 0.01 + 0.99*rng.Float64(),
		Fast: 0.01 + 0.99*rng.Float64(), Delta: 0.001 + 0.1*rng.Float64(), Kappa: 0.1 + 8*rng.Float64(),
	}
}

// signal is noise around a level that jumps now and then.
func signal(rng *rand.Rand, n int) []float64 {
	level, noise := rng.Float64(), 0.1*rng.Float64()
	out := make([]float64, n)
	for i := range out {
		if rng.IntN(12) == 0 {
			level = rng.Float64()
		}
		out[i] = level + noise*rng.NormFloat64()
	}
	return out
}

func TestStepMatchesNaive(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		c, xs := randomConfig(rng), signal(rng, 200)
		got, want := run(t, c, xs), naive(c, xs)
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-14 {
				t.Fatalf("%+v: sample %d: level %g, want %g", c, i, got[i], want[i])
			}
		}
	}
}

// Each zero field of a Config means its default, on its own.
func TestZeroFieldsAreDefaults(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	xs := signal(rng, 500)
	for name, c := range map[string]filter.Config{
		"all": {}, "but N": {N: 5}, "but Norm": {Norm: 0.3}, "but Hold": {Hold: 0.05},
		"but Fast": {Fast: 0.8}, "but Delta": {Delta: 0.03}, "but Kappa": {Kappa: 3},
	} {
		if diff := cmp.Diff(run(t, explicit, xs), run(t, c, xs)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// TestStateTrace follows one channel through noise, a spike and a step.
func TestStateTrace(t *testing.T) {
	c := filter.Config{N: 3, Norm: 0.5, Hold: 0.125, Fast: 0.75, Delta: 0.25, Kappa: 4}
	var s filter.State
	for i, step := range []struct {
		x    float64
		want filter.State
	}{
		{0, filter.State{Started: true}},
		{0.25, filter.State{Level: 0.125, Scale: 0.0125, Started: true}},
		{1.125, filter.State{Level: 0.25, Scale: 0.0125, Run: 1, Started: true}},
		{1.25, filter.State{Level: 0.375, Scale: 0.0125, Run: 2, Started: true}},
		{0.375, filter.State{Level: 0.375, Scale: 0.011875, Started: true}},
		{-0.625, filter.State{Level: 0.25, Scale: 0.011875, Run: -1, Started: true}},
		{1.25, filter.State{Level: 0.375, Scale: 0.011875, Run: 1, Started: true}},
		{1.375, filter.State{Level: 0.5, Scale: 0.011875, Run: 2, Started: true}},
		{1.5, filter.State{Level: 1.25, Scale: 0.011875, Run: 3, Started: true}},
		{2.25, filter.State{Level: 2, Scale: 0.011875, Run: 3, Started: true}},
	} {
		s = mustStep(t, s, step.x, c)
		if diff := cmp.Diff(step.want, s, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-15 })); diff != "" {
			t.Fatalf("step %d: (-want +got)\n%s", i, diff)
		}
	}
}

// TestSpikeAndStep holds what the package doc says of the defaults and of
// N = 4: the leak of spikes of whole samples and the response to a step.
func TestSpikeAndStep(t *testing.T) {
	for _, c := range []struct {
		config filter.Config
		leaks  []float64 // of spikes of 1, 2, … samples, share of the height
		step   int       // samples until 90 % of a step is taken
	}{
		{filter.Config{}, []float64{0.05, 0.0975, 0.142625, 0.18549375}, 6},
		{filter.Config{N: 4}, []float64{0.05, 0.0975, 0.142625}, 5},
	} {
		for n, want := range c.leaks {
			if got := leak(t, c.config, float64(n+1), 0); math.Abs(got-want) > 1e-12 {
				t.Errorf("N=%d: a spike of %d samples leaks %g, want %g", c.config.N, n+1, got, want)
			}
		}
		xs := []float64{0.2, 0.2, 0.2}
		for range 10 {
			xs = append(xs, 0.8)
		}
		taken := 0
		for _, m := range run(t, c.config, xs)[3:] {
			taken++
			if m >= 0.2+0.9*0.6 {
				break
			}
		}
		if taken != c.step {
			t.Errorf("N=%d: 90 %% of a step in %d samples, want %d", c.config.N, taken, c.step)
		}
	}
}

// leak returns the largest rise of the level in a spike that begins at a
// phase of its first sample and lasts for a number of samples, as a share of
// its height. Each sample is the average over its interval.
func leak(t testing.TB, c filter.Config, length, phase float64) float64 {
	t.Helper()
	const base, height = 0.2, 0.6
	xs := make([]float64, 30)
	for i := range xs {
		start, end := float64(i), float64(i+1)
		overlap := math.Min(end, 10+phase+length) - math.Max(start, 10+phase)
		xs[i] = base + height*math.Max(overlap, 0)
	}
	var worst float64
	for _, m := range run(t, c, xs) {
		worst = math.Max(worst, (m-base)/height)
	}
	return worst
}

// TestSpikeAtRandomPhase averages the leak over the phase of the spike.
func TestSpikeAtRandomPhase(t *testing.T) {
	for _, c := range []struct {
		n       int
		length  float64 // in samples of 100 ms
		between [2]float64
	}{
		{4, 3.0, [2]float64{0.30, 0.45}},
		{4, 3.6, [2]float64{0.65, 0.80}},
		{5, 2.0, [2]float64{0.05, 0.12}},
		{5, 3.0, [2]float64{0.10, 0.16}},
		{5, 3.6, [2]float64{0.15, 0.30}},
	} {
		var mean float64
		const phases = 1000
		for i := range phases {
			mean += leak(t, filter.Config{N: c.n}, c.length, (float64(i)+0.5)/phases) / phases
		}
		t.Logf("N=%d: a spike of %.0f ms leaks %.1f %% on average", c.n, 100*c.length, 100*mean)
		if mean < c.between[0] || mean > c.between[1] {
			t.Errorf("N=%d: a spike of %.0f ms leaks %g, want %v", c.n, 100*c.length, mean, c.between)
		}
	}
}

// TestNoise holds what the package doc says of Gaussian noise: how much of it
// is left about a constant level, and how much more of a spike of three
// samples leaks, as the noise widens the gate.
func TestNoise(t *testing.T) {
	const height = 0.6
	for _, c := range []struct{ sd, left, leak float64 }{
		{0.01, 0.45, 0.15}, {0.05, 0.45, 0.16}, {0.1, 0.45, 0.18}, {0.15, 0.45, 0.25},
	} {
		rng := rand.New(rand.NewPCG(1, 7))
		var square, leaks float64
		const trials, settle = 300, 2000
		for range trials {
			quiet, spiked := make([]float64, settle+10), make([]float64, settle+10)
			for i := range quiet {
				quiet[i] = 0.2 + c.sd*rng.NormFloat64()
				spiked[i] = quiet[i]
				if i >= settle && i < settle+3 {
					spiked[i] += height
				}
			}
			without, with := run(t, filter.Config{}, quiet), run(t, filter.Config{}, spiked)
			square += (without[settle] - 0.2) * (without[settle] - 0.2) / trials
			var worst float64
			for i := range with {
				worst = math.Max(worst, (with[i]-without[i])/height)
			}
			leaks += worst / trials
		}
		left := math.Sqrt(square) / c.sd
		t.Logf("sd %.2f: %.0f %% of it is left, a spike leaks %.0f %%", c.sd, 100*left, 100*leaks)
		if left > c.left || leaks > c.leak {
			t.Errorf("sd %g: %g of it is left, want ≤ %g; a spike leaks %g, want ≤ %g", c.sd, left, c.left, leaks, c.leak)
		}
	}
}

// The level never leaves the hull of the samples seen, not even by rounding.
func TestHull(t *testing.T) {
	at := filter.Config{Norm: 1, Hold: 1, Fast: 1}
	for _, xs := range [][]float64{{1, 1e-17}, {-1, -1e-17}, {1e300, 1}} {
		if m := run(t, at, xs)[1]; m != xs[1] {
			t.Errorf("from %g to %g by gain 1: level %g", xs[0], xs[1], m)
		}
	}
	rng := rand.New(rand.NewPCG(1, 3))
	for range 300 {
		c, xs := randomConfig(rng), signal(rng, 100)
		low, high := math.Inf(1), math.Inf(-1)
		for i, m := range run(t, c, xs) {
			low, high = math.Min(low, xs[i]), math.Max(high, xs[i])
			if m < low || m > high {
				t.Fatalf("%+v: level %g outside [%g, %g]", c, m, low, high)
			}
		}
	}
}

// Bank is Step on each channel, also in place.
func TestBankMatchesStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	const channels = 5
	bank, err := filter.NewBank(channels, filter.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if bank.Channels() != channels {
		t.Errorf("%d channels, want %d", bank.Channels(), channels)
	}
	states := make([]filter.State, channels)
	for range 200 {
		x, want := make([]float64, channels), make([]float64, channels)
		for i := range x {
			x[i] = rng.Float64()
			states[i] = mustStep(t, states[i], x[i], filter.Config{})
			want[i] = states[i].Level
		}
		got, err := bank.StepTo(x, x)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	}
	if diff := cmp.Diff(states, bank.StatesTo(nil)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	bank.Reset()
	if diff := cmp.Diff(make([]filter.State, channels), bank.StatesTo(nil)); diff != "" {
		t.Errorf("after Reset: (-want +got)\n%s", diff)
	}
}

// StepTo writes to dst what fits, and grows it as append does.
func TestStepToGrowsDst(t *testing.T) {
	bank, err := filter.NewBank(2, filter.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, dst := range [][]float64{nil, make([]float64, 1), make([]float64, 0, 5), make([]float64, 5)} {
		got, err := bank.StepTo(dst, []float64{0.5, 0.25})
		if err != nil || !cmp.Equal(got, []float64{0.5, 0.25}) {
			t.Errorf("into %v: %v, %v", dst, got, err)
		}
		if cap(dst) >= 2 && &got[0] != &dst[:1][0] {
			t.Errorf("into %v: other storage", dst)
		}
	}
}

// A rejected vector moves no channel, not even those before the bad one.
func TestBankIsAllOrNothing(t *testing.T) {
	bank, err := filter.NewBank(3, filter.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bank.StepTo(nil, []float64{0.1, 0.2, 0.3}); err != nil {
		t.Fatal(err)
	}
	before := bank.StatesTo(nil)
	for name, c := range map[string]struct {
		dst, x []float64
		cause  error
		field  string
	}{
		"NaN":   {nil, []float64{0.5, 0.5, math.NaN()}, filter.ErrNotFinite, "x[2]"},
		"+Inf":  {nil, []float64{0.5, math.Inf(1), 0.5}, filter.ErrNotFinite, "x[1]"},
		"-Inf":  {nil, []float64{math.Inf(-1), 0.5, 0.5}, filter.ErrNotFinite, "x[0]"},
		"huge":  {nil, []float64{0.5, 0.5, 1e301}, filter.ErrRange, "x[2]"},
		"short": {nil, []float64{0.5, 0.5}, filter.ErrLength, "len(x)"},
		"long":  {nil, make([]float64, 4), filter.ErrLength, "len(x)"},
		"none":  {nil, nil, filter.ErrLength, "len(x)"},
		"dst":   {[]float64{7, 7, 7}, []float64{0.5, 0.5, math.NaN()}, filter.ErrNotFinite, "x[2]"},
	} {
		got, err := bank.StepTo(c.dst, c.x)
		if !errors.Is(err, c.cause) || !names(err, c.field) || got != nil {
			t.Errorf("%s: %v, error %v, want %v of %s", name, got, err, c.cause, c.field)
		}
		if diff := cmp.Diff(before, bank.StatesTo(nil)); diff != "" {
			t.Errorf("%s: the bank has moved (-want +got)\n%s", name, diff)
		}
		if name == "dst" && !cmp.Equal(c.dst, []float64{7, 7, 7}) {
			t.Errorf("dst has changed to %v", c.dst)
		}
	}
}

func TestStepRejects(t *testing.T) {
	good := filter.State{Level: 0.5, Scale: 0.01, Run: 2, Started: true}
	for name, c := range map[string]struct {
		s     filter.State
		x     float64
		c     filter.Config
		field string
		cause error
	}{
		"NaN":         {good, math.NaN(), filter.Config{}, "x", filter.ErrNotFinite},
		"Inf":         {good, math.Inf(1), filter.Config{}, "x", filter.ErrNotFinite},
		"huge":        {good, -1e301, filter.Config{}, "x", filter.ErrRange},
		"level":       {filter.State{Level: math.NaN(), Started: true}, 0, filter.Config{}, "Level", filter.ErrNotFinite},
		"scale":       {filter.State{Scale: -1, Started: true}, 0, filter.Config{}, "Scale", filter.ErrRange},
		"run":         {filter.State{Run: 99, Started: true}, 0, filter.Config{}, "Run", filter.ErrRange},
		"run below":   {filter.State{Run: -6, Started: true}, 0, filter.Config{}, "Run", filter.ErrRange},
		"N":           {good, 0, filter.Config{N: -1}, "N", filter.ErrRange},
		"Norm":        {good, 0, filter.Config{Norm: 1.1}, "Norm", filter.ErrRange},
		"Hold":        {good, 0, filter.Config{Hold: -0.1}, "Hold", filter.ErrRange},
		"Fast":        {good, 0, filter.Config{Fast: math.NaN()}, "Fast", filter.ErrNotFinite},
		"Delta":       {good, 0, filter.Config{Delta: math.Inf(1)}, "Delta", filter.ErrNotFinite},
		"Kappa":       {good, 0, filter.Config{Kappa: -4}, "Kappa", filter.ErrRange},
		"Kappa large": {good, 0, filter.Config{Kappa: 1e7}, "Kappa", filter.ErrRange},
	} {
		got, err := filter.Step(c.s, c.x, c.c)
		if !errors.Is(err, c.cause) || !names(err, c.field) {
			t.Errorf("%s: error %v, want %s: %v", name, err, c.field, c.cause)
		}
		if got.Run != c.s.Run || math.Float64bits(got.Level) != math.Float64bits(c.s.Level) {
			t.Errorf("%s: the state has changed", name)
		}
	}
	if _, err := filter.NewBank(0, filter.Config{}); !errors.Is(err, filter.ErrRange) {
		t.Errorf("error %v, want ErrRange", err)
	}
	if _, err := filter.NewBank(1, filter.Config{N: -1}); !errors.Is(err, filter.ErrRange) {
		t.Errorf("error %v, want ErrRange", err)
	}
}

// names reports whether err is one of package filter about the field.
func names(err error, field string) bool {
	return err != nil && strings.Contains(err.Error(), "filter: "+field+" = ")
}
