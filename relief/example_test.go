package relief_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/relief"
	"github.com/spazio-scheduler/spazio/reserve"
)

// A node has been half a pod too full for three minutes. One of its pods is evicted, because another node
// has room for it.
func ExamplePlanner() {
	planner, err := relief.NewPlanner(relief.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	batch := relief.Pod{Key: 1, Owner: "batch", Running: start.Add(-time.Hour), Evictable: true, Demand: reserve.TypicalPod()}
	server := relief.Pod{Key: 2, Owner: "server", Running: start.Add(-time.Hour), Evictable: true, Priority: 1000, Demand: reserve.TypicalPod()}
	nodes := []relief.Node{
		{Name: "a", IsMeasured: true, Signal: reserve.Signal{Avail: -.7}, TasksWait: true, Pods: []relief.Pod{server, batch}},
		{Name: "b", IsMeasured: true, Signal: reserve.Signal{Avail: 3}},
	}
	for age := time.Duration(0); age <= 4*time.Minute; age += 10 * time.Second {
		now := start.Add(age)
		for _, d := range planner.Plan(now, nodes, nil) {
			if d.Reason == relief.Evict {
				fmt.Printf("after %v: evict the pod of %s, which fits on %s\n", age, d.Pod.Owner, d.Target)
				planner.Evicted(now, d)
				nodes[0].Pods, nodes[0].Signal.Avail = []relief.Pod{server}, .3
			}
		}
	}
	// Output:
	// after 3m0s: evict the pod of batch, which fits on b
}
