package client_test

import (
	"testing"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
)

// What a client does is what the server has then.
func TestRoundTrip(t *testing.T) {
	b := servertest.Start(t, nil)
	b.Store.PutTestbed(wire.Testbed{Meta: wire.Meta{Namespace: "team", Name: "bed"}, Slots: []wire.Slot{{ID: "n/0"}, {ID: "n/1", Index: 1}}})
	b.Store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: "job"}, Kind: "Job", State: "Ready"})
	c, err := client.New(client.Config{URL: b.URL, Token: client.StaticToken(servertest.Team)})
	if err != nil {
		t.Fatal(err)
	}
	spec := wire.SchedulingSpec{Testbed: "bed", Queue: []string{"job"}}
	is, created, err := c.CreateScheduling(t.Context(), "team", "s", spec)
	if err != nil || !created || is.Queue[0] != "team/job" {
		t.Fatal(is, created, err)
	}
	if _, created, err = c.CreateScheduling(t.Context(), "team", "s", spec); err != nil || created {
		t.Fatal(created, err)
	}
	bed, err := c.Testbed(t.Context(), "team", "bed")
	if err != nil || len(bed.Slots) != 2 {
		t.Fatal(bed, err)
	}
	if o, err := c.Overview(t.Context(), "team"); err != nil || len(o.Jobs) != 1 || len(o.Schedulings) != 1 {
		t.Fatal(o, err)
	}
	if _, err := c.Overview(t.Context(), ""); err == nil {
		t.Fatal("an overview of all for who may see one namespace")
	}
	if j, err := c.PatchExternal(t.Context(), "team", "job", "", map[string]any{"a": 1}); err != nil || string(j.External) != `{"a":1}` {
		t.Fatal(j, err)
	}
}
