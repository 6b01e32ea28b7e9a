package servertest_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// TestContract: the server passes the contract on this package's Store, with TLS and without.
func TestContract(t *testing.T) {
	b := servertest.Start(t, func(c *server.Config) { c.SeedPaths, c.DefaultNamespace = true, "team" })
	target := b.Fill()
	t.Run("plain", func(t *testing.T) { servertest.Contract(t, target) })
	tls := httptest.NewTLSServer(b.Server)
	t.Cleanup(tls.Close)
	target.URL, target.HTTP = tls.URL, tls.Client()
	t.Run("TLS", func(t *testing.T) { servertest.Contract(t, target) })
}

// TestPlanIsOfFreeSlots: a plan uses no taken slots.
func TestPlanIsOfFreeSlots(t *testing.T) {
	b := servertest.Start(t, nil)
	target := b.Fill()
	taken := wire.Slot{ID: "node-1/0", Index: 0, Node: "node-1", State: slot.Occupied, Pod: "p"}
	b.Store.PutSlot(target.Namespace, target.Testbed, taken)
	spec := wire.SchedulingSpec{Testbed: target.Testbed, Queue: []string{"job-a", "job-a", "job-a", "job-b"}}
	plan, err := b.Store.Plan(t.Context(), server.Caller{}, target.Namespace, "s", spec)
	if err != nil {
		t.Fatal(err)
	}
	want := "{true [] [{team/job-a [node-2/0 node-1/1 node-2/1] true} {team/job-b [] false}]}"
	if got := fmt.Sprint(plan); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
