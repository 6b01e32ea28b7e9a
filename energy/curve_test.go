package energy_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
)

func newCurve(t testing.TB, c energy.CurveConfig) *energy.Curve {
	t.Helper()
	k, err := energy.NewCurve(c)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func learn(t testing.TB, k *energy.Curve, u, watts float64) {
	t.Helper()
	if err := k.Learn(u, watts); err != nil {
		t.Fatal(err)
	}
}

// TestCurveLearns true power curves, with noise, from utilisations all over: linear
// ones, a concave one (Fan et al., ISCA 2007) and one that is steep at its end.
func TestCurveLearns(t *testing.T) {
	for name, power := range map[string]func(u float64) float64{
		"linear":  func(u float64) float64 { return 40 + 80*u },
		"large":   func(u float64) float64 { return 90 + 210*u },
		"concave": func(u float64) float64 { return 40 + 80*(2*u-math.Pow(u, 1.4)) },
		"convex":  func(u float64) float64 { return 40 + 80*u*u*u },
	} {
		t.Run(name, func(t *testing.T) {
			k := newCurve(t, energy.CurveConfig{})
			random := rand.New(rand.NewPCG(5, 5))
			for range 20_000 {
				u := random.Float64()
				learn(t, k, u, power(u)+2*random.NormFloat64())
			}
			for u := 0.0; u <= 1; u += .05 {
				l, known := k.At(u)
				// Half a knot's distance from a curve of this bend is a watt or less.
				if !known || l.Extrapolated || math.Abs(l.Watts-power(u)) > 3 {
					t.Errorf("at %.2f: %+v, want %v", u, l, power(u))
				}
				if l.SD < 1.4 || l.SD > 3.5 {
					t.Errorf("at %.2f a deviation of %v, readings have 2", u, l.SD)
				}
			}
			idle, known := k.Idle()
			if !known || math.Abs(idle-power(0)) > 3 {
				t.Error("idle", idle, known)
			}
		})
	}
}

// TestCurveFirstReadings: without a prior the first ten at a knot count alike.
func TestCurveFirstReadings(t *testing.T) {
	k := newCurve(t, energy.CurveConfig{})
	if _, known := k.At(.5); known {
		t.Error("known before any reading")
	}
	if _, known := k.Marginal(.5, .1); known {
		t.Error("a slope before any reading")
	}
	sum := 0.0
	for i, watts := range []float64{60, 64, 50, 70, 66, 58} {
		learn(t, k, .3, watts)
		sum += watts
		if l, known := k.At(.3); known != (i >= 4) || known && math.Abs(l.Watts-sum/float64(i+1)) > 1e-9 {
			t.Errorf("after %d readings: %+v, %v", i+1, l, known)
		}
	}
}

// TestCurveEnds: beyond the readings the nearest slope continues, with a deviation of at least a
// fifth, and the result reports it; between readings it is a straight line.
func TestCurveEnds(t *testing.T) {
	k := newCurve(t, energy.CurveConfig{})
	for range 10 {
		for _, at := range [][2]float64{{.2, 50}, {.3, 60}, {.6, 75}} {
			learn(t, k, at[0], at[1])
		}
	}
	for _, c := range []struct {
		u, watts, sd float64
		extrapolated bool
	}{
		{0, 30, 6, true}, {.1, 40, 8, true}, {.2, 50, 0, false}, {.25, 55, 0, false}, {.4, 65, 0, false}, {.6, 75, 0, false},
		{.8, 85, 17, true}, {1, 95, 19, true}, {-1, 30, 6, true}, {2, 95, 19, true},
	} {
		l, known := k.At(c.u)
		if !known || math.Abs(l.Watts-c.watts) > 1e-9 || math.Abs(l.SD-c.sd) > 1e-9 || l.Extrapolated != c.extrapolated {
			t.Errorf("at %v: %+v, want %+v", c.u, l, c)
		}
	}
	if _, known := k.Idle(); known {
		t.Error("idle is known, and was not read")
	}
	for _, c := range []struct {
		u, du, watts float64
		extrapolated bool
	}{{.2, .1, 100, false}, {.3, .3, 50, false}, {.25, .1, 75, false}, {.6, 0, 50, true}, {1, .5, 50, true}, {.2, 0, 100, false}} {
		s, known := k.Marginal(c.u, c.du)
		if !known || math.Abs(s.Watts-c.watts) > 1e-6 || s.Extrapolated != c.extrapolated {
			t.Errorf("slope at %v over %v: %+v, want %+v", c.u, c.du, s, c)
		}
	}
	steep := newCurve(t, energy.CurveConfig{})
	for range 10 {
		learn(t, steep, .4, 10)
		learn(t, steep, .5, 90)
	}
	if l, _ := steep.At(0); l.Watts != 0 {
		t.Error("a negative power is continued:", l)
	}
}

// TestCurvePrior: the nameplate holds until there are measurements, and bends to the one knot that
// was measured.
func TestCurvePrior(t *testing.T) {
	k := newCurve(t, energy.CurveConfig{Idle: 40, Max: 120})
	if l, known := k.At(.5); !known || math.Abs(l.Watts-80) > 1e-9 || math.Abs(l.SD-16) > 1e-9 || !l.Extrapolated {
		t.Error(l, known)
	}
	if s, known := k.Marginal(.5, .25); !known || math.Abs(s.Watts-80) > 1e-9 || !s.Extrapolated {
		t.Error(s, known)
	}
	for range 10 {
		learn(t, k, .5, 90)
	}
	for u, watts := range map[float64]float64{0: 50, .5: 90, 1: 130} {
		if l, _ := k.At(u); math.Abs(l.Watts-watts) > 1e-9 {
			t.Errorf("at %v: %+v, want %v", u, l, watts)
		}
	}
	one := newCurve(t, energy.CurveConfig{})
	for range 10 {
		learn(t, one, .5, 90)
	}
	if l, known := one.At(1); !known || l.Watts != 90 || !l.Extrapolated || l.SD != 18 {
		t.Error("one knot without prior:", l, known)
	}
}

// TestCurveDoesNotFall: readings that fall are pooled, weighted by their number. The
// twin finds the best such fit by its min-max formula.
func TestCurveDoesNotFall(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	for range 300 {
		k := newCurve(t, energy.CurveConfig{Gain: 1e-9})
		var mean, weight [energy.Knots]float64
		for i := range energy.Knots {
			n := 5 + random.IntN(20)
			for range n {
				watts := 100 + 50*random.Float64()
				learn(t, k, float64(i)/10, watts)
				mean[i] += watts
			}
			mean[i] /= float64(n)
			weight[i] = float64(n)
		}
		for i := range energy.Knots {
			want := math.Inf(-1)
			for low := 0; low <= i; low++ {
				least := math.Inf(1)
				for high := i; high < energy.Knots; high++ {
					var sum, total float64
					for j := low; j <= high; j++ {
						sum += weight[j] * mean[j]
						total += weight[j]
					}
					least = min(least, sum/total)
				}
				want = max(want, least)
			}
			if l, _ := k.At(float64(i) / 10); math.Abs(l.Watts-want) > 1e-6 {
				t.Fatalf("knot %d: %v, want %v", i, l.Watts, want)
			}
		}
	}
}

// TestCurveBegins by hand: knots begin at the first reading, at their neighbour or at the prior,
// and share an error by their parts in it.
func TestCurveBegins(t *testing.T) {
	k := newCurve(t, energy.CurveConfig{})
	learn(t, k, .32, 60)
	s := k.State()
	if !near(s.Watts[3], 60) || !near(s.Watts[4], 60) || !near(s.Weight[3], .64) || !near(s.Weight[4], .04) || s.Variance != [energy.Knots]float64{} {
		t.Error("first:", s)
	}
	learn(t, k, .25, 66) // knot 2 begins at knot 3's 60, and both are 6 short
	s = k.State()
	// Parts of ½ each, of norm ½: knot 2 takes the error whole, knot 3 by 1/(1 + .64).
	if !near(s.Watts[2], 66) || !near(s.Watts[3], 60+6/1.64) || s.Variance != [energy.Knots]float64{} {
		t.Error("second:", s)
	}
	// Knot 3 has had 0.89 of a reading, less than one: the third error at it does not count, the
	// fourth does.
	learn(t, k, .3, 70)
	if s = k.State(); !near(s.Weight[3], 1.89) || s.Variance[3] != 0 {
		t.Error("third:", s)
	}
	miss := 73 - s.Watts[3]
	learn(t, k, .3, 73)
	if s = k.State(); !near(s.Variance[3], miss*miss/2.89) || !(miss > 1) {
		t.Error("fourth:", s)
	}
	p := newCurve(t, energy.CurveConfig{Idle: 40, Max: 120})
	learn(t, p, .3, 70)
	if s := p.State(); !near(s.Watts[3], 70) || !near(s.Watts[4], 72) {
		t.Error("with a prior of 64 and 72:", s)
	}
}

// TestCurveStartLeavesNoDoubt: the value that a knot began with, and which later readings have
// replaced, adds nothing to the deviation.
func TestCurveStartLeavesNoDoubt(t *testing.T) {
	for _, first := range []float64{.2, .199, .19, .15, .11} {
		k := newCurve(t, energy.CurveConfig{})
		random := rand.New(rand.NewPCG(7, uint64(1000*first)))
		power := func(u float64) float64 { return 40 + 300*u }
		learn(t, k, .3, power(.3))
		learn(t, k, first, power(first))
		for range 40 {
			learn(t, k, .1, power(.1)+random.NormFloat64())
		}
		l, known := k.At(.1)
		if !known || l.SD < .5 || l.SD > 2 {
			t.Errorf("first seen at %v: ± %v W of readings of ± 1 W", first, l.SD)
		}
	}
}

// TestCurveDoubt: a slope's deviation is that of its two ends, which are means of some
// nineteen readings each; between known knots the larger deviation counts.
func TestCurveDoubt(t *testing.T) {
	k := newCurve(t, energy.CurveConfig{})
	s := energy.CurveState{}
	for i, at := range []int{2, 6} {
		s.Watts[at], s.Weight[at], s.Variance[at] = 50+20*float64(i), 100, []float64{9, 16}[i]
	}
	k.SetState(s)
	slope, _ := k.Marginal(.2, .4)
	if want := math.Sqrt(.1/1.9) * 5 / .4; !near(slope.SD, want) || !near(slope.Watts, 50) {
		t.Errorf("%+v, want ± %v", slope, want)
	}
	if l, _ := k.At(.4); !near(l.SD, 4) || !near(l.Watts, 60) {
		t.Errorf("between: %+v", l)
	}
	if _, known := k.Marginal(.2, -1); !known {
		t.Error("a negative step has no slope")
	}
}

// TestResidual by hand: it is a share of the load's power, not of the whole.
func TestResidual(t *testing.T) {
	k := newCurve(t, energy.CurveConfig{})
	if r := k.Residual(.5); r != 1 {
		t.Error("nothing known:", r)
	}
	s := energy.CurveState{}
	s.Watts[5], s.Weight[5], s.Variance[5] = 80, 100, 16
	k.SetState(s)
	if r := k.Residual(.5); !near(r, .05) {
		t.Error("idle unknown:", r)
	}
	s.Watts[0], s.Weight[0], s.Variance[0] = 40, 100, 1
	k.SetState(s)
	if r := k.Residual(.5); !near(r, .1) {
		t.Error(r)
	}
	if r := k.Residual(0); r != 1 {
		t.Error("no load:", r)
	}
}

// TestResidualOfAnIdlePowerThatIsOff: the idle power of a machine that was never wholly idle is
// underestimated at its first loads. The deviation shows it until the machine has been idle again.
func TestResidualOfAnIdlePowerThatIsOff(t *testing.T) {
	power := func(u float64) float64 { return 40 + 120*(2*u-math.Pow(u, 1.4)) }
	for _, atRest := range []float64{.005, .01, .02, .03} {
		k := newCurve(t, energy.CurveConfig{})
		random := rand.New(rand.NewPCG(1, uint64(1000*atRest)))
		rest := func(n int) {
			for range n {
				u := atRest * (.8 + .4*random.Float64())
				learn(t, k, u, power(u)+.2*random.NormFloat64())
			}
		}
		busy := func(n int) {
			for range n {
				u := .1 + .2*random.Float64()
				learn(t, k, u, power(u)+.2*random.NormFloat64())
			}
		}
		missed := func() (part, doubt float64) {
			idle, known := k.Idle()
			if !known {
				t.Fatal("the idle power is not known")
			}
			truth := power(.15) - power(0)
			return (power(0) - idle) / truth, k.Residual(.15)
		}
		rest(15)
		busy(45)
		t.Log(missed())
		busy(200)
		off, doubt := missed()
		if off > -4*atRest || math.Abs(off) > 2*doubt || doubt > 2*math.Abs(off)+.02 {
			t.Errorf("idle at %v: charged %.3f too much, the doubt is %.3f", atRest, off, doubt)
		}
		for range 100 {
			rest(5)
			busy(5)
		}
		if off, later := missed(); math.Abs(off) > .04 || later > .04 {
			t.Errorf("idle at %v again and again: charged %.3f too much, the doubt is %.3f", atRest, off, later)
		}
	}
}

// TestResidualUnderSteadyLoad: long load near the second knot leaves the error of the idle power,
// and its deviation, unchanged.
func TestResidualUnderSteadyLoad(t *testing.T) {
	power := func(u float64) float64 { return 40 + 120*(2*u-math.Pow(u, 1.4)) }
	for _, steady := range []float64{.09, .095, .099} {
		k := newCurve(t, energy.CurveConfig{})
		for range 15 {
			learn(t, k, .03, power(.03))
		}
		for range 300 {
			learn(t, k, steady, power(steady))
		}
		for range 20 {
			learn(t, k, .5, power(.5))
		}
		idle, _ := k.Idle()
		for _, u := range []float64{steady, .5} {
			off, doubt := (idle-power(0))/(power(u)-power(0)), k.Residual(u)
			if off < .02 || off > 2*doubt || doubt > 2*off+.02 {
				t.Errorf("load of %v, then .5: at %v charged %.3f too little, the doubt is %.3f", steady, u, off, doubt)
			}
		}
	}
}

// TestUneven: the cost of a core-second on unevenly loaded packages, by their power curve, is
// compared with the cost on both.
func TestUneven(t *testing.T) {
	const idle, seconds = 40., 5.
	straight := func(u float64) float64 { return idle + 120*u }
	concave := func(u float64) float64 { return idle + 120*(2*u-math.Pow(u, 1.4)) }
	convex := func(u float64) float64 { return idle + 120*u*u }
	flat := func(u float64) float64 { return idle + 120*min(u, .6) }
	for _, test := range []struct {
		name  string
		power func(u float64) float64
		loads []float64
		want  bool
	}{
		{"straight", straight, []float64{.2, 1}, false},
		{"concave", concave, []float64{.6, 1}, true},
		{"concave, a little", concave, []float64{.9, 1}, true},
		{"concave, of three", concave, []float64{.1, .5, .9}, true},
		{"concave, alike", concave, []float64{.7, .7}, false},
		{"concave, one idle", concave, []float64{0, .8}, false},
		{"concave, none idle but one is not there", concave, []float64{.8}, false},
		{"convex", convex, []float64{.3, .9}, true},
		{"flat, alike", flat, []float64{.9, .9}, false},
		{"nothing to do", concave, []float64{0, 0}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s energy.CurveState
			for i := range s.Watts {
				s.Watts[i], s.Weight[i] = test.power(float64(i)/10), 100
			}
			k := newCurve(t, energy.CurveConfig{})
			k.SetState(s)
			packages := []float64{0} // that is not there
			n := float64(len(test.loads))
			busy, dynamic := 0., 0. // in core-seconds a core, and joules
			for _, u := range test.loads {
				joules := test.power(u) / n * seconds
				packages = append(packages, joules)
				busy += u / n * seconds
				dynamic += joules - idle/n*seconds
			}
			square := 0.
			for i, u := range test.loads {
				if u > 0 {
					price := (packages[1+i] - idle/n*seconds) / (u / n * seconds)
					miss := price/(dynamic/busy) - 1
					square += u / n * seconds / busy * miss * miss
				}
			}
			want := math.Sqrt(square)
			if test.want != (want > .004) {
				t.Fatalf("the test itself expects %v", want)
			}
			if got := k.Uneven(busy/seconds, seconds, packages); !(math.Abs(got-want) <= 1e-6) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
	// Power of a package beyond the whole curve is noise at full load.
	var s energy.CurveState
	for i := range s.Watts {
		s.Watts[i], s.Weight[i] = straight(float64(i)/10), 100
	}
	k := newCurve(t, energy.CurveConfig{})
	k.SetState(s)
	if got := k.Uneven(.75, seconds, []float64{1.1 * straight(1) / 2 * seconds, straight(.5) / 2 * seconds}); !(got <= 1e-6) {
		t.Errorf("%v where power is straight", got)
	}
	// If the curve cannot separate the packages' loads, they count as equal.
	k = newCurve(t, energy.CurveConfig{})
	if got := k.Uneven(.5, 1, []float64{30, 50}); got != 0 {
		t.Errorf("%v without a curve", got)
	}
	s = energy.CurveState{}
	for i := 3; i < energy.Knots; i++ {
		s.Watts[i], s.Weight[i] = concave(float64(i)/10), 100
	}
	k.SetState(s)
	if got := k.Uneven(.5, 1, []float64{30, 50}); got != 0 {
		t.Errorf("%v without the idle power", got)
	}
}

// TestCurveFollows: after a change of a machine's power the curve is right after some fifty
// readings.
func TestCurveFollows(t *testing.T) {
	k := newCurve(t, energy.CurveConfig{})
	for range 1000 {
		learn(t, k, .5, 80)
	}
	for range 50 {
		learn(t, k, .5, 100)
	}
	if l, _ := k.At(.5); math.Abs(l.Watts-100) > 20*math.Pow(.9, 50)+1e-9 || l.Watts == 100 {
		t.Error(l)
	}
}

// TestCurveRefuses: an invalid reading is refused and changes nothing.
func TestCurveRefuses(t *testing.T) {
	k := newCurve(t, energy.CurveConfig{})
	for _, c := range []struct {
		u, watts float64
		name     string
	}{{1.01, 50, "u"}, {-.1, 50, "u"}, {math.NaN(), 50, "u"}, {.5, -1, "watts"}, {.5, math.NaN(), "watts"}, {.5, 2e6, "watts"}} {
		err := k.Learn(c.u, c.watts)
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != c.name {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if d := cmp.Diff(energy.CurveState{}, k.State()); d != "" {
		t.Error(d)
	}
}

// TestCurvePowerAt uses machines that take 40 W, and 10 W or 2.5 W a busy core.
func TestCurvePowerAt(t *testing.T) {
	for cores, marginal := range map[float64]float64{8: 10, 32: 2.5} {
		k := newCurve(t, energy.CurveConfig{})
		if p, known := k.PowerAt(.5, cores); known {
			t.Errorf("of nothing: %+v", p)
		}
		learn(t, k, .5, 80)
		if p, known := k.PowerAt(.5, cores); known {
			t.Errorf("of one load, so that nobody knows a slope: %+v", p)
		}
		for range 100 {
			for i := range 11 {
				learn(t, k, float64(i)/10, 40+8*float64(i))
			}
		}
		got, known := k.PowerAt(.25, cores)
		want := energy.Power{Idle: 40, Max: 120, Marginal: marginal, Busy: cores / 4, Cores: cores}
		near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })
		if diff := cmp.Diff(want, got, near); diff != "" || !known {
			t.Errorf("%v cores, known %v: %s", cores, known, diff)
		}
	}
}
