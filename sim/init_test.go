package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// longPods returns pods of one core that outlast the run, ten for each core, with one init
// container of the given length, 0.3 to 5 s for 0. A negative length means none.
func longPods(seed uint64, cores int, length, initCores float64) []sim.Pod {
	rng := rand.New(rand.NewPCG(seed, 7))
	pods := make([]sim.Pod, 10*cores)
	for i := range pods {
		pods[i] = sim.Pod{Work: 600, Startup: node.StartupLatency(rng)}
		gap, seconds := .3+rng.Float64(), .3+4.7*rng.Float64()
		if length > 0 {
			seconds = length
		}
		if length >= 0 {
			pods[i].Init = node.Init{Containers: 1, Seconds: seconds, Cores: initCores, Gap: gap}
		}
	}
	return pods
}

// TestInitContainersDoNotOverfill: the end of an init container frees nothing, and its usage does
// not count as its pod's. The source sees containers come and go, not which of them are init
// containers; the scheduler's notice has that, or, for pods of other schedulers, the observed
// behaviour of pods on the node.
func TestInitContainersDoNotOverfill(t *testing.T) {
	seeds := uint64(2)
	if testing.Short() {
		seeds = 1
	}
	for _, cores := range []int{4, 16, 64} {
		for seed := range seeds {
			most := func(s sim.Spazio, length, initCores float64) int {
				return run(t, sim.Config{
					Nodes: 1, MaxPods: 10 * cores, Node: node.Params{Cores: cores, Teardown: 700 * time.Millisecond},
					Seed: seed, Horizon: 200, Scheduler: s,
				}, longPods(seed, cores, length, initCores)).Most
			}
			without := most(sim.Spazio{}, -1, 0)
			for _, blind := range []bool{false, true} {
				for _, length := range []float64{.3, 1, 5, 0} {
					for _, initCores := range []float64{0, 1} {
						t.Run(fmt.Sprintf("cores=%d/seed=%d/blind=%v/length=%v/busy=%v", cores, seed, blind, length, initCores), func(t *testing.T) {
							got := most(sim.Spazio{BlindBinds: blind}, length, initCores)
							if bound := max(float64(without)+1, 1.1*float64(without)); float64(got) > bound {
								t.Errorf("%d pods at once, %d without init containers", got, without)
							}
						})
					}
				}
			}
		}
	}
}
