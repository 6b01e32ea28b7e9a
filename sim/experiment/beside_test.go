package experiment_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
)

// Concurrent simulations share nothing, under any scheduler. The test is here and not in sim, where
// nothing starts a goroutine, so that the race detector sees it.
func TestSimulationsBesideEachOther(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	pods := make([]sim.Pod, 60)
	for i := range pods {
		p := sim.Pod{Created: 30 * rng.Float64(), Work: 5 * rng.ExpFloat64()}
		if i%2 == 0 {
			p.Request = baseline.Resources{CPU: 1.5 * rng.Float64(), Memory: 1e9}
			p.Limit = baseline.Resources{CPU: 2 * rng.Float64()}
		}
		pods[i] = p
	}
	for _, s := range []sim.Scheduler{
		sim.Spazio{}, sim.Default{}, sim.TargetLoadPacking{}, sim.TargetLoadPacking{Latest: true},
		sim.LoadVariationRiskBalancing{}, sim.LowRiskOverCommitment{}, sim.LoadAware{},
		sim.RoundRobin{}, sim.TwoChoices{}, sim.Coin{}, sim.MostAllocated{}, sim.Peaks{},
	} {
		run := func() string {
			r, err := sim.Run(t.Context(), sim.Config{Nodes: 4, Scheduler: s, Seed: 9}, pods)
			if err != nil {
				t.Error(err)
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Error(err)
			}
			return string(text)
		}
		alone, beside := run(), make(chan string)
		go func() { beside <- run() }()
		if one, other := run(), <-beside; one != alone || other != alone {
			t.Errorf("%T: simulations beside each other differ from one alone", s)
		}
	}
}
