package servertest_test

import (
	"fmt"
	"testing"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// TestPlanIsOfFreeSlots: a plan uses no taken slots.
func TestPlanIsOfFreeSlots(t *testing.T) {
	b := servertest.Start(t, nil)
	b.Fill()
	taken := wire.Slot{ID: "node-1/0", Index: 0, Node: "node-1", State: slot.Occupied, Pod: "p"}
	b.Store.PutSlot("team", "bed", taken)
	spec := wire.SchedulingSpec{Testbed: "bed", Queue: []string{"job-a", "job-a", "job-a", "job-b"}}
	plan, err := b.Store.Plan(t.Context(), server.Caller{}, "team", "s", spec)
	if err != nil {
		t.Fatal(err)
	}
	want := "{true [] [{team/job-a [node-2/0 node-1/1 node-2/1] true} {team/job-b [] false}]}"
	if got := fmt.Sprint(plan); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
