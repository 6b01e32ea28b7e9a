package kalman_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/kalman"
)

// TestZeroFieldsAreDefaults: a Config with every default set explicitly learns the same as the zero
// Config, to the last bit, also where the cost reaches its floor.
func TestZeroFieldsAreDefaults(t *testing.T) {
	explicit := kalman.Config{
		Prior: kalman.DefaultPrior, PriorSD: kalman.DefaultCostSD, Noise: kalman.DefaultNoise,
		LevelDrift: kalman.DefaultLevelDrift, CostDrift: kalman.DefaultCostDrift, Gate: kalman.DefaultGate,
		Patience: kalman.DefaultPatience, Saturation: kalman.DefaultSaturation, Known: kalman.DefaultKnown,
		Floor: kalman.DefaultFloor,
	}
	for _, cost := range []float64{.15, 0} {
		var zero, named kalman.State
		trace(rand.New(rand.NewPCG(14, 1)), 600, func(i int) float64 { return cost }, func(i int, z, n float64) {
			zero, _, _ = kalman.Step(zero, z, n, kalman.Config{})
			named, _, _ = kalman.Step(named, z, n, explicit)
			if zero != named {
				t.Fatalf("cost %g, step %d: got %+v, with explicit defaults %+v", cost, i, zero, named)
			}
			if a, b := zero.Estimate(kalman.Config{}), named.Estimate(explicit); a != b {
				t.Fatalf("cost %g, step %d: got %+v, with explicit defaults %+v", cost, i, a, b)
			}
		})
	}
}

// TestConfigBounds: a value at a bound is accepted, one beyond is refused.
func TestConfigBounds(t *testing.T) {
	for name, c := range map[string]struct{ at, past kalman.Config }{
		"Patience":     {kalman.Config{Patience: 100}, kalman.Config{Patience: 101}},
		"least Prior":  {kalman.Config{Prior: 1e-6}, kalman.Config{Prior: 9e-7}},
		"largest Gate": {kalman.Config{Gate: kalman.NoGate}, kalman.Config{Gate: math.Inf(1)}},
		"Saturation":   {kalman.Config{Saturation: kalman.NeverSaturated}, kalman.Config{Saturation: 2.1}},
	} {
		if err := c.at.Validate(); err != nil {
			t.Errorf("%s at its bound: %v", name, err)
		}
		if err := c.past.Validate(); !errors.Is(err, kalman.ErrInvalid) {
			t.Errorf("%s beyond its bound: error %v", name, err)
		}
	}
	if _, _, err := kalman.Step(kalman.State{}, 1, kalman.MaxPods, kalman.Config{}); err != nil {
		t.Errorf("the most pods: got error %v", err)
	}
	s := kalman.State{Level: .5, Cost: .1, Started: true}
	if _, err := s.Rescale(1e9); err != nil {
		t.Errorf("the largest ratio: got error %v", err)
	}
	if _, err := s.Rescale(1.1e9); err == nil {
		t.Error("a ratio above the largest was accepted")
	}
	if name := (kalman.Outlier + 1).String(); name != "unknown" {
		t.Errorf("name past the last: got %q", name)
	}
	if _, err := (kalman.Outlier + 1).MarshalText(); err == nil {
		t.Error("a verdict past the last was encoded")
	}
}

// TestKnown: a cost is known if its variance is at most Known of its prior's, and it lies at least two
// standard deviations above its floor. It is small if only the latter fails.
func TestKnown(t *testing.T) {
	// The prior's deviation is 1/8, a quarter of its variance 1/256, the floor 1/32.
	for name, tt := range map[string]struct {
		cost, variance float64
		known, small   bool
	}{
		"variance at its limit":          {.25, 1. / 256, true, false},
		"variance above it":              {.25, 1. / 255, false, false},
		"far above the floor, uncertain": {1, 1. / 100, false, false},
		"two deviations from the floor":  {1./32 + 1./16, 1. / 1024, true, false},
		"less than two":                  {1./32 + 1./16, 1. / 1023, false, true},
		"near the floor":                 {.04, 1e-4, false, true},
		"near the floor, uncertain":      {.04, 1. / 255, false, false},
		"at the floor, certain":          {1. / 32, 0, false, true},
	} {
		s := kalman.State{Level: .5, LevelVar: 1e-4, Cost: tt.cost, CostVar: tt.variance, MeanPods: 2, LastPods: 4, Started: true}
		e := s.Estimate(kalman.Config{})
		if e.Known != tt.known {
			t.Errorf("%s: known %v, want %v", name, e.Known, tt.known)
		}
		want := kalman.Estimate{Level: .5, LevelSD: .01, MeanPods: 2, Cost: tt.cost, CostSD: math.Sqrt(tt.variance), Known: true, Started: true}
		if !tt.known { // the level at the last pod count, and the prior
			want = kalman.Estimate{Level: .5 - 2*tt.cost, LevelSD: .01, MeanPods: 4, Cost: .25, Small: tt.small, Started: true}
		}
		if d := cmp.Diff(want, e, approx); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestEstimatesToOverwrites: none of dst's former contents remain, whether or not the estimator has started.
func TestEstimatesToOverwrites(t *testing.T) {
	p, err := kalman.NewPerChannel(kalman.Config{Prior: .1})
	if err != nil {
		t.Fatal(err)
	}
	junk := kalman.Estimate{Level: 7, LevelSD: 7, MeanPods: 7, Cost: 7, CostSD: 7, Known: true, Started: true}
	for i := range 3 {
		got := p.EstimatesTo([]kalman.Estimate{junk})
		want := p.StatesTo(nil)[0].Estimate(kalman.Config{Prior: .1})
		if got[0] != want || got[0].Started != (i > 0) {
			t.Errorf("after %d steps: %+v, want %+v", i, got[0], want)
		}
		if err := p.Step(kalman.Observation{Headroom: []float64{.5}, Pods: 2}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGateIncludesItsEdge: ν²/S = Gate is not yet an outlier.
func TestGateIncludesItsEdge(t *testing.T) {
	// R = 2^-10, and S = 2^-9 + R + R = 2^-8: an innovation of 3/16 is the edge.
	c := kalman.Config{Noise: 0x1p-10, LevelDrift: 1}
	s := kalman.State{Level: .5, LevelVar: 0x1p-9, Cost: .25, MeanPods: 2, DiffVar: 0x1p-9, LastSignal: .5, LastPods: 2, Started: true}
	for z, want := range map[float64]kalman.Verdict{.6875: kalman.Taken, math.Nextafter(.6875, 1): kalman.Outlier} {
		if _, v, err := kalman.Step(s, z, 2, c); v != want || err != nil {
			t.Errorf("headroom %v: %v, %v, want %v", z, v, err, want)
		}
	}
}

// TestFullEdges: at the bounds between full, nearly full, contended and idle.
func TestFullEdges(t *testing.T) {
	saturation, nearly := .75, .05
	full, near := 1-saturation, 1-saturation+nearly
	c := kalman.Config{Saturation: saturation, Gate: kalman.NoGate}
	at := func(level float64) kalman.State {
		return kalman.State{
			Level: level, LevelVar: 1e-4, Cost: .25, CostVar: 1e-4, MeanPods: 2, DiffVar: 8e-4,
			LastSignal: .3, LastPods: 2, Contended: 30, Started: true,
		}
	}
	for _, tt := range []struct {
		name      string
		s         kalman.State
		z         float64
		verdict   kalman.Verdict
		contended int
	}{
		{"first, full", kalman.State{}, full, kalman.Censored, 0},
		{"first, not full", kalman.State{}, math.Nextafter(full, 1), kalman.Taken, 0},
		{"full starts the count again", at(.01), full, kalman.Censored, 0},
		{"nearly full does not count", at(.01), near, kalman.Censored, 30},
		{"contended counts", at(.01), math.Nextafter(near, 1), kalman.Censored, 31},
		{"idle starts the count again", at(.01), .5, kalman.Taken, 0},
		{"as expected is no bound", at(.28125), .28125, kalman.Taken, 30},
		{"expected nearly full", at(near), .4, kalman.Censored, 31},
		{"expected not full", at(math.Nextafter(near, 1)), .4, kalman.Taken, 30},
	} {
		next, v, err := kalman.Step(tt.s, tt.z, 2, c)
		if err != nil || v != tt.verdict || next.Contended != tt.contended {
			t.Errorf("%s: %v, %d contended, %v, want %v, %d", tt.name, v, next.Contended, err, tt.verdict, tt.contended)
		}
	}
}

// TestPoolNumbers: the fleet's standard deviation widens its pseudo-measurement, and a result that
// overflows is ignored.
func TestPoolNumbers(t *testing.T) {
	const most = math.MaxFloat64
	for name, tt := range map[string]struct {
		e             kalman.Estimate
		fleet         kalman.Fleet
		spread, floor float64
		want          kalman.Estimate
	}{
		"three equal variances":    {kalman.Estimate{Cost: .1, CostSD: .1, Known: true}, kalman.Fleet{Cost: .2, SD: .1}, .5, 0, kalman.Estimate{Cost: .1 + .1/3, CostSD: .1 * math.Sqrt(2./3), Known: true}},
		"largest fleet":            {kalman.Estimate{Cost: 1}, kalman.Fleet{Cost: most, SD: most}, 0, 0, kalman.Estimate{Cost: most, CostSD: most}},
		"largest cost":             {kalman.Estimate{Cost: 1, Known: true}, kalman.Fleet{Cost: most}, 0, 1, kalman.Estimate{Cost: most, Known: true}},
		"a floor that overflows":   {kalman.Estimate{Cost: 1, Known: true}, kalman.Fleet{Cost: 1e200}, 0, 1e200, kalman.Estimate{Cost: 1, Known: true}},
		"a spread that underflows": {kalman.Estimate{Cost: 1e-201, Known: true}, kalman.Fleet{Cost: 1e-200}, 0, 0, kalman.Estimate{Cost: 1.25e-201, Known: true}},
	} {
		got := kalman.Pool(tt.e, tt.fleet, tt.spread, tt.floor)
		near := func(a, b float64) bool { return a == b || math.Abs(a/b-1) <= 1e-12 }
		if !near(got.Cost, tt.want.Cost) || !near(got.CostSD, tt.want.CostSD) || got.Known != tt.want.Known {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
