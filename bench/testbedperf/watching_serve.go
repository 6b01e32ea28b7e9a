package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Names of what the served process has.
const (
	bedNamespace, bedName = "default", "bed"
	// stamped is what pods' names begin with; the rest is when the event happened.
	stamped = "pod-"
)

// serveCommand is the process under measurement: the interface, and a Store in which pods
// come and go.
func serveCommand() *cobra.Command {
	var o watchOptions
	c := &cobra.Command{
		Use: "serve", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return serve(c.Context(), o, func(address string) { fmt.Fprintln(c.OutOrStdout(), address) })
		},
	}
	o.flags(c.Flags())
	return c
}

func serve(ctx context.Context, o watchOptions, listening func(address string)) error {
	callers := servertest.Callers()
	s, err := server.New(server.Config{Store: newPodStore(o), Authenticator: callers, Authorizer: callers})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/external/", s)
	mux.HandleFunc("/memory", memory)
	h := &http.Server{Handler: mux}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(listener) }()
	listening("http://" + listener.Addr().String())
	err = s.Run(ctx)
	_ = h.Close()
	<-ended //nolint:errcheck // that it was closed
	return err
}

// memory answers with what is in use after a collection: objects and stacks, in bytes.
func memory(w http.ResponseWriter, _ *http.Request) {
	runtime.GC()
	runtime.GC() // what the first has freed of pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	_ = json.NewEncoder(w).Encode(m.HeapAlloc + m.StackInuse) // a caller that has gone is told nothing
}

// podStore is a Store in which every 1/rate seconds a pod comes into a slot or leaves one.
type podStore struct {
	*servertest.Store
	jobs  []wire.Job
	slots []wire.Slot
	rate  int
}

func newPodStore(o watchOptions) *podStore {
	s := &podStore{Store: servertest.NewStore(), rate: o.rate}
	for i := range o.nodes * o.perNode {
		node, id := fmt.Sprintf("node-%d", i%o.nodes), i%o.nodes
		position := i / o.nodes
		s.slots = append(s.slots, wire.Slot{
			ID: node + "/" + strconv.Itoa(position), Index: i, Node: node, NodeID: &id, Position: position, State: slot.Free,
		})
	}
	for i := range o.jobs {
		s.jobs = append(s.jobs, wire.Job{Meta: wire.Meta{Namespace: bedNamespace, Name: fmt.Sprintf("job-%d", i), UID: fmt.Sprintf("job-%d", i), ResourceVersion: "1"}, Kind: "Job", State: "Ready"})
	}
	return s
}

// Follow is server.Store's.
func (s *podStore) Follow(ctx context.Context, tell func(server.Change), synced func()) error {
	version := 2
	at := func(op string) {
		meta := wire.Meta{Namespace: bedNamespace, Name: bedName, UID: "bed", ResourceVersion: strconv.Itoa(version)}
		occupied := version % 2
		bed := wire.Testbed{Meta: meta, Ready: true, Counts: wire.Counts{Slots: len(s.slots), Free: len(s.slots) - occupied, Occupied: occupied}}
		tell(server.Change{Type: op, Object: bed})
		tell(server.Change{Type: op, Object: wire.TestbedSlots{Meta: meta, Slots: slices.Clone(s.slots)}})
	}
	at(wire.Added)
	for _, j := range s.jobs {
		tell(server.Change{Type: wire.Added, Object: j})
	}
	synced()
	tick := time.NewTicker(time.Second / time.Duration(s.rate))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		version++
		one := &s.slots[n/2*7919%len(s.slots)]
		one.State, one.Pod = slot.Occupied, stamped+strconv.FormatInt(time.Now().UnixNano(), 10)
		if n%2 == 1 {
			one.State = slot.Free
		}
		at(wire.Modified)
	}
}
