package autoscale

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var annotations = []string{"drain", "evict"}

// node returns one that is ready, has reported, is measured, and takes pods.
func node(change func(*plannedNode)) plannedNode {
	n := plannedNode{Name: "n", IsReady: true, HasReported: true, IsMeasured: true, Unset: annotations}
	change(&n)
	return n
}

func full(n *plannedNode)    { n.Refuses = true }
func room(*plannedNode)      {}
func unknown(n *plannedNode) { n.HasReported, n.IsMeasured, n.Refuses = false, false, true }
func silent(n *plannedNode)  { n.IsMeasured = false }
func busy(n *plannedNode)    { n.Use.CPU = 0.8 }
func unready(n *plannedNode) { busy(n); n.IsReady = false }
func dead(n *plannedNode)    { unready(n); silent(n) }

// TestNodes: the steps of a case are passes of one planner; the node has the result of the pass
// before.
func TestNodes(t *testing.T) {
	type step struct {
		at      time.Duration
		is      func(*plannedNode)
		waiting int
		want    string // the labels and annotations afterwards
	}
	const second, both = time.Second, "protected[drain evict]"
	for name, c := range map[string]struct {
		begins func(*plannedNode)
		steps  []step
	}{
		"refuses for long":                           {room, []step{{0, full, 1, ""}, {29 * second, full, 1, ""}, {30 * second, full, 1, "full"}}},
		"refuses, but nothing waits":                 {room, []step{{0, full, 0, ""}, {time.Hour, full, 0, ""}}},
		"refuses with a pause":                       {room, []step{{0, full, 1, ""}, {20 * second, room, 1, ""}, {30 * second, full, 1, ""}, {59 * second, full, 1, ""}, {60 * second, full, 1, "full"}}},
		"has never reported":                         {room, []step{{0, unknown, 1, ""}, {time.Hour, unknown, 1, ""}}},
		"has room again":                             {room, []step{{0, full, 1, ""}, {30 * second, full, 1, "full"}, {40 * second, room, 1, "full"}, {99 * second, room, 1, "full"}, {100 * second, room, 1, ""}}},
		"has room for a moment":                      {room, []step{{0, full, 1, ""}, {30 * second, full, 1, "full"}, {40 * second, room, 1, "full"}, {50 * second, full, 1, "full"}, {80 * second, room, 1, "full"}, {139 * second, room, 1, "full"}, {140 * second, room, 1, ""}}},
		"nothing waits any more":                     {room, []step{{0, full, 1, ""}, {30 * second, full, 1, "full"}, {40 * second, full, 0, "full"}, {100 * second, full, 0, ""}}},
		"was full to a former leader":                {func(n *plannedNode) { n.IsFull = true }, []step{{0, full, 1, "full"}, {10 * second, room, 0, "full"}, {70 * second, room, 0, ""}}},
		"is busy":                                    {room, []step{{0, busy, 0, both}}},
		"is busy by memory":                          {room, []step{{0, func(n *plannedNode) { n.Use.Memory = 0.51 }, 0, both}}},
		"is as busy as the limit":                    {room, []step{{0, func(n *plannedNode) { n.Use.CPU = 0.5 }, 0, ""}}},
		"is busy and pods request it":                {room, []step{{0, func(n *plannedNode) { n.Use.CPU, n.Requested.CPU = 0.8, 0.6 }, 0, ""}}},
		"is busy, but another resource is requested": {room, []step{{0, func(n *plannedNode) { n.Use.CPU, n.Requested.Memory = 0.8, 0.9 }, 0, both}}},
		"was busy when last measured":                {room, []step{{0, func(n *plannedNode) { busy(n); silent(n) }, 0, ""}}},
		"becomes idle":                               {room, []step{{0, busy, 0, both}, {10 * second, room, 0, both}, {69 * second, room, 0, both}, {70 * second, room, 0, ""}}},
		"falls silent":                               {room, []step{{0, busy, 0, both}, {10 * second, silent, 0, both}, {1809 * second, silent, 0, both}, {1810 * second, silent, 0, ""}, {time.Hour, busy, 0, both}}},
		"falls silent for a while":                   {room, []step{{0, busy, 0, both}, {10 * second, silent, 0, both}, {1800 * second, room, 0, both}, {1859 * second, room, 0, both}, {1860 * second, room, 0, ""}}},
		"dies":                                       {room, []step{{0, busy, 0, both}, {10 * second, dead, 0, both}, {129 * second, dead, 0, both}, {130 * second, dead, 0, ""}, {time.Hour, dead, 0, ""}}},
		"is not ready for a moment":                  {room, []step{{0, busy, 0, both}, {10 * second, unready, 0, both}, {129 * second, busy, 0, both}, {130 * second, unready, 0, both}, {249 * second, unready, 0, both}}},
		"is busy, but not ready":                     {room, []step{{0, unready, 0, ""}}},
		"cannot be written":                          {room, []step{{0, func(n *plannedNode) { busy(n); n.IsDeferred = true }, 0, ""}, {second, busy, 0, both}}},
		"somebody refused one annotation":            {func(n *plannedNode) { n.Unset = []string{"evict"} }, []step{{0, busy, 0, "protected[evict]"}}},
		"somebody refused both":                      {func(n *plannedNode) { n.Unset = nil }, []step{{0, busy, 0, ""}}},
		"somebody set one":                           {func(n *plannedNode) { n.Unset, n.Set = []string{"evict"}, []string{"drain"} }, []step{{0, busy, 0, both}}},
	} {
		t.Run(name, func(t *testing.T) {
			planner, n := newPlanner(Config{}), node(c.begins)
			for _, s := range c.steps {
				seen := n
				s.is(&seen)
				var waiting []waitingPods
				if s.waiting > 0 {
					waiting = waits(s.waiting)
				}
				for _, change := range planner.decide(plannerInput{Now: after(s.at), Waiting: waiting, Nodes: []plannedNode{seen}}).Nodes {
					write(t, &n, change)
				}
				if got := shown(n); got != s.want {
					t.Fatalf("after %v: %q, want %q", s.at, got, s.want)
				}
			}
		})
	}
}

// An annotation that another client removed from a protected node comes back at the next pass.
func TestRemovedAnnotationComesBack(t *testing.T) {
	planner := newPlanner(Config{})
	n := node(busy)
	n.IsProtected, n.Set, n.Unset = true, []string{"drain"}, []string{"evict"}
	got := planner.decide(plannerInput{Now: start, Nodes: []plannedNode{n}}).Nodes
	want := []nodeChange{{Node: "n", Protected: true, Annotations: annotations}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWritesAreLimited: protection has priority, and everything is written in the end.
func TestWritesAreLimited(t *testing.T) {
	planner := newPlanner(Config{})
	nodes := make([]plannedNode, 300)
	for i := range nodes {
		nodes[i] = node(room)
		nodes[i].Name, nodes[i].Refuses = fmt.Sprintf("n%03d", i), true
		if i >= 200 {
			busy(&nodes[i])
		}
	}
	allowed := 0 // ten more each second, fifty at most
	for second := range 60 {
		changes := planner.decide(plannerInput{Now: after(time.Duration(second) * time.Second), Waiting: waits(1), Nodes: nodes}).Nodes
		if allowed = min(allowed+10, 50); len(changes) > allowed {
			t.Errorf("second %d: %d writes, want %d at most", second, len(changes), allowed)
		}
		allowed -= len(changes)
		if second < 10 && slices.ContainsFunc(changes, func(c nodeChange) bool { return !c.Protected }) {
			t.Errorf("second %d: a label before all protection", second)
		}
		for _, c := range changes {
			i := slices.IndexFunc(nodes, func(n plannedNode) bool { return n.Name == c.Node })
			write(t, &nodes[i], c)
		}
	}
	for i := range nodes {
		if !nodes[i].IsFull {
			t.Errorf("%s is not labelled", nodes[i].Name)
		}
		nodes[i].IsFull, nodes[i].IsProtected = false, false // somebody takes all away
	}
	if changes := planner.decide(plannerInput{Now: after(time.Hour), Waiting: waits(1), Nodes: nodes}).Nodes; len(changes) > 50 {
		t.Errorf("%d writes at once", len(changes))
	}
}

// TestNodesKeepTheirPromises: in random histories with leaders that die, no annotation is set
// against a user's refusal, no busy node is unprotected, no idle one is protected for longer than
// the delay, and no node gets the label while nothing waits.
func TestNodesKeepTheirPromises(t *testing.T) {
	config := Config{ScaleUpDelay: 3 * time.Second, ScaleDownDelay: 8 * time.Second}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 44))
		planner, n, idle := newPlanner(config), node(room), 0
		for second := range 80 {
			if random.IntN(25) == 0 {
				planner, idle = newPlanner(config), 0
			}
			if random.IntN(10) == 0 { // somebody changes an annotation
				n.Set, n.Unset = nil, nil
				for _, a := range annotations {
					switch random.IntN(3) {
					case 0:
						n.Set = append(n.Set, a)
					case 1:
						n.Unset = append(n.Unset, a)
					}
				}
			}
			n.Refuses, n.IsMeasured = random.IntN(5) > 0, random.IntN(8) > 0
			if random.IntN(6) == 0 {
				n.Use.CPU = random.Float64()
			}
			var waiting []waitingPods
			if random.IntN(3) > 0 {
				waiting = waits(1)
			}
			before := n
			for _, c := range planner.decide(plannerInput{Now: after(time.Duration(second) * time.Second), Waiting: waiting, Nodes: []plannedNode{n}}).Nodes {
				write(t, &n, c)
			}
			isBusy := n.IsMeasured && n.Use.CPU > 0.5
			if canProtect := len(n.Set)+len(n.Unset) > 0; isBusy && canProtect != n.IsProtected {
				t.Fatalf("seed %d, second %d: %+v", seed, second, n)
			}
			if idle++; isBusy || !n.IsMeasured {
				idle = 0
			}
			if n.IsProtected && idle > 4 {
				t.Fatalf("seed %d, second %d: protected after %d idle seconds: %+v", seed, second, idle, n)
			}
			if n.IsFull && !before.IsFull && (len(waiting) == 0 || !n.Refuses) {
				t.Fatalf("seed %d, second %d: labelled as full: %+v", seed, second, n)
			}
		}
	}
}

// write changes a node as an apply does, and fails the test for an annotation that Spazio may not
// set.
func write(t *testing.T, n *plannedNode, c nodeChange) {
	t.Helper()
	ours := slices.Concat(n.Set, n.Unset)
	slices.Sort(ours)
	want := ours
	if !c.Protected {
		want = nil
	}
	if c.Node != n.Name || !slices.Equal(c.Annotations, want) {
		t.Fatalf("%+v for %+v", c, n)
	}
	n.IsFull, n.IsProtected = c.Full, c.Protected
	if n.Set, n.Unset = nil, ours; c.Protected {
		n.Set, n.Unset = ours, nil
	}
}

// shown returns a node's marks.
func shown(n plannedNode) string {
	text := ""
	if n.IsFull {
		text = "full"
	}
	if n.IsProtected {
		text += fmt.Sprint("protected", n.Set)
	}
	return text
}
