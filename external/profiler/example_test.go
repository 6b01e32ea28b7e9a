package profiler_test

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/external/profiler"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// There are two nodes of two slots each, and three jobs of which the first two run well together:
// these share a node, and the third has half of the other.
func ExamplePlace() {
	first, second := 0, 1
	slots := []wire.Slot{
		{Index: 0, Node: "a", NodeID: &first, Position: 0, State: slot.Free},
		{Index: 1, Node: "b", NodeID: &second, Position: 0, State: slot.Free},
		{Index: 2, Node: "a", NodeID: &first, Position: 1, State: slot.Free},
		{Index: 3, Node: "b", NodeID: &second, Position: 1, State: slot.Free},
	}
	jobs, err := profiler.Place(slots, []colocate.Pair{{A: "grep", B: "sort"}, {A: "join"}})
	if err != nil {
		panic(err)
	}
	for _, job := range jobs {
		fmt.Println(job.Job, job.Slots)
	}
	// Output:
	// grep [a/0]
	// sort [a/1]
	// join [b/0]
}
