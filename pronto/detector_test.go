package pronto_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/pronto"
)

// naive keeps every accepted value, and recomputes the window each time.
type naive struct {
	lag                  int
	threshold, influence float64
	filtered             []float64
}

func (n *naive) window() (mean, deviation float64) {
	w := n.filtered[max(0, len(n.filtered)-n.lag):]
	for _, v := range w {
		mean += v / float64(len(w))
	}
	for _, v := range w {
		deviation += (v - mean) * (v - mean) / float64(len(w))
	}
	return mean, math.Sqrt(deviation)
}

func (n *naive) step(v float64) int8 {
	if len(n.filtered) < n.lag {
		n.filtered = append(n.filtered, v)
		return 0
	}
	mean, deviation := n.window()
	var flag int8
	switch {
	case v-mean > max(n.threshold*deviation, pronto.Flat):
		flag = 1
	case mean-v > max(n.threshold*deviation, pronto.Flat):
		flag = -1
	}
	if flag != 0 {
		v = n.influence*v + (1-n.influence)*n.filtered[len(n.filtered)-1]
	}
	n.filtered = append(n.filtered, v)
	return flag
}

// load returns a stream of levels, noise of changing size and peaks, some of them huge.
func load(r *rand.Rand) func() float64 {
	level, noise := r.Float64(), .01
	return func() float64 {
		switch p := r.Float64(); {
		case p < .01:
			level = r.Float64() * math.Pow(10, float64(r.IntN(4)))
		case p < .02:
			noise = math.Pow(10, -4*r.Float64())
		case p < .025:
			return level + (r.Float64()-.5)*1e6
		}
		return level + noise*r.NormFloat64()
	}
}

func TestDetectorEqualsNaive(t *testing.T) {
	const steps = 1_000_000
	for i, c := range []naive{
		{lag: 10, threshold: 3.5, influence: .5},
		{lag: 2, threshold: 1.3, influence: 1},
		{lag: 30, threshold: 2, influence: 0},
		{lag: 97, threshold: 3, influence: .1},
	} {
		next := load(rand.New(rand.NewPCG(1, uint64(i))))
		d, err := pronto.NewDetector(pronto.DetectorConfig{Lag: c.lag, Threshold: c.threshold, Influence: &c.influence})
		if err != nil {
			t.Fatal(err)
		}
		peaks := 0
		for step := range steps / 4 {
			v := next()
			got, err := d.Step(v)
			if want := c.step(v); err != nil || got != want {
				t.Fatalf("%+v: step %d of %g: flag %d, %v, want %d", c.lag, step, v, got, err, want)
			}
			if got != 0 {
				peaks++
			}
			_, mean, deviation := d.Window()
			wantMean, wantDeviation := c.window()
			scale := 1e-9 * (1 + math.Abs(wantMean) + wantDeviation)
			if math.Abs(mean-wantMean) > scale || math.Abs(deviation-wantDeviation) > scale {
				t.Fatalf("lag %d, step %d: %g ± %g, want %g ± %g", c.lag, step, mean, deviation, wantMean, wantDeviation)
			}
		}
		if peaks < steps/4/1000 {
			t.Errorf("lag %d: only %d peaks", c.lag, peaks)
		}
	}
}

func steps(t *testing.T, c pronto.DetectorConfig, values ...float64) []int8 {
	t.Helper()
	d, err := pronto.NewDetector(c)
	if err != nil {
		t.Fatal(err)
	}
	var flags []int8
	for _, v := range values {
		f, err := d.Step(v)
		if err != nil {
			t.Fatal(err)
		}
		flags = append(flags, f)
	}
	return flags
}

func repeated(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// TestConstantHasNoPeak: rounding is no peak, at any level; a change larger than Flat is.
func TestConstantHasNoPeak(t *testing.T) {
	for _, level := range []float64{0, .1, -1. / 3, 1e6, 1e15, pronto.MaxMagnitude} {
		for i, f := range steps(t, pronto.DetectorConfig{}, repeated(level, 100)...) {
			if f != 0 {
				t.Errorf("level %g: flag %d at %d", level, f, i)
			}
		}
	}
	for jump, want := range map[float64]int8{5e-10: 0, -5e-10: 0, 2e-9: 1, -2e-9: -1} {
		flags := steps(t, pronto.DetectorConfig{}, append(repeated(.25, 12), .25+jump)...)
		if got := flags[12]; got != want {
			t.Errorf("jump by %g: flag %d, want %d", jump, got, want)
		}
	}
}

// TestThresholdIsExceeded: a value at the threshold is no peak, one beyond it is.
func TestThresholdIsExceeded(t *testing.T) {
	for v, want := range map[float64]int8{3: 0, 3.001: 1, -3: 0, -3.001: -1} {
		if got := steps(t, pronto.DetectorConfig{Lag: 2, Threshold: 3}, -1, 1, v)[2]; got != want {
			t.Errorf("%g: flag %d, want %d", v, got, want)
		}
	}
}

// TestFirstValuesHaveNoPeak: no value is flagged until the window is full.
func TestFirstValuesHaveNoPeak(t *testing.T) {
	values := []float64{0, 100, -100, 1e6, 7}
	for i, f := range steps(t, pronto.DetectorConfig{Lag: 5, Threshold: .1}, values...) {
		if f != 0 {
			t.Errorf("flag %d at %d", f, i)
		}
	}
}

// TestInfluence: without influence a new level remains a peak for ever; with full influence it is a
// peak until the window has adapted.
func TestInfluence(t *testing.T) {
	values := append([]float64{0, .1, 0, .1}, repeated(10, 20)...)
	for influence, want := range map[float64]int{0: 20, 1: 1} {
		flags := steps(t, pronto.DetectorConfig{Lag: 4, Threshold: 3, Influence: &influence}, values...)
		got := 0
		for _, f := range flags {
			got += int(f)
		}
		if got != want {
			t.Errorf("influence %g: %d peaks, want %d", influence, got, want)
		}
	}
}

// TestMirrorAndScale: peaks do not depend on the unit, and change sign with the values.
func TestMirrorAndScale(t *testing.T) {
	next := load(rand.New(rand.NewPCG(5, 5)))
	var plain, turned []float64
	for range 5000 {
		v := next()
		plain, turned = append(plain, v), append(turned, -1024*v) // exact in binary
	}
	a, b := steps(t, pronto.DetectorConfig{}, plain...), steps(t, pronto.DetectorConfig{}, turned...)
	peaks := 0
	for i := range a {
		if a[i] != -b[i] {
			t.Fatalf("value %d: %d and %d", i, a[i], b[i])
		}
		peaks += int(a[i] * a[i])
	}
	if peaks < 50 {
		t.Errorf("only %d peaks", peaks)
	}
}

func TestDetectorRejects(t *testing.T) {
	nan, inf, minus, two := math.NaN(), math.Inf(1), -.1, 2.
	for field, c := range map[string]pronto.DetectorConfig{
		"Lag":       {Lag: 1},
		"Threshold": {Threshold: -1},
		"Influence": {Influence: &minus},
	} {
		wantFieldError(t, second(pronto.NewDetector(c)), field, pronto.ErrRange)
	}
	for field, c := range map[string]pronto.DetectorConfig{
		"Lag":       {Lag: pronto.MaxLag + 1},
		"Threshold": {Threshold: nan},
		"Influence": {Influence: &two},
	} {
		wantFieldError(t, second(pronto.NewDetector(c)), field, pronto.ErrRange)
	}
	d, _ := pronto.NewDetector(pronto.DetectorConfig{Lag: 2})
	for _, v := range []float64{1, 2} {
		if _, err := d.Step(v); err != nil {
			t.Fatal(err)
		}
	}
	for v, cause := range map[float64]error{inf: pronto.ErrNotFinite, -inf: pronto.ErrNotFinite, 2 * pronto.MaxMagnitude: pronto.ErrRange, -2 * pronto.MaxMagnitude: pronto.ErrRange} {
		wantFieldError(t, second(d.Step(v)), "v", cause)
	}
	wantFieldError(t, second(d.Step(nan)), "v", pronto.ErrNotFinite)
	if n, mean, deviation := d.Window(); n != 2 || mean != 1.5 || deviation != .5 {
		t.Errorf("a rejected value changed the window: got %d values, %g ± %g", n, mean, deviation)
	}
}

func second[T any](_ T, err error) error { return err }

func wantFieldError(t *testing.T, err error, name string, cause error) {
	t.Helper()
	var f *field.Error
	if !errors.As(err, &f) || f.Field != name || !errors.Is(err, cause) {
		t.Errorf("got error %v, want one of field %s with cause %v", err, name, cause)
	}
}
