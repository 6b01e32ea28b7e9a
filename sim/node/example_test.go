package node_test

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/sim/node"
)

// Three pods of one thread and two core-seconds each share two cores: each gets two thirds of
// one, and is done three seconds after it began to run.
func Example() {
	model, err := node.New(node.Params{Cores: 2, Background: 1e-9, StartWork: 1, StopWork: 1, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for id := range node.PodID(3) {
		if err := model.Bind(0, node.Pod{ID: id, Work: 2, Startup: .5}); err != nil {
			fmt.Println(err)
		}
	}
	for _, t := range model.AdvanceTo(nil, 10) {
		if t.Phase == node.Running || t.Phase == node.Succeeded {
			fmt.Printf("%.1f s: pod %d %v\n", t.At, t.Pod, t.Phase)
		}
	}
	// Unordered output:
	// 0.5 s: pod 0 Running
	// 0.5 s: pod 1 Running
	// 0.5 s: pod 2 Running
	// 3.5 s: pod 0 Succeeded
	// 3.5 s: pod 1 Succeeded
	// 3.5 s: pod 2 Succeeded
}
