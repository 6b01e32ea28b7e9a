package workload

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// What the owners of Phased have: so many of them; seconds of a start-up at a core and of each
// work phase, its cores, and its memory as a share of a node's, each log-uniform between two
// numbers; seconds of a pause; and from one collection of garbage to the next. A pod's times and
// memory differ from its owner's by at most kindSpread.
const phaseOwners = 12

var (
	phaseStart   = [2]float64{1, 4}
	phaseSeconds = [2]float64{4, 40}
	phaseCores   = [2]float64{.1, 2}
	phaseMemory  = [2]float64{.004, .15}
	phasePause   = [2]float64{2, 20}
	phaseGarbage = [2]float64{2, 8}
)

// Phased is a batch of n pods whose demand changes, for nodes of the given memory in bytes: each
// owner's have a start-up, one to three phases of work, of which half have garbage of up to once
// their memory, and before half of these a pause that holds half of it.
func Phased(seed uint64, n int, memory float64) ([]sim.Pod, error) {
	if err := checked(Equal, "memory", memory); err != nil {
		return nil, err
	}
	pods, err := Batch(seed, n, 1, Equal)
	if err != nil {
		return nil, err
	}
	s := newStreams(seed)
	between := func(of [2]float64) float64 { return of[0] * math.Pow(of[1]/of[0], s.choices.Float64()) }
	owners := make([][]node.Stage, phaseOwners)
	for i := range owners {
		stages := []node.Stage{{Seconds: between(phaseStart), Cores: 1, Memory: memory * phaseMemory[0]}}
		for range 1 + s.choices.IntN(3) {
			work := node.Stage{Seconds: between(phaseSeconds), Cores: between(phaseCores), Memory: memory * between(phaseMemory)}
			if s.choices.IntN(2) == 0 {
				work.Garbage, work.Period = work.Memory*s.choices.Float64(), between(phaseGarbage)
			}
			if s.choices.IntN(2) == 0 {
				stages = append(stages, node.Stage{Seconds: between(phasePause), Memory: work.Memory / 2})
			}
			stages = append(stages, work)
		}
		owners[i] = stages
	}
	for i := range pods {
		owner := s.choices.IntN(len(owners))
		vary := func() float64 { return 1 + kindSpread*(2*s.choices.Float64()-1) }
		times, bytes := vary(), vary()
		p := &pods[i]
		p.Work, p.Workload = 0, fmt.Sprintf("phased-%02d", owner)
		for _, stage := range owners[owner] {
			stage.Seconds *= times
			stage.Memory, stage.Garbage = math.Round(stage.Memory*bytes), math.Round(stage.Garbage*bytes)
			if stage.Garbage == 0 {
				stage.Period = 0
			}
			p.Phases = append(p.Phases, stage)
		}
	}
	return pods, nil
}
