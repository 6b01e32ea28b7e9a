package sim_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/svd"
)

// leaps takes a node's four cores for a length of each period from half of the sample before on, in
// seconds of the whole run.
func leaps(span, period, length float64) []float64 {
	cores := make([]float64, int(10*span))
	for i := range cores {
		if math.Mod(float64(i)/10+.15, period) < length {
			cores[i] = 4
		}
	}
	return cores
}

// A pod that comes while a node's load jumps goes to the other; once there is no peak both are
// equal.
func TestProntoRefusesAtPeaks(t *testing.T) {
	background := loads(.1, leaps(600, 5, .3), []float64{0})
	for _, noFleet := range []bool{false, true} {
		for seed := range uint64(4) {
			s := sim.Pronto{NoFleet: noFleet}
			r := run(t, sim.Config{Nodes: 2, Scheduler: s, Background: background, Seed: seed}, fewPods(40, 300, 5))
			if got := onFirst(r); got > 3 { // beside a burst of a daemon a leap is none
				t.Errorf("no fleet %v, seed %d: %d of 40 pods on the node that leaps", noFleet, seed, got)
			}
			r = run(t, sim.Config{Nodes: 2, Scheduler: s, Background: background, Seed: seed}, fewPods(40, 302.5, 5))
			if got := onFirst(r); got < 8 || got > 32 {
				t.Errorf("no fleet %v, seed %d: %d of 40 pods on the node that has leapt, want about half", noFleet, seed, got)
			}
		}
	}
}

// Without rejections it is kube-scheduler, so any difference comes from them.
func TestProntoThatNeverRejectsIsTheDefault(t *testing.T) {
	never := sim.Pronto{Tracker: pronto.Config{Detector: pronto.DetectorConfig{Threshold: 1e5}}}
	for name, pods := range map[string][]sim.Pod{"batch": mixed(3, 80), "arrivals": fewPods(60, 10, .5)} {
		if diff := cmp.Diff(places(t, sim.Default{}, pods), places(t, never, pods)); diff != "" {
			t.Errorf("%s: (-default +pronto):\n%s", name, diff)
		}
	}
	pods := mixed(3, 240)
	if cmp.Equal(places(t, sim.Default{}, pods), places(t, sim.Pronto{}, pods)) {
		t.Error("rejections change nothing")
	}
}

// places formats where pods ran on three nodes, and after how many attempts: the decisions without
// the last digits of their times.
func places(t *testing.T, s sim.Scheduler, pods []sim.Pod) (all [][2]int) {
	t.Helper()
	for _, r := range run(t, sim.Config{Nodes: 3, Scheduler: s, Seed: 5}, pods).Records {
		all = append(all, [2]int{r.Node, r.Attempts})
	}
	return all
}

// nervous flags many values of a node that only noise moves.
func nervous() pronto.Config {
	influence := 1.
	return pronto.Config{Detector: pronto.DetectorConfig{Threshold: .7, Influence: &influence}}
}

// The coin refuses as many pods as the tracker, but other ones.
func TestProntoCoinRejectsAsOften(t *testing.T) {
	refused := func(byChance bool) (n int, which []bool) {
		c := sim.Config{Nodes: 1, Scheduler: sim.Pronto{Tracker: nervous(), ByChance: byChance}, Seed: 2}
		for _, record := range run(t, c, fewPods(800, 20, 1.07)).Records {
			which = append(which, record.Attempts > 1)
			if record.Attempts > 1 {
				n++
			}
		}
		return n, which
	}
	tracker, whichTracker := refused(false)
	coin, whichCoin := refused(true)
	if tracker < 100 || tracker > 700 || math.Abs(float64(tracker-coin)) > 80 {
		t.Errorf("the tracker refused %d of 800 pods, the coin %d", tracker, coin)
	}
	if cmp.Equal(whichTracker, whichCoin) {
		t.Error("the same pods")
	}
}

// A pod that the only node rejects is placed when the rejection ends, although no pod ends.
func TestProntoWakesRefusedPods(t *testing.T) {
	background := loads(.1, leaps(100, 20, .3), nil)[:1]
	s := sim.Pronto{Tracker: pronto.Config{Window: 2 * time.Second}}
	// The sample at 35 s, from the start of the workload, sees the leap.
	r := run(t, sim.Config{Nodes: 1, Scheduler: s, Background: background, Seed: 1}, []sim.Pod{{Created: 35.05, Work: .1}})
	record := r.Records[0]
	if record.Attempts < 2 || record.Bound < 36.5 || record.Bound > 39 {
		t.Errorf("bound at %g s after %d attempts, want some two seconds after 35", record.Bound, record.Attempts)
	}
}

// The options that distinguish the variants change decisions.
func TestProntoVariantsDiffer(t *testing.T) {
	pods := mixed(4, 240)
	records := func(s sim.Pronto) [][2]int { return places(t, s, pods) }
	each := sim.Pronto{Metrics: sim.EachMetric}
	for name, change := range map[string]func(*sim.Pronto){
		"alone":       func(p *sim.Pronto) { p.NoFleet = true },
		"push":        func(p *sim.Pronto) { p.Push = 30 },
		"weight":      func(p *sim.Pronto) { p.Tracker.Weight = pronto.WeightEnergy },
		"signed":      func(p *sim.Pronto) { p.Tracker.Signed = true },
		"metrics":     func(p *sim.Pronto) { p.Metrics = sim.AgentMetrics },
		"utilisation": func(p *sim.Pronto) { p.Metrics = sim.UtilisationMetrics },
		"lasting":     func(p *sim.Pronto) { p.Tracker.Window = time.Second },
		"chance":      func(p *sim.Pronto) { p.ByChance = true },
	} {
		varied := each
		change(&varied)
		if cmp.Equal(records(each), records(varied)) {
			t.Errorf("%s: no difference", name)
		}
	}
	if cmp.Equal(records(sim.Pronto{}), records(sim.Pronto{Metrics: sim.UtilisationMetrics})) {
		t.Error("an agent's metrics are utilisation alone")
	}
}

func TestProntoRefusesOptions(t *testing.T) {
	for name, s := range map[string]sim.Pronto{
		"Metrics":            {Metrics: sim.EachMetric + 1},
		"Push":               {Push: -1},
		"Tracker.Model.Rank": {Tracker: pronto.Config{Model: svd.Options{Rank: 3}}},
	} {
		var refused *field.Error
		if _, err := sim.Run(t.Context(), sim.Config{Scheduler: s}, fewPods(1, 0, 1)); !errors.As(err, &refused) || refused.Field != name {
			t.Errorf("%s: error %v", name, err)
		}
	}
	var refused *field.Error
	bad := sim.Pronto{Tracker: pronto.Config{Reject: 2}}
	if _, err := sim.Run(t.Context(), sim.Config{Scheduler: bad}, fewPods(1, 0, 1)); !errors.As(err, &refused) {
		t.Errorf("error %v", err)
	}
	if _, err := sim.Run(t.Context(), sim.Config{Scheduler: sim.Pronto{Metrics: sim.EachMetric, Tracker: pronto.Config{Model: svd.Options{Rank: 4}}}}, fewPods(1, 0, 1)); err != nil {
		t.Error(err)
	}
}

// Pods that each take longer than the last leave no allowance; equal pods leave one, which the node
// fills beyond its slots.
func TestOverProvision(t *testing.T) {
	most := func(s sim.Scheduler, growth float64) float64 {
		pods := make([]sim.Pod, 400)
		for i := range pods {
			pods[i] = sim.Pod{Work: 2 * math.Pow(growth, float64(i)), Cores: .5, Request: baseline.Resources{CPU: .01}}
		}
		return run(t, sim.Config{Nodes: 1, Scheduler: s, Seed: 1, Horizon: 300}, pods).MostPerCore
	}
	plain, provided := most(sim.Spazio{}, 1), most(sim.OverProvision{}, 1)
	if provided <= plain {
		t.Errorf("%g pods a core at most, %g without the allowance", provided, plain)
	}
	if longer := most(sim.OverProvision{}, 1.03); longer >= provided {
		t.Errorf("pods that take longer and longer: %g a core at most, %g of pods that are alike", longer, provided)
	}
}
