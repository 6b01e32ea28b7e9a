package thesis_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/sim/thesis"
)

// TestMethodsKeepTheGates runs the common requirements of all methods.
func TestMethodsKeepTheGates(t *testing.T) {
	for _, m := range methods {
		t.Run(m.String(), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(12, 13))
			l := newLearner(t, m, kalman.Config{Prior: .1})
			trace(rng, 600, func(int) float64 { return .1 }, func(_ int, z, n float64) { l.step(z, n) })
			if e := l.estimate(); !e.Known || math.Abs(e.Cost-.1) > .04 {
				t.Errorf("after 600 steps at c = .1: %+v", e)
			}
			// 12 pods take more than all: a full channel says nothing new, and one
			// that has room at 9 that there is less of it.
			s := l.state()
			v := l.step(.001, 12)
			next := l.state()
			if next.Contended = s.Contended; v != kalman.Censored && m != thesis.Delta || v == kalman.Censored && next != s {
				t.Errorf("full beyond the capacity: %v, %+v after %+v", v, next, s)
			}
			l.setState(s)
			still := func(steps int) {
				for range steps {
					l.step(.7+.02*rng.NormFloat64(), s.LastPods)
				}
			}
			still(100) // the change to .7 itself may leave a doubt
			before := l.state().CostVar
			still(10000)
			if after := l.state().CostVar; after > before*1.01+1e-12 {
				t.Errorf("variance of the cost wound up from %v to %v", before, after)
			}
		})
	}
}

// TestSpreadOfMethods: with pods that differ the centred filter still equals the two-dimensional
// one.
func TestSpreadOfMethods(t *testing.T) {
	c := kalman.Config{Prior: .125, Spread: .7, Gate: math.MaxFloat64}
	centred, joint := newLearner(t, "", c), newLearner(t, thesis.Joint, c)
	rng := rand.New(rand.NewPCG(3, 9))
	var pods []float64 // half of which take .12 of a channel and half nothing
	for range 40 {
		switch {
		case len(pods) > 0 && rng.IntN(2) == 0:
			i := rng.IntN(len(pods))
			pods = append(pods[:i], pods[i+1:]...)
		case len(pods) < 7:
			pods = append(pods, .12*float64(rng.IntN(2)))
		}
		used := .05
		for _, p := range pods {
			used += p
		}
		for range 3 { // the same pods for some seconds
			centred.step(1-used, float64(len(pods)))
			joint.step(1-used, float64(len(pods)))
		}
	}
	a, b := centred.estimate(), joint.estimate()
	if math.Abs(a.Cost-b.Cost) > 1e-9 || math.Abs(a.Capacity()-b.Capacity()) > 1e-9 || math.Abs(a.CostSD-b.CostSD) > 1e-9 {
		t.Errorf("centred %+v, joint %+v", a, b)
	}
}

// TestGatesAreKalmans: in churn, beside known pods, in contention, over outliers and on full
// channels, the centred filter in other coordinates treats each measurement alike.
func TestGatesAreKalmans(t *testing.T) {
	c := kalman.Config{Prior: .125, Spread: .5}
	centred, joint := newLearner(t, "", c), newLearner(t, thesis.Joint, c)
	rng := rand.New(rand.NewPCG(40, 6))
	verdicts := map[kalman.Verdict]int{}
	n, known := 2., 0.
	for i := range 4000 {
		if rng.IntN(4) == 0 {
			n = float64(rng.IntN(12))
		}
		if rng.IntN(40) == 0 {
			known = float64(rng.IntN(3))
		}
		z := .95 - .1*n - .06*known + .01*rng.NormFloat64()
		if i/200%5 == 4 { // something else fills most of the channel
			z -= .4
		}
		o := kalman.Observation{
			Headroom: []float64{math.Min(math.Max(z, 0), 1)}, Pods: n + known, Load: []float64{n}, Known: []float64{.06 * known},
			Churn: rng.IntN(3) == 0, Transitioning: float64(rng.IntN(3)), Pause: rng.IntN(20) == 0,
		}
		v, w := centred.observe(o), joint.observe(o)
		if v != w {
			t.Fatalf("step %d: centred %v, joint %v of %+v: %+v, %+v", i, v, w, o, centred.state(), joint.state())
		}
		verdicts[v]++
		a, b := centred.estimate(), joint.estimate()
		// Each is at least C ≥ 0 and c ≥ its floor by its own coordinates.
		if a.Known != b.Known {
			t.Fatalf("step %d: centred %+v, joint %+v", i, a, b)
		}
	}
	for _, v := range []kalman.Verdict{kalman.Taken, kalman.Frozen, kalman.Censored, kalman.Outlier} {
		if verdicts[v] < 20 {
			t.Errorf("%v in %d of 4000 steps only", v, verdicts[v])
		}
	}
}
