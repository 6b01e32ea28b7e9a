package claim_test

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Two jobs alternate with two pods each, on three slots: the second has to wait.
func ExamplePlan() {
	crawler, pi := testbed.Name{Namespace: "lab", Name: "crawler"}, testbed.Name{Namespace: "lab", Name: "pi"}
	request := claim.Request{Queue: []testbed.Name{crawler, pi, crawler, pi}}
	free := []slot.ID{{Node: "a"}, {Node: "b"}, {Node: "a", Position: 1}}
	submit, blocked, _ := claim.Plan(request, nil, free)
	for _, p := range submit {
		fmt.Println(p.Job, "starts in", p.Slots)
	}
	fmt.Printf("%v needs %d, counts on %v\n", blocked.Job, blocked.Needs, blocked.Earmark)
	// Output:
	// lab/crawler starts in [a/0 a/1]
	// lab/pi needs 2, counts on [b/0]
}

// A job that fits no testbed of this size is named at once.
func ExampleFeasible() {
	large := testbed.Name{Namespace: "lab", Name: "large"}
	blocked, _ := claim.Feasible(claim.Request{Queue: []testbed.Name{large, large}}, nil, []slot.ID{{Node: "a"}})
	fmt.Println(blocked.Job, "needs", blocked.Needs)
	// Output: lab/large needs 2
}
