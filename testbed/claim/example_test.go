package claim_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Two schedulings share three slots: the older one's second job waits for two, so the younger one does
// not get the last.
func ExampleTable_Grant() {
	name := func(n string) testbed.Name { return testbed.Name{Namespace: "lab", Name: n} }
	old := claim.Scheduling{
		Precedence: claim.Precedence{Created: time.Unix(0, 0), Name: name("old")}, UID: "1",
		Request: claim.Request{Queue: []testbed.Name{name("a"), name("a"), name("b"), name("b")}},
		JobUIDs: map[testbed.Name]string{name("a"): "11", name("b"): "12"},
	}
	young := claim.Scheduling{
		Precedence: claim.Precedence{Created: time.Unix(9, 0), Name: name("young")}, UID: "2",
		Request: claim.Request{Queue: []testbed.Name{name("c")}},
		JobUIDs: map[testbed.Name]string{name("c"): "21"},
	}
	slots := []slot.ID{{Node: "x"}, {Node: "y"}, {Node: "z"}}
	var table claim.Table
	grant := func(now int64) {
		claims, err := table.Grant([]claim.Scheduling{young, old}, slots, slots, time.Unix(now, 0))
		for _, c := range claims {
			fmt.Println(c.Job, c.Slots)
		}
		fmt.Println(len(claims), err)
	}
	grant(10)
	table.Claims = table.Claims[1:] // a has run
	delete(old.JobUIDs, name("a"))
	grant(20)
	// Output:
	// lab/a [x/0 y/0]
	// 1 <nil>
	// lab/b [x/0 y/0]
	// lab/c [z/0]
	// 2 <nil>
}

// Two schedulings want job b: the older one gets it with its other job.
func ExampleAcquire() {
	name := func(n string) testbed.Name { return testbed.Name{Namespace: "lab", Name: n} }
	fmt.Println(claim.Acquire([]claim.Applicant{
		{Precedence: claim.Precedence{Created: time.Unix(9, 0)}, Jobs: []testbed.Name{name("b"), name("c")}},
		{Precedence: claim.Precedence{Created: time.Unix(0, 0)}, Jobs: []testbed.Name{name("a"), name("b")}},
	}, func(testbed.Name) bool { return true }))
	// Output: [false true]
}
