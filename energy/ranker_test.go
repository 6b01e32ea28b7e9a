package energy_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
)

// marginal returns a node on which one more busy core takes that many watts; NaN means unknown
// power.
func marginal(watts float64) energy.Power {
	if math.IsNaN(watts) {
		return energy.Power{}
	}
	return energy.Power{Quality: energy.Modelled, Marginal: watts, Max: 1000, Cores: 64}
}

// ranking ranks nodes that differ in the power of one more core, for pods of one core.
func ranking(r *energy.Ranker, now time.Duration, watts []float64) energy.Ranking {
	return r.For(1, now, func(add func(*energy.Power, int, float64)) {
		for _, w := range watts {
			p := marginal(w)
			add(&p, 1, 0)
		}
	})
}

func relative(r energy.Ranking, watts float64) float64 {
	p := marginal(watts)
	return r.Relative(&p, 1, 0)
}

func TestRanking(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		name       string
		watts      []float64
		asked, got float64
	}{
		{"the median", []float64{1, 4, 2}, 2, 1},
		{"better", []float64{1, 4, 2}, 1, 2},
		{"of two: their geometric mean", []float64{1, 16}, 8, .5},
		{"of four", []float64{.25, 1, 16, 100}, 2, 2},
		{"one that claims to take nothing", []float64{1, 4, 2}, 0, 4},
		{"a very bad one", []float64{1, 4, 2}, 900, .25},
		{"unknown gets the mean", []float64{1, 4, 2, nan}, nan, 3.5 / 3},
		{"the mean of what is clipped", []float64{4, 4, 0}, nan, 2},
		{"one node", []float64{7}, 7, 1},
		{"all are unknown", []float64{nan, nan}, 5, nan},
		{"no node", nil, nan, nan},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := relative(ranking(new(energy.Ranker), 0, test.watts), test.asked)
			if !(math.Abs(got-test.got) < 1e-12) && !(math.IsNaN(got) && math.IsNaN(test.got)) {
				t.Errorf("got %v, want %v", got, test.got)
			}
		})
	}
	if got := relative(energy.Ranking{}, 3); !math.IsNaN(got) {
		t.Errorf("the zero Ranking has %v", got)
	}
}

// A ranking has no unit, and a node of unknown power counts as the others do on average.
func TestRankingHasNoUnit(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 6))
	for range 500 {
		some, scaled := make([]float64, 1+rng.IntN(40)), []float64(nil)
		for i := range some {
			if some[i] = math.Exp(rng.NormFloat64()); rng.IntN(4) == 0 {
				some[i] = math.NaN()
			}
			scaled = append(scaled, 1e3*some[i])
		}
		f, g := ranking(new(energy.Ranker), 0, some), ranking(new(energy.Ranker), 0, scaled)
		sum, known := 0., 0.
		for i := range some {
			a, b := relative(f, some[i]), relative(g, scaled[i])
			if math.Abs(a-b) > 1e-9 {
				t.Fatalf("of %v: %v, in another unit %v", some, a, b)
			}
			if !math.IsNaN(some[i]) {
				sum, known = sum+a, known+1
			}
		}
		unknown := relative(f, math.NaN())
		if known == 0 {
			if !math.IsNaN(unknown) {
				t.Fatalf("of %v, where nothing is known: %v", some, unknown)
			}
			continue
		}
		if math.Abs(unknown-sum/known) > 1e-12 || unknown < .25 || unknown > 4 {
			t.Fatalf("of %v: unknown counts as %v, the known as %v on average", some, unknown, sum/known)
		}
	}
}

// The nodes are ranked once a second for each size of pods, and again after the clock was set back.
func TestRankerRemembersNodes(t *testing.T) {
	var r energy.Ranker
	for _, test := range []struct {
		now    time.Duration
		median float64 // of the nodes by then
		got    float64 // of one of a watt
	}{
		{time.Minute, 2, 2},
		{time.Minute + 999*time.Millisecond, 4, 2},
		{time.Minute + time.Second, 4, 4},
		{time.Second, 1, 1},
		{1999 * time.Millisecond, 2, 1},
	} {
		if got := relative(ranking(&r, test.now, []float64{test.median}), 1); math.Abs(got-test.got) > 1e-12 {
			t.Errorf("at %v: %v, want %v", test.now, got, test.got)
		}
	}
	small := r.For(.1, time.Second, func(add func(*energy.Power, int, float64)) {
		p := marginal(16)
		add(&p, 1, 0)
	})
	if got := relative(small, 2); small.Cores != .1 || got != 4 {
		t.Errorf("for a pod of %v cores: %v, want 4 for .1", small.Cores, got)
	}
}

// The ranking is by the objective, and an idle node costs its idle power if it powers down.
func TestRankingFollowsSettings(t *testing.T) {
	busy := energy.Power{Quality: energy.Measured, Watts: 100, Max: 300, Idle: 50, Marginal: 5, Busy: 2, Cores: 16}
	large := energy.Power{Quality: energy.Measured, Watts: 150, Max: 900, Idle: 100, Marginal: 20, Busy: 2, Cores: 16}
	for _, test := range []struct {
		name   string
		ranker *energy.Ranker
		pods   int
		better bool
	}{
		{"by what a core takes", &energy.Ranker{}, 0, true},
		{"by what is left", &energy.Ranker{Objective: energy.Remaining}, 0, false},
		{"where it sleeps", &energy.Ranker{IdleNodesPowerDown: true}, 0, false},
		{"where it runs pods", &energy.Ranker{IdleNodesPowerDown: true}, 1, true},
	} {
		got := test.ranker.For(1, 0, func(add func(*energy.Power, int, float64)) {
			add(&busy, test.pods, 0)
			add(&large, 1, 0)
		})
		if a, b := got.Relative(&busy, test.pods, 0), got.Relative(&large, 1, 0); a > b != test.better {
			t.Errorf("%s: %v and %v", test.name, a, b)
		}
	}
}

func TestRoundCores(t *testing.T) {
	for _, test := range [][2]float64{{0, .1}, {.001, .1}, {.14, .1}, {.16, .2}, {.52, .5}, {.48, .5}, {1, 1}, {3.96, 4}, {4096, 4096}} {
		if got := energy.RoundCores(test[0]); got != test[1] {
			t.Errorf("%v cores are rounded to %v, want %v", test[0], got, test[1])
		}
	}
}
