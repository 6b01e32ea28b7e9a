package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// A program puts its job into a free slot, keeps a note with the job, and cleans up.
func Example() {
	address, stop := serve()
	defer stop()
	ctx := context.Background()
	c, err := client.New(client.Config{URL: address, Token: client.StaticToken(servertest.Team)})
	if err != nil {
		panic(err)
	}
	slots, err := c.Slots(ctx, "team", "bed")
	if err != nil {
		panic(err)
	}
	free := slots[0]
	for _, s := range slots {
		if s.State == slot.Free {
			free = s
			break
		}
	}
	id, err := slot.ParseID(free.ID)
	if err != nil {
		panic(err)
	}
	spec := wire.SchedulingSpec{Testbed: "bed", Slots: &wire.SlotBased{Jobs: []wire.SlotJob{{Job: "sort", Slots: []slot.Ref{{ID: id}}}}}}
	plan, err := c.Plan(ctx, "team", "mine", spec)
	if err != nil {
		panic(err)
	}
	fmt.Println("feasible:", plan.Feasible, "in", plan.Plan[0].Slots)
	made, created, err := c.CreateScheduling(ctx, "team", "mine", spec)
	if err != nil {
		panic(err)
	}
	fmt.Println("created:", created, made.Slots.Jobs[0].Job, made.State)
	if _, err := c.PatchExternal(ctx, "team", "sort", "", map[string]any{"tried": []string{free.ID}}); err != nil {
		panic(err)
	}
	for job, err := range c.Jobs(ctx, "team") {
		if err != nil {
			panic(err)
		}
		fmt.Println(job.Name, string(job.External))
	}
	_, err = c.Job(ctx, "team", "absent")
	var p *wire.Problem
	fmt.Println("absent:", errors.As(err, &p) && p.Status == http.StatusNotFound)
	if err := c.DeleteScheduling(ctx, "team", "mine", made.ResourceVersion); err != nil {
		panic(err)
	}
	// Output:
	// feasible: true in [node-1/1]
	// created: true team/sort Acquiring
	// sort {"tried":["node-1/1"]}
	// absent: true
}

// serve starts a server with a test bed of two slots, of which one is free, and a job.
func serve() (address string, stop func()) {
	store := servertest.NewStore()
	store.PutTestbed(wire.Testbed{Meta: wire.Meta{Namespace: "team", Name: "bed"}, Ready: true, Nodes: 1, Slots: []wire.Slot{
		{ID: "node-1/0", Node: "node-1", State: slot.Occupied, Pod: "other"},
		{ID: "node-1/1", Node: "node-1", Index: 1, Position: 1, State: slot.Free},
	}})
	store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "team", Name: "sort"}, Kind: "Job", State: "Ready"})
	callers := servertest.Callers()
	s, err := server.New(server.Config{Store: store, Authenticator: callers, Authorizer: callers, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	listener := httptest.NewServer(s)
	return listener.URL, listener.Close
}
