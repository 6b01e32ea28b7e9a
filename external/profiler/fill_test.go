package profiler_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/profiler"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// TestFill: empty slots go to the jobs best suited to those on the node, and no job gets two.
func TestFill(t *testing.T) {
	var m colocate.Matrix
	for a, row := range map[string]colocate.Row{
		"a": {"a": {Count: 1, Mean: 50}, "b": {Count: 1, Mean: 20}, "c": {Count: 1, Mean: 90}},
		"b": {"b": {Count: 1, Mean: 60}, "a": {Count: 1, Mean: 30}},
		"c": {"c": {Count: 1, Mean: 40}, "a": {Count: 1, Mean: 10}, "b": {Count: 1, Mean: 15}},
	} {
		if err := m.Set(a, row); err != nil {
			t.Fatal(err)
		}
	}
	ab, c := colocate.Pair{A: "a", B: "b"}, colocate.Pair{A: "c"}
	for name, test := range map[string]struct {
		slots []wire.Slot
		pairs []colocate.Pair
		want  string
	}{
		"nothing is empty":       {nodes(2, 2), []colocate.Pair{ab}, "a[n0/0 n1/0] b[n0/1 n1/1]"},
		"an odd slot":            {nodes(3), []colocate.Pair{ab}, "a[n0/0 n0/2] b[n0/1]"},
		"three that are left":    {nodes(5, 1), []colocate.Pair{ab}, "a[n0/0 n0/1 n1/0] b[n0/2 n0/3 n0/4]"},
		"a left-over node":       {nodes(2, 2, 1), []colocate.Pair{ab, c}, "a[n0/0 n1/1] b[n0/1] c[n1/0 n2/0]"},
		"no more than one a job": {nodes(2, 1, 1, 1, 1), []colocate.Pair{ab}, "a[n0/0 n1/0] b[n0/1 n2/0]"},
	} {
		jobs, err := profiler.Place(test.slots, test.pairs)
		if err != nil {
			t.Fatal(name, err)
		}
		text := ""
		for i, job := range profiler.Fill(test.slots, jobs, &m) {
			if i > 0 {
				text += " "
			}
			text += job.Job + fmt.Sprint(job.Slots)
		}
		if diff := cmp.Diff(test.want, text); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestFillTwin compares with a naive version, which tries every empty slot with every job.
func TestFillTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		counts := make([]int, 1+rng.IntN(7))
		for i := range counts {
			counts[i] = rng.IntN(6)
		}
		slots := nodes(counts...)
		var pairs []colocate.Pair
		var names []string
		for i := range 1 + rng.IntN(4) {
			pairs = append(pairs, colocate.Pair{A: fmt.Sprint("a", i), B: fmt.Sprint("b", i)})
			names = append(names, pairs[i].A, pairs[i].B)
		}
		if rng.IntN(2) == 0 {
			pairs = append(pairs, colocate.Pair{A: "alone"})
			names = append(names, "alone")
		}
		var m colocate.Matrix
		for _, a := range names {
			row := colocate.Row{}
			for _, b := range names {
				if rng.IntN(4) > 0 {
					row[b] = colocate.Cell{Count: 1 + rng.IntN(3), Mean: float64(1 + rng.IntN(20))}
				}
			}
			if err := m.Set(a, row); err != nil {
				t.Fatal(err)
			}
		}
		jobs, err := profiler.Place(slots, pairs)
		if err != nil {
			continue
		}
		if diff := cmp.Diff(naiveFill(slots, jobs, &m), profiler.Fill(slots, jobs, &m)); diff != "" {
			t.Fatalf("%v, %d pairs: (-want +got)\n%s", counts, len(pairs), diff)
		}
	}
}

func naiveFill(slots []wire.Slot, jobs []wire.SlotJob, m *colocate.Matrix) (out []wire.SlotJob) {
	for _, job := range jobs {
		out = append(out, wire.SlotJob{Job: job.Job, Slots: append([]slot.Ref(nil), job.Slots...)})
	}
	has := func(job wire.SlotJob, node string, position int) bool {
		for _, ref := range job.Slots {
			if ref.ID.Node == node && (position < 0 || ref.ID.Position == position) {
				return true
			}
		}
		return false
	}
	more := map[string]bool{}
	for _, s := range slots {
		empty, best, least := true, -1, math.Inf(1)
		for i, job := range out {
			empty = empty && !has(job, s.Node, s.Position)
			takes, beside := 0., 0
			for _, other := range out {
				if other.Job == job.Job || !has(other, s.Node, -1) {
					continue
				}
				beside++
				if c := m.At(job.Job, other.Job); c.Count == 0 {
					takes = math.Inf(1)
				} else {
					takes = math.Max(takes, c.Mean)
				}
			}
			if c := m.At(job.Job, job.Job); beside == 0 && c.Count == 0 {
				takes = math.Inf(1)
			} else if beside == 0 {
				takes = c.Mean
			}
			if !more[job.Job] && (best < 0 || takes < least) {
				best, least = i, takes
			}
		}
		if empty && best >= 0 {
			more[out[best].Job] = true
			out[best].Slots = append(out[best].Slots, slot.Ref{ID: slot.ID{Node: s.Node, Position: s.Position}})
		}
	}
	return out
}
