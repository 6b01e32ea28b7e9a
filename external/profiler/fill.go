package profiler

import (
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// fill gives the slots that jobs leave empty, one after the other, to the job that takes least
// beside the slowest of those on their node, as m has it, and each job at most one: the slots
// of nodes that no pair got, and odd ones. A run that m does not know comes last, and of
// equals the first of jobs. Slots that retire, or whose node is no longer the Testbed's, stay
// empty. The arguments are not modified.
func fill(slots []wire.Slot, jobs []wire.SlotJob, m *colocate.Matrix) []wire.SlotJob {
	filled := slices.Clone(jobs)
	taken := make(map[slot.ID]bool)
	on := make(map[string][]string) // the jobs of each node
	for _, job := range jobs {
		for _, ref := range job.Slots {
			taken[ref.ID] = true
			on[ref.ID.Node] = append(on[ref.ID.Node], job.Job)
		}
	}
	chosen := make([]bool, len(jobs))
	for _, s := range usable(slots) {
		id := slot.ID{Node: s.Node, Position: s.Position}
		if taken[id] {
			continue
		}
		best, least := -1, 0.
		for i := range filled {
			if takes := besides(m, filled[i].Job, on[s.Node]); !chosen[i] && (best < 0 || takes < least) {
				best, least = i, takes
			}
		}
		if best < 0 {
			break
		}
		chosen[best] = true
		filled[best].Slots = append(slices.Clone(filled[best].Slots), slot.Ref{ID: id})
		on[s.Node] = append(on[s.Node], filled[best].Job)
	}
	return filled
}

// besides is how long a job takes beside the slowest of others, alone without any; infinite
// if one of these runs is unknown.
func besides(m *colocate.Matrix, job string, others []string) float64 {
	longest := -1.
	for _, other := range others {
		if other != job {
			longest = max(longest, seconds(m.At(job, other)))
		}
	}
	if longest < 0 {
		return seconds(m.At(job, job))
	}
	return longest
}

func seconds(c colocate.Cell) float64 {
	if c.Count == 0 {
		return math.Inf(1)
	}
	return c.Mean
}
