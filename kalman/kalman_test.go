package kalman_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/kalman"
)

// quiet has wide noise and much drift, so that every term of a step matters.
var quiet = kalman.Config{Prior: .25, Noise: .01, LevelDrift: .1, CostDrift: .01}

// TestCentredFormula compares with the formulas of the package doc written out.
func TestCentredFormula(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	d := kalman.State{}
	var mu, pMu, c, pC, mean, diffVar, lastZ, lastN float64
	prior := .125 * .125
	for i := range 500 {
		n := float64(rng.IntN(5))
		z := math.Min(math.Max(.9-.15*n+.03*rng.NormFloat64(), .03), 1)
		next, verdict, err := kalman.Step(d, z, n, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if verdict != kalman.Taken {
			continue
		}
		if i == 0 {
			mu, pMu, c, pC, mean, diffVar = z, .01, .25, prior, n, .02
		} else {
			r := math.Min(math.Max(diffVar/2, .01/16), .16)
			pMu += .1 * r
			if n != lastN {
				q := math.Min(.01*r, prior-pC)
				mu += c * mean * q / (pC + q)
				pMu += mean * mean * pC * q / (pC + q)
				mean -= mean * q / (pC + q)
				pC += q
			}
			x := n - mean
			nu := z - mu + c*x
			s := pMu + x*x*pC + r
			a := pMu / (pMu + r)
			c, pC = math.Max(c-x*pC/s*nu, .25/8), (1-x*x*pC/s)*pC
			mu, pMu, mean = mu+a*(z-mu), (1-a)*pMu, mean+a*x
			if n == lastN {
				diffVar += .05 * ((z-lastZ)*(z-lastZ) - diffVar)
			}
		}
		lastZ, lastN = z, n
		d = next
		want := []float64{mu, pMu, c, pC, mean}
		got := []float64{d.Level, d.LevelVar, d.Cost, d.CostVar, d.MeanPods}
		for j := range want {
			if math.Abs(got[j]-want[j]) > 1e-12 {
				t.Fatalf("step %d: state %v, want %v", i, got, want)
			}
		}
	}
}

// trace drives a node whose cost changes midway while its pods come and go.
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

func TestCentredLearnsCost(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var errSum, runs float64
	for range 50 {
		d := kalman.State{}
		cost := func(i int) float64 {
			if i < 300 {
				return .08
			}
			return .12
		}
		trace(rng, 900, cost, func(_ int, z, n float64) {
			d, _, _ = kalman.Step(d, z, n, kalman.Config{})
		})
		e := d.Estimate(kalman.Config{})
		if !e.Known {
			t.Fatalf("cost unknown after 900 steps: %+v", d)
		}
		errSum += math.Abs(e.Cost-.12) / .12
		runs++
	}
	if mean := errSum / runs; mean > .1 {
		t.Errorf("got mean relative error of the cost %.3f, want at most .1", mean)
	}
}

func TestConstantPodsKeepTheCost(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	d := kalman.State{}
	trace(rng, 500, func(int) float64 { return .1 }, func(_ int, z, n float64) {
		d, _, _ = kalman.Step(d, z, n, kalman.Config{})
	})
	before := d
	// A day with three pods while the base load falls by .2.
	for i := range 86400 {
		z := .65 + .02*rng.NormFloat64()
		if i > 1000 {
			z += .2
		}
		d, _, _ = kalman.Step(d, z, 3, kalman.Config{})
	}
	if rel := math.Abs(d.Cost-before.Cost) / before.Cost; rel > .2 {
		t.Errorf("cost moved from %.4f to %.4f although the pods were constant", before.Cost, d.Cost)
	}
	if d.CostVar > before.CostVar*1.01 {
		t.Errorf("variance of the cost grew from %v to %v: wind-up", before.CostVar, d.CostVar)
	}
	if got := d.Level; math.Abs(got-.85) > .03 {
		t.Errorf("level %v did not follow the headroom to .85", got)
	}
}

func TestGates(t *testing.T) {
	seen := kalman.State{}
	for range 50 {
		seen, _, _ = kalman.Step(seen, .5, 2, kalman.Config{})
	}
	t.Run("saturated", func(t *testing.T) {
		got, v, err := kalman.Step(seen, .01, 9, kalman.Config{})
		if err != nil || v != kalman.Censored {
			t.Fatalf("verdict %v, error %v", v, err)
		}
		got.Contended = seen.Contended
		if d := cmp.Diff(seen, got); d != "" {
			t.Errorf("a censored measurement changed the state:\n%s", d)
		}
	})
	t.Run("outlier, then change", func(t *testing.T) {
		d := seen
		for i := 1; i <= kalman.DefaultPatience; i++ {
			var v kalman.Verdict
			d, v, _ = kalman.Step(d, .9, 2, kalman.Config{})
			want := kalman.Outlier
			if i == kalman.DefaultPatience {
				want = kalman.Taken
			}
			if v != want {
				t.Fatalf("outlier %d: verdict %v, want %v", i, v, want)
			}
		}
		if d.Level < .6 {
			t.Errorf("level %v after a confirmed change to .9", d.Level)
		}
	})
	t.Run("an empty night leaves the cost alone", func(t *testing.T) {
		d := seen
		for range 20 {
			d, _, _ = kalman.Step(d, .55, 0, kalman.Config{})
		}
		before := d
		for range 10000 {
			d, _, _ = kalman.Step(d, .55, 0, kalman.Config{})
		}
		if math.Abs(d.Cost-before.Cost) > .01*before.Cost || d.CostVar > before.CostVar {
			t.Errorf("without pods the cost went from %v to %v, its variance from %v to %v", before.Cost, d.Cost, before.CostVar, d.CostVar)
		}
	})
	t.Run("switched off", func(t *testing.T) {
		c := kalman.Config{Gate: kalman.NoGate, Saturation: kalman.NeverSaturated}
		if _, v, _ := kalman.Step(seen, 0, 2, c); v != kalman.Taken {
			t.Errorf("without gates: got verdict %v", v)
		}
	})
}

func TestStepRejects(t *testing.T) {
	d, _, _ := kalman.Step(kalman.State{}, .5, 2, kalman.Config{})
	for _, tt := range []struct {
		name  string
		z, n  float64
		field string
	}{
		{"NaN headroom", math.NaN(), 1, "Headroom"},
		{"headroom above one", 1.1, 1, "Headroom"},
		{"negative headroom", -.1, 1, "Headroom"},
		{"negative pods", .5, -1, "Pods"},
		{"infinite pods", .5, math.Inf(1), "Pods"},
		{"too many pods", .5, 1e7, "Pods"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := kalman.Step(d, tt.z, tt.n, kalman.Config{})
			if !names(err, tt.field) {
				t.Errorf("got error %v, want one of %s", err, tt.field)
			}
			if diff := cmp.Diff(d, got); diff != "" {
				t.Errorf("state changed:\n%s", diff)
			}
		})
	}
}

func TestStepRejectsConfigAndState(t *testing.T) {
	d, _, _ := kalman.Step(kalman.State{}, .5, 2, kalman.Config{})
	bad := d
	bad.CostVar = math.NaN()
	for field, tt := range map[string]struct {
		s kalman.State
		c kalman.Config
	}{
		"Prior":         {d, kalman.Config{Prior: math.Inf(1)}},
		"State.CostVar": {bad, kalman.Config{}},
	} {
		if _, _, err := kalman.Step(tt.s, .5, 2, tt.c); !names(err, field) {
			t.Errorf("got error %v, want one of %s", err, field)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	for field, c := range map[string]kalman.Config{
		"Prior":      {Prior: -1},
		"PriorSD":    {PriorSD: math.NaN()},
		"Noise":      {Noise: math.Inf(1)},
		"LevelDrift": {LevelDrift: -1},
		"CostDrift":  {CostDrift: -1},
		"Gate":       {Gate: -1},
		"Patience":   {Patience: -1},
		"Saturation": {Saturation: 3},
		"Known":      {Known: 2},
		"Floor":      {Floor: 2},
	} {
		if err := c.Validate(); !names(err, field) {
			t.Errorf("%s: error %v", field, err)
		}
		if _, err := kalman.NewPerChannel(kalman.Config{}, c); !errors.Is(err, kalman.ErrInvalid) {
			t.Errorf("NewPerChannel accepted a bad %s", field)
		}
	}
}

func TestPool(t *testing.T) {
	own := kalman.Estimate{Level: .5, MeanPods: 2, Cost: .1, CostSD: .1, Known: true}
	for _, tt := range []struct {
		name  string
		e     kalman.Estimate
		fleet kalman.Fleet
		want  kalman.Estimate
	}{
		{"no fleet", own, kalman.Fleet{}, own},
		{"broken fleet", own, kalman.Fleet{Cost: math.NaN()}, own},
		{"equal precision meets half-way", own, kalman.Fleet{Cost: .2}, kalman.Estimate{Level: .5, MeanPods: 2, Cost: .15, CostSD: .1 / math.Sqrt2, Known: true}},
		{"certain local estimate", kalman.Estimate{Cost: .1, Known: true}, kalman.Fleet{Cost: .2}, kalman.Estimate{Cost: .1, Known: true}},
		{"unknown takes the fleet's", kalman.Estimate{Level: .5, Cost: .25}, kalman.Fleet{Cost: .2, SD: .05}, kalman.Estimate{Level: .5, Cost: .2, CostSD: .05}},
		{"never far below the fleet", kalman.Estimate{Cost: .001, Known: true}, kalman.Fleet{Cost: .8}, kalman.Estimate{Cost: .1, Known: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, kalman.Pool(tt.e, tt.fleet, 0, 0), approx); d != "" {
				t.Errorf("Pool (-want +got):\n%s", d)
			}
		})
	}
}

var approx = cmp.Comparer(func(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-12 })

func TestPerChannel(t *testing.T) {
	p, err := kalman.NewPerChannel(kalman.Config{}, kalman.Config{Prior: .1})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Step(kalman.Observation{Headroom: []float64{.8, .9}, Pods: 1}); err != nil {
		t.Fatal(err)
	}
	before := p.EstimatesTo(nil)
	for name, o := range map[string]kalman.Observation{
		"short":              {Headroom: []float64{.5}},
		"second channel NaN": {Headroom: []float64{.5, math.NaN()}},
		"negative pods":      {Headroom: []float64{.5, .5}, Pods: -1},
		"negative moving":    {Headroom: []float64{.5, .5}, Churn: true, Transitioning: -1},
		"moving NaN":         {Headroom: []float64{.5, .5}, Churn: true, Transitioning: math.NaN()},
		"halt":               {Headroom: []float64{.1, .1}, Pods: 4, Pause: true},
		"pause during churn": {Headroom: []float64{.1, .1}, Pods: 4, Churn: true, Pause: true},
	} {
		if err := p.Step(o); (err != nil) == o.Pause {
			t.Errorf("%s: error %v", name, err)
		}
		if d := cmp.Diff(before, p.EstimatesTo(nil)); d != "" {
			t.Errorf("%s changed the estimates:\n%s", name, d)
		}
	}
	if err := p.Step(kalman.Observation{Headroom: []float64{.1, .1}, Pause: true}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]kalman.Verdict{kalman.Frozen, kalman.Frozen}, p.VerdictsTo(nil)); d != "" {
		t.Errorf("verdicts of a pause:\n%s", d)
	}
	o := kalman.Observation{Headroom: []float64{.7, .8}, Pods: 2}
	dst := make([]kalman.Estimate, 2)
	if n := testing.AllocsPerRun(100, func() { _ = p.Step(o); p.EstimatesTo(dst) }); n != 0 {
		t.Errorf("Step and EstimatesTo: got %v allocations", n)
	}
}

// names reports whether err is an error of package kalman about the field.
func names(err error, field string) bool {
	return err != nil && strings.Contains(err.Error(), "kalman: "+field+" = ")
}
