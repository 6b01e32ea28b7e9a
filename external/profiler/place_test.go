package profiler_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/profiler"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// nodes returns slots, that many on each node, in the order of their index: position by position.
func nodes(counts ...int) []wire.Slot {
	var slots []wire.Slot
	for position := range slices.Max(counts) {
		for node, count := range counts {
			if position < count {
				slots = append(slots, wire.Slot{
					Index: len(slots), Node: fmt.Sprintf("n%d", node), NodeID: &node, Position: position, State: slot.Free,
				})
			}
		}
	}
	return slots
}

func TestPlace(t *testing.T) {
	gone, retiring := nodes(2, 2), nodes(2, 2)
	gone[0].NodeID, retiring[2].State = nil, slot.Retiring
	shuffled := nodes(2, 2)
	slices.Reverse(shuffled)
	ab, cd, ef := colocate.Pair{A: "a", B: "b"}, colocate.Pair{A: "c", B: "d"}, colocate.Pair{A: "e", B: "f"}
	for _, test := range []struct {
		name  string
		slots []wire.Slot
		pairs []colocate.Pair
		want  string
	}{
		{"a pair on a node", nodes(2), []colocate.Pair{ab}, "a[n0/0] b[n0/1]"},
		{"both on each node", nodes(2, 2), []colocate.Pair{ab}, "a[n0/0 n1/0] b[n0/1 n1/1]"},
		{"halves", nodes(4), []colocate.Pair{ab}, "a[n0/0 n0/1] b[n0/2 n0/3]"},
		{"an odd slot is left", nodes(3), []colocate.Pair{ab}, "a[n0/0] b[n0/1]"},
		{"pairs get nodes of their own", nodes(2, 2, 2), []colocate.Pair{ab, cd, ef}, "a[n0/0] b[n0/1] c[n1/0] d[n1/1] e[n2/0] f[n2/1]"},
		{"as many for each", nodes(2, 2, 2), []colocate.Pair{ab, cd}, "a[n0/0] b[n0/1] c[n1/0] d[n1/1]"},
		{"around", nodes(2, 2, 2, 2), []colocate.Pair{ab, cd}, "a[n0/0 n2/0] b[n0/1 n2/1] c[n1/0 n3/0] d[n1/1 n3/1]"},
		{"fewer nodes than pairs", nodes(2, 2), []colocate.Pair{ab, cd, ef}, "a[n0/0] b[n0/1] c[n1/0] d[n1/1] e[n0/0] f[n0/1]"},
		{"one alone", nodes(2, 2), []colocate.Pair{ab, {A: "c"}}, "a[n0/0] b[n0/1] c[n1/0]"},
		{"a node of one slot", nodes(1, 2), []colocate.Pair{ab}, "a[n1/0] b[n1/1]"},
		{"a node that left", gone, []colocate.Pair{ab}, "a[n1/0] b[n1/1]"},
		{"a slot that retires", retiring, []colocate.Pair{ab}, "a[n1/0] b[n1/1]"},
		{"in any order", shuffled, []colocate.Pair{ab}, "a[n0/0 n1/0] b[n0/1 n1/1]"},
		{"nobody", nodes(2), nil, ""},
	} {
		jobs, err := profiler.Place(test.slots, test.pairs)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		text := ""
		for i, job := range jobs {
			if i > 0 {
				text += " "
			}
			text += job.Job + fmt.Sprint(job.Slots)
		}
		if diff := cmp.Diff(test.want, text); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
	if _, err := profiler.Place(nodes(1, 1), []colocate.Pair{ab}); !errors.Is(err, profiler.ErrTooSmall) {
		t.Errorf("nodes of one slot: error %v, want ErrTooSmall", err)
	}
}

// On any nodes, the jobs of a pair have as many slots on each node, no other pair has one of these
// nodes unless all are in use, and a pair names no slot twice.
func TestPlaceSharesEvenly(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		counts := make([]int, 1+rng.IntN(8))
		usable := 0
		for i := range counts {
			if counts[i] = rng.IntN(6); counts[i] >= 2 {
				usable++
			}
		}
		slots := nodes(counts...)
		var pairs []colocate.Pair
		for i := range 1 + rng.IntN(5) {
			pairs = append(pairs, colocate.Pair{A: fmt.Sprint("a", i), B: fmt.Sprint("b", i)})
		}
		jobs, err := profiler.Place(slots, pairs)
		if usable == 0 {
			if !errors.Is(err, profiler.ErrTooSmall) {
				t.Fatalf("%v: error %v", counts, err)
			}
			continue
		}
		if err != nil || len(jobs) != 2*len(pairs) {
			t.Fatalf("%v: %v, error %v", counts, jobs, err)
		}
		owner := map[slot.ID]string{}
		for i := range pairs {
			on := map[string]int{}
			for side, job := range jobs[2*i : 2*i+2] {
				for _, ref := range job.Slots {
					on[ref.ID.Node] += 1 - 2*side
					if other, taken := owner[ref.ID]; taken && (usable >= len(pairs) || other == pairs[i].A) {
						t.Fatalf("%v, %d pairs: %v has been given to %s already", counts, len(pairs), ref, other)
					}
					owner[ref.ID] = pairs[i].A
				}
			}
			for node, difference := range on {
				if difference != 0 {
					t.Fatalf("%v: pair %d is uneven on %s", counts, i, node)
				}
			}
		}
	}
}
