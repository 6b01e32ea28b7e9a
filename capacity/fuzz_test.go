package capacity_test

import (
	"math"
	"slices"
	"testing"

	"github.com/spazio-scheduler/spazio/capacity"
)

func FuzzSolve(f *testing.F) {
	f.Add(.5, .2, .25, .1, 0.0, 0.0, uint8(0))
	f.Add(1.0, 1.0, 0.0, math.MaxFloat64, 1e-300, math.MaxFloat64, uint8(3))
	f.Fuzz(func(t *testing.T, y0, y1, q0, q1, eps, most float64, bits uint8) {
		o := capacity.Options{Epsilon: eps, Max: most, IgnoreIdleFull: bits&1 > 0, Signed: bits&2 > 0}
		r, err := capacity.Solve([]float64{y0, y1}, []float64{q0, q1}, o)
		if math.IsNaN(r.K) || math.IsInf(r.K, 0) || r.K < 0 && !o.Signed {
			t.Fatalf("k = %v", r.K)
		}
		if err != nil && r != (capacity.Result{}) {
			t.Fatalf("%+v beside %v", r, err)
		}
		if r.Limiting < -1 || r.Limiting > 1 {
			t.Fatalf("limiting channel %d of 2", r.Limiting)
		}
	})
}

func FuzzAvailable(f *testing.F) {
	f.Add(.5, 1.0, .25, .01, .9, .5, .1, 0.0, 2.0, 2.0, 1.0, .98, .5, .1, .2, uint8(0))
	f.Add(math.MaxFloat64, math.MaxFloat64, 5e-324, math.MaxFloat64, 0.0, 0.0, 5e-324, 0.0, math.MaxFloat64, math.MaxFloat64, math.MaxFloat64, -1.0, -1.0, math.MaxFloat64, 0.0, uint8(7))
	f.Fuzz(func(t *testing.T, y0, c0, cost0, sd0, y1, c1, cost1, sd1, now, measured, caution, saturation, allowance, pod, reserve float64, bits uint8) {
		ch := []capacity.Channel{{y0, c0, cost0, sd0, pod, reserve}, {y1, c1, cost1, sd1, 0, 0}}
		before := slices.Clone(ch)
		o := capacity.AvailOptions{Rule: capacity.Rule(bits % 4), Caution: caution, Saturation: saturation, Allowance: allowance}
		a, err := capacity.Available(ch, capacity.Pods{Now: now, Measured: measured, Churn: bits&4 > 0}, o)
		if math.IsNaN(a.Pods) || math.IsInf(a.Pods, 0) {
			t.Fatalf("avail = %v", a.Pods)
		}
		if err == nil && a.Saturated && (a.Pods > 0 || a.Allowance > 0) {
			t.Fatalf("%+v on a saturated node", a)
		}
		if err == nil && !slices.Equal(before, ch) {
			t.Fatal("the channels changed")
		}
	})
}

func FuzzHeadroom(f *testing.F) {
	f.Add(.5, .2, .6, .8)
	f.Fuzz(func(t *testing.T, y0, y1, u0, u1 float64) {
		h, limiting, err := capacity.Headroom([]float64{y0, y1}, []float64{u0, u1})
		if !(h >= 0) || math.IsInf(h, 1) && err == nil && limiting >= 0 {
			t.Fatalf("h = %v by %d, %v", h, limiting, err)
		}
	})
}

func FuzzLegacyDemandTo(f *testing.F) {
	f.Add(.8, .6, .6, -.8, 3.0, 1.0)
	f.Add(1.0, 0.0, 0.0, 1.0, math.MaxFloat64, 5e-324)
	f.Fuzz(func(t *testing.T, u0, u1, u2, u3, s0, s1 float64) {
		dst := []float64{7, 7}
		q, err := capacity.LegacyDemandTo(dst, []float64{u0, u1, u2, u3}, []float64{s0, s1})
		for _, v := range q {
			if math.IsNaN(v) || math.Abs(v) > 7 || err != nil && v != 7 {
				t.Fatalf("q = %v, error %v", q, err)
			}
		}
	})
}

func FuzzStepOverprovision(f *testing.F) {
	f.Add(1.0, 2.0, 3.0, 16, 1.2, 8, 4.0, 0.0)
	f.Add(1e9, 1e-9, 1e9, 1, 100.0, 16, 1e6, 1e30)
	f.Fuzz(func(t *testing.T, t1, t2, allowance float64, window int, threshold float64, recent int, most, past float64) {
		c := capacity.OverprovisionConfig{Window: window, Threshold: threshold, Recent: recent, Most: most}
		s := capacity.Overprovision{Allowance: allowance, Past: [capacity.MaxRecent]float64{0: past}, Full: recent, Next: recent}
		for i := range 50 {
			time := t1
			if i%3 == 0 {
				time = t2
			}
			next, _, err := capacity.StepOverprovision(s, time, c)
			if err != nil {
				if !sameBits(next, s) {
					t.Fatalf("state changed by a rejected step: %+v", next)
				}
				return
			}
			if err := next.Validate(); err != nil {
				t.Fatalf("%v after %v on %+v", err, time, s)
			}
			s = next
		}
	})
}

// sameBits compares the numbers a fuzz input can make NaN.
func sameBits(a, b capacity.Overprovision) bool {
	same := func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }
	ok := same(a.Allowance, b.Allowance) && same(a.Squares, b.Squares) && a.Count == b.Count && a.Full == b.Full && a.Next == b.Next
	for i := range a.Past {
		ok = ok && same(a.Past[i], b.Past[i])
	}
	return ok
}

func FuzzStartupAllowance(f *testing.F) {
	f.Add(1.0, .25, 1.0, 10.0, 0.0)
	f.Add(math.MaxFloat64, 5e-324, 5e-324, math.MaxFloat64, 1.0)
	f.Fuzz(func(t *testing.T, c, cost, startup, run, most float64) {
		pods, err := capacity.StartupAllowance(c, cost, startup, run, most)
		if !(pods >= 0) || math.IsInf(pods, 1) || err != nil && pods != 0 {
			t.Fatalf("%v pods, error %v", pods, err)
		}
	})
}
