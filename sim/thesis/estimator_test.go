package thesis_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/sim/thesis"
)

// methods are all compared ones, kalman's first.
var methods = []pipeline.Method{"", thesis.Naive, thesis.Delta, thesis.Joint}

// learner is an estimator of one channel.
type learner struct {
	pipeline.Estimator
	t testing.TB
}

func newLearner(t testing.TB, m pipeline.Method, c kalman.Config) learner {
	t.Helper()
	e, err := m.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return learner{e, t}
}

func (l learner) observe(o kalman.Observation) kalman.Verdict {
	l.t.Helper()
	if err := l.Step(o); err != nil {
		l.t.Fatal(err)
	}
	return l.VerdictsTo(nil)[0]
}

func (l learner) step(z, n float64) kalman.Verdict {
	l.t.Helper()
	return l.observe(kalman.Observation{Headroom: []float64{z}, Pods: n})
}

func (l learner) estimate() kalman.Estimate { return l.EstimatesTo(nil)[0] }
func (l learner) state() kalman.State       { return l.StatesTo(nil)[0] }

func (l learner) setState(s kalman.State) {
	l.t.Helper()
	if err := l.SetStates([]kalman.State{s}); err != nil {
		l.t.Fatal(err)
	}
}

// trace is a node whose cost changes in mid-run while its pods come and go.
func trace(rng *rand.Rand, steps int, cost func(i int) float64, visit func(i int, z, n float64)) {
	n := 2.0
	for i := range steps {
		if rng.Float64() < .2 {
			n = math.Min(math.Max(n+float64(rng.IntN(3)-1), 0), 5)
		}
		z := .95 - cost(i)*n + .02*rng.NormFloat64()
		visit(i, math.Min(math.Max(z, .03), 1), n)
	}
}

// TestGolden compares with an implementation in GNU Octave that works on the state
// (C, c) in matrix form (kalman/testdata/golden.m).
func TestGolden(t *testing.T) {
	f, err := os.Open("testdata/estimators.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	sequences, worst, verdicts := map[string]int{}, 0., map[kalman.Verdict]int{}
	for {
		var (
			id, gates, steps int
			name             string
			c                kalman.Config
		)
		if _, err := fmt.Fscan(r, new(string), &id, &name, &c.Prior, &c.Noise, &c.LevelDrift, &c.CostDrift, &gates, &steps); err != nil {
			break
		}
		if gates == 0 {
			c.Gate, c.Saturation = kalman.NoGate, kalman.NeverSaturated
		}
		sequences[name]++
		var m pipeline.Method
		if err := m.UnmarshalText([]byte(name)); err != nil {
			t.Fatal(err)
		}
		l := newLearner(t, m, c)
		for i := range steps {
			var z, n, capacity, cost, costVar float64
			if _, err := fmt.Fscan(r, &z, &n, &capacity, &cost, &costVar); err != nil {
				t.Fatal(err)
			}
			verdicts[l.step(z, n)]++
			s := l.state()
			got := []float64{s.Level, s.Cost, s.CostVar}
			scale := []float64{capacity, cost, c.Prior * c.Prior / 4} // of C, c and, at the start, P_c
			for j, want := range []float64{capacity, cost, costVar} {
				diff := math.Abs(got[j]-want) / scale[j]
				worst = max(worst, diff)
				if !(diff <= 1e-12) {
					t.Fatalf("sequence %d (%s), step %d: C, c, P_c = %v, Octave has %v %v %v", id, name, i, got, capacity, cost, costVar)
				}
			}
		}
	}
	if sequences["naive"] < 4 || sequences["delta"] < 4 || sequences["joint"] < 8 {
		t.Errorf("too few sequences: %v", sequences)
	}
	if verdicts[kalman.Censored] == 0 || verdicts[kalman.Outlier] == 0 {
		t.Errorf("the gates were not tried: %v", verdicts)
	}
	t.Logf("sequences %v, largest relative difference %.1e, verdicts %v", sequences, worst, verdicts)
}

// TestStatesGoOn hands the states of an estimator to a fresh one in mid-run:
// both then learn the same, to the last bit.
func TestStatesGoOn(t *testing.T) {
	for _, method := range methods[1:] {
		first, err := method.New(kalman.Config{}, kalman.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var second pipeline.Estimator
		i := 0
		trace(rand.New(rand.NewPCG(4, 4)), 400, func(int) float64 { return .15 }, func(_ int, z, n float64) {
			if i++; i == 200 {
				if second, err = method.New(kalman.Config{}, kalman.Config{}); err == nil {
					err = second.SetStates(first.StatesTo(nil))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			o := kalman.Observation{Headroom: []float64{z, z / 2}, Pods: n, Churn: i%17 == 0}
			if err := first.Step(o); err != nil {
				t.Fatal(err)
			}
			if second == nil {
				return
			}
			if err := second.Step(o); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(first.StatesTo(nil), second.StatesTo(nil)); d != "" {
				t.Fatalf("%v, step %d:\n%s", method, i, d)
			}
			if d := cmp.Diff(first.InnovationsTo(nil), second.InnovationsTo(nil)); d != "" {
				t.Fatalf("%v, step %d:\n%s", method, i, d)
			}
		})
	}
}

// TestRefused: what is refused changes nothing.
func TestRefused(t *testing.T) {
	for _, m := range methods[1:] {
		if _, err := m.New(kalman.Config{}, kalman.Config{Floor: 2}); !errors.Is(err, kalman.ErrInvalid) || !strings.Contains(err.Error(), "Floor"+" = ") {
			t.Errorf("%v: a Config out of range: %v", m, err)
		}
		l := newLearner(t, m, kalman.Config{})
		l.step(.5, 2)
		before := l.state()
		if err := l.Step(kalman.Observation{Headroom: []float64{math.NaN()}}); !errors.Is(err, kalman.ErrInvalid) || !strings.Contains(err.Error(), "Headroom"+" = ") {
			t.Errorf("%v: a headroom that is no number: %v", m, err)
		}
		bad := before
		bad.CostVar = math.NaN()
		if err := l.SetStates([]kalman.State{bad}); !errors.Is(err, kalman.ErrInvalid) || !strings.Contains(err.Error(), "State.CostVar"+" = ") {
			t.Errorf("%v: a variance that is no number: %v", m, err)
		}
		if err := l.SetStates(nil); !errors.Is(err, kalman.ErrLength) {
			t.Errorf("%v: no state: %v", m, err)
		}
		if l.state() != before {
			t.Errorf("%v: %+v became %+v", m, before, l.state())
		}
	}
}

func TestMethodText(t *testing.T) {
	for m, name := range map[pipeline.Method]string{"": "centred", thesis.Naive: "naive", thesis.Delta: "delta", thesis.Joint: "joint"} {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got := pipeline.Method("?")
		if err := json.Unmarshal(text, &got); err != nil || got != m || string(text) != `"`+name+`"` {
			t.Errorf("%v: %s, %v, %v", m, text, got, err)
		}
	}
	for _, bad := range []string{"best", ""} {
		m := thesis.Joint
		var fe *field.Error
		if err := m.UnmarshalText([]byte(bad)); !errors.As(err, &fe) || !errors.Is(err, pipeline.ErrUnknown) || m != thesis.Joint {
			t.Errorf("%q was read as %v: %v", bad, m, err)
		}
	}
}

func TestStepAllocates(t *testing.T) {
	for _, m := range methods {
		p, err := m.New(kalman.Config{}, kalman.Config{})
		if err != nil {
			t.Fatal(err)
		}
		all, dst, verdicts, i := observations(2), make([]kalman.Estimate, 2), make([]kalman.Verdict, 2), 0
		n := testing.AllocsPerRun(500, func() {
			_ = p.Step(all[i&1023])
			p.VerdictsTo(verdicts)
			dst = p.EstimatesTo(dst)
			i++
		})
		if n != 0 {
			t.Errorf("%s: Step, EstimatesTo and VerdictsTo allocate %v times", m, n)
		}
	}
}

// observations are of a node whose pods come and go, so that a benchmark takes
// the branches that a node takes.
func observations(channels int) []kalman.Observation {
	rng := rand.New(rand.NewPCG(41, 42))
	all := make([]kalman.Observation, 0, 1024)
	trace(rng, cap(all), func(int) float64 { return .1 }, func(_ int, z, n float64) {
		o := kalman.Observation{Pods: n, Headroom: make([]float64, channels)}
		for i := range o.Headroom {
			o.Headroom[i] = z
		}
		all = append(all, o)
	})
	return all
}

// BenchmarkStep is a step of every channel with all gates and its estimate.
func BenchmarkStep(b *testing.B) {
	for _, m := range methods {
		b.Run(fmt.Sprintf("%s/d=4", m), func(b *testing.B) {
			const channels = 4
			p, err := m.New(make([]kalman.Config, channels)...)
			if err != nil {
				b.Fatal(err)
			}
			all, dst := observations(channels), make([]kalman.Estimate, channels)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if err := p.Step(all[i&1023]); err != nil {
					b.Fatal(err)
				}
				dst = p.EstimatesTo(dst)
				i++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/channels, "ns/channel")
		})
	}
}

// FuzzStep takes a configuration and two measurements again and again.
func FuzzStep(f *testing.F) {
	f.Add(uint8(0), .5, 2.0, .9, 3.0, .1, 4e-4, .03, .003, 9.0)
	f.Add(uint8(3), 1.0, 1e6, .03, 0.0, 1e3, 1e-12, 1e6, 1e6, math.MaxFloat64)
	f.Add(uint8(3), .03, 1e6, .04, 1e6-1, 1e-6, 1.0, 0.0, 0.0, 1e-300)
	f.Add(uint8(1), 1.0, 1e6, .04, 1e6-1, 1e-6, 1.0, 0.0, 0.0, 1e-300) // Naive with a gate below 1
	f.Add(uint8(2), 1.0, 1e6, .04, 1e6-1, 1e-6, 1.0, 0.0, 0.0, 1e-300)
	f.Fuzz(func(t *testing.T, m uint8, z1, n1, z2, n2, prior, noise, level, cost, gate float64) {
		e, err := methods[m%4].New(kalman.Config{
			Prior: prior, Noise: noise, LevelDrift: level, CostDrift: cost, Gate: gate, Saturation: 2,
		})
		if err != nil {
			return
		}
		l := learner{e, t}
		for i := range 40 {
			z, n := z1, n1
			if i%3 > 0 || i > 30 {
				z, n = z2, n2
			}
			before := l.state()
			if err := l.Step(kalman.Observation{Headroom: []float64{z}, Pods: n, Churn: i%7 == 6, Transitioning: 1}); err != nil {
				if l.state() != before {
					t.Fatal("state changed by a rejected measurement")
				}
				continue
			}
			if err := l.state().Validate(); err != nil {
				t.Fatalf("%v after (%v, %v) on %+v", err, z, n, before)
			}
			finite(t, l.estimate())
		}
	})
}

// FuzzState takes a measurement into any state at all.
func FuzzState(f *testing.F) {
	f.Add(uint8(0), .5, 2.0, .5, .01, .2, .01, 0.0, 0.0, 1e-3, 3)
	f.Add(uint8(2), .5, 47.0, 17.0, .001, .2, .02, .004, 0.0, .00025, 98) // P_c above its prior
	f.Fuzz(func(t *testing.T, m uint8, z, n, level, levelVar, cost, costVar, cov, mean, diff float64, outliers int) {
		l := newLearner(t, methods[1+m%3], kalman.Config{Saturation: 2})
		s := kalman.State{
			Level: level, LevelVar: levelVar, Cost: cost, CostVar: costVar, Cov: cov, MeanPods: mean,
			DiffVar: diff, LastSignal: z, LastPods: n, Outliers: outliers, Started: true,
		}
		if l.SetStates([]kalman.State{s}) != nil {
			return
		}
		if err := l.Step(kalman.Observation{Headroom: []float64{z}, Pods: n}); err != nil {
			t.Fatalf("what a State may hold was refused: %v", err)
		}
		finite(t, l.estimate())
	})
}

// finite fails the test on a NaN or an infinity in an estimate.
func finite(t *testing.T, e kalman.Estimate) {
	t.Helper()
	for _, v := range []float64{e.Level, e.LevelSD, e.Cost, e.CostSD, e.MeanPods, e.Capacity()} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("%v in %+v", v, e)
		}
	}
}

// A clean line is learnt by every method but the naive one, whose two filters
// settle where their errors cancel.
func Example() {
	for _, m := range methods {
		p, err := m.New(kalman.Config{Prior: .2})
		if err != nil {
			panic(err)
		}
		for i := range 300 {
			n := float64(i / 10 % 5)
			if err := p.Step(kalman.Observation{Headroom: []float64{.9 - .1*n}, Pods: n}); err != nil {
				panic(err)
			}
		}
		e := p.EstimatesTo(nil)[0]
		fmt.Printf("%-10s C = %.2f, c = %.2f\n", m, e.Capacity(), e.Cost)
	}
	// Output:
	// centred    C = 0.90, c = 0.10
	// naive      C = 1.28, c = 0.20
	// delta      C = 0.90, c = 0.10
	// joint      C = 0.90, c = 0.10
}
