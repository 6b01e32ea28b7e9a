package placement_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spazio-scheduler/spazio/placement"
)

// A set has what was put into it and not taken out, and beyond that all nodes or none.
func TestWaitSet(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		every := rng.IntN(2) == 0
		s := setOf(nil, every)
		in := slices.Repeat([]bool{every}, 400)
		for range 100 {
			node := rng.IntN(len(in))
			if in[node] = rng.IntN(2) == 0; in[node] {
				s.Add(node)
			} else {
				s.Remove(node)
			}
		}
		s.Add(-1)
		for node := range in {
			if s.Has(node) != in[node] {
				t.Fatalf("node %d is in the set: %t, want %t", node, s.Has(node), in[node])
			}
		}
		if s.Has(-1) || s.Has(1_000_000) != every {
			t.Fatalf("the set has node -1: %t, and one that joins: %t, want %t", s.Has(-1), s.Has(1_000_000), every)
		}
	}
}

// A set that a pod waits for is the Queue's own: nodes that join are added to that one alone.
func TestWaitSetIsNotChanged(t *testing.T) {
	q := placement.New(placement.Config{Pause: 1}, newWorld())
	set := setOf([]int{3}, false)
	q.AddPod(0, placement.Pod{})
	q.Refuse(0, set, 0)
	q.AddNode(1)
	if set.Has(1) {
		t.Error("the node that joined is in the caller's set")
	}
}
