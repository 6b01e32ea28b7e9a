package profiler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// ErrTooSmall refuses a Testbed without a node on which two jobs could run beside each other.
var ErrTooSmall = errors.New("no node has two slots")

// place gives each pair nodes of its own and shares the slots of each evenly between its two
// jobs, so that both run with as many pods, side by side on each node; one that is alone
// gets the half that would be its own beside another. The nodes go around the pairs in the
// order of slots, of those with at least two; where there are fewer nodes than pairs the
// pairs go around the nodes, and run one after the other (wire.SlotBased, Relaxed).
//
// Slots that retire, or whose node is no longer the Testbed's, are left out. Names of jobs
// are those of the pairs. Neither argument is modified.
func place(slots []wire.Slot, pairs []colocate.Pair) ([]wire.SlotJob, error) {
	nodes := shared(slots)
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%w: there are %d slots", ErrTooSmall, len(slots))
	}
	rounds := max(1, len(nodes)/max(1, len(pairs)))
	var jobs []wire.SlotJob
	for i, pair := range pairs {
		var a, b []slot.Ref
		for round := range rounds {
			node := nodes[(i+round*len(pairs))%len(nodes)]
			half := len(node) / 2
			a = append(a, node[:half]...)
			b = append(b, node[half:2*half]...)
		}
		jobs = append(jobs, wire.SlotJob{Job: pair.A, Slots: a})
		if pair.B != "" {
			jobs = append(jobs, wire.SlotJob{Job: pair.B, Slots: b})
		}
	}
	return jobs, nil
}

// usable returns the slots that a job can have, in the order of their index.
func usable(slots []wire.Slot) []wire.Slot {
	ordered := slices.SortedFunc(slices.Values(slots), func(a, b wire.Slot) int { return cmp.Compare(a.Index, b.Index) })
	return slices.DeleteFunc(ordered, func(s wire.Slot) bool { return s.NodeID == nil || s.State == slot.Retiring })
}

// shared returns the slots of each node that has at least two.
func shared(slots []wire.Slot) [][]slot.Ref {
	var names []string
	of := make(map[string][]slot.Ref)
	for _, s := range usable(slots) {
		if _, there := of[s.Node]; !there {
			names = append(names, s.Node)
		}
		of[s.Node] = append(of[s.Node], slot.Ref{ID: slot.ID{Node: s.Node, Position: s.Position}})
	}
	var nodes [][]slot.Ref
	for _, name := range names {
		if len(of[name]) >= 2 {
			nodes = append(nodes, of[name])
		}
	}
	return nodes
}

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

// key is where a job keeps what is known of it, in what outside programs keep in it.
const key = "profiler"

// RowOf reads what is known of a job; without anything it is empty.
func RowOf(job *wire.Job) (colocate.Row, error) {
	var kept map[string]json.RawMessage
	if len(job.External) > 0 {
		if err := json.Unmarshal(job.External, &kept); err != nil {
			return nil, fmt.Errorf("profiler: job %s: %w", job.Name, err)
		}
	}
	if len(kept[key]) == 0 {
		return colocate.Row{}, nil
	}
	row, err := colocate.ParseRow(kept[key])
	if err != nil {
		return nil, fmt.Errorf("profiler: what job %s keeps under %q: %w", job.Name, key, err)
	}
	return row, nil
}

// learn adds a run to what a job keeps; what others write meanwhile is not lost.
func (p *Profiler) learn(ctx context.Context, name, beside string, seconds float64) error {
	for {
		job, err := p.c.Client.Job(ctx, p.c.Namespace, name)
		if err != nil {
			return err
		}
		row, err := RowOf(&job)
		if err != nil {
			return err
		}
		if row[beside], err = row[beside].Add(seconds); err != nil {
			return fmt.Errorf("profiler: job %s beside %s: %w", name, beside, err)
		}
		_, err = p.c.Client.PatchExternal(ctx, p.c.Namespace, name, job.ResourceVersion, map[string]colocate.Row{key: row})
		if !wire.IsStatus(err, http.StatusPreconditionFailed) {
			return err
		}
	}
}
