package lifecycle_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// A job has a slot, and a controller acts for it until it runs.
func ExampleStepJob() {
	now := time.Unix(0, 0)
	o := lifecycle.JobObserved{Wanted: true, Claimed: true, Finalizer: true, Check: lifecycle.Valid}
	o.Stored = lifecycle.Job{
		State: lifecycle.InQueue, SchedulingUID: "590f6f41",
		Request: &lifecycle.Request{Slots: []slot.ID{{Node: "a"}}, Attempt: 1},
	}
	step := func() {
		job, actions := lifecycle.StepJob(o, now)
		fmt.Print(job.State)
		for _, a := range actions {
			fmt.Print(", ", a.Op)
		}
		fmt.Println()
		o.Stored = job
	}
	step()
	o.Application = lifecycle.Application{UID: "x", Attempt: 1, Phase: lifecycle.Pending}
	step()
	o.Application.Phase = lifecycle.Active
	o.Pods = lifecycle.Pods{Bound: 1, Running: 1, Alive: 1, Live: 1}
	step()
	// Output:
	// Submitted, create, wake
	// Submitted, wake
	// Running
}

// A scheduling has one available job.
func ExampleStepScheduling() {
	o := lifecycle.SchedulingObserved{
		Members: []lifecycle.Member{{Job: testbed.Name{Namespace: "lab", Name: "crawler"}, Exists: true}},
		Turn:    true, Finalizer: true,
	}
	step := func() {
		scheduling, actions := lifecycle.StepScheduling(o, time.Unix(0, 0))
		fmt.Print(scheduling.State)
		for _, a := range actions {
			fmt.Print(", ", a.Op, " ", a.Jobs)
		}
		fmt.Println()
		o.Stored = scheduling
	}
	step()
	o.Members[0].Held, o.Members[0].State, o.Holds = true, lifecycle.InQueue, 1
	step()
	o.Members[0].State, o.Members[0].Claimed = lifecycle.Running, true
	step()
	// Output:
	// Acquiring, acquire [lab/crawler]
	// Submitting, submit [lab/crawler]
	// AwaitingCompletion
}
