package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// watch measures the watch of the external scheduler's interface.
type watch struct {
	nodes, slots, jobs int // slots on each node
	clients, rate      int
	duration           time.Duration
}

func (w *watch) flags(f *pflag.FlagSet) {
	f.IntVar(&w.nodes, "nodes", 1250, "nodes")
	f.IntVar(&w.slots, "slots", 4, "slots on each")
	f.IntVar(&w.jobs, "jobs", 500, "jobs that are there")
	f.IntVar(&w.rate, "rate", 50, "events of pods a second")
	f.IntVar(&w.clients, "clients", 100, "clients, each of all testbeds, slots, jobs and schedulings")
	f.DurationVar(&w.duration, "duration", 30*time.Second, "time measured")
}

func (w *watch) validate(args []string) error {
	return errors.Join(
		bench.Positive(args, map[string]int{"nodes": w.nodes, "slots": w.slots, "jobs": w.jobs, "rate": w.rate, "clients": w.clients}),
		bench.Timing{Duration: w.duration}.Validate())
}

func (w *watch) measure(ctx context.Context, r *bench.Result, g *children.Group, _ io.Writer) error {
	debug.SetGCPercent(gcPercent)
	server, url, err := startServer(ctx, g, "watch", "--nodes", strconv.Itoa(w.nodes), "--slots", strconv.Itoa(w.slots),
		"--jobs", strconv.Itoa(w.jobs), "--rate", strconv.Itoa(w.rate))
	if err != nil {
		return err
	}
	without, err := memoryOf(ctx, url)
	if err != nil {
		return err
	}
	var clients watchers
	for range w.clients {
		if err := clients.connect(ctx, url); err != nil {
			return err
		}
	}
	clients.take()
	used, err := bench.Follow(ctx, w.duration, server.PID())
	if err != nil {
		return err
	}
	lags := clients.take()
	with, err := memoryOf(ctx, url)
	if err != nil {
		return err
	}
	if least := int(float64(w.clients*w.rate) * w.duration.Seconds() / 4); len(lags) < least {
		return fmt.Errorf("%d events reached clients, not %d: this is no measurement", len(lags), least)
	}
	r.Add(
		bench.Row{What: "pod event to client, p50", Unit: "ms", Value: bench.Median(lags), Bar: bench.AtMost(100)},
		bench.Row{What: "pod event to client, p99", Unit: "ms", Value: bench.Quantile(lags, .99), Bar: bench.AtMost(100)},
		bench.Row{What: "processor time", Unit: "cores", Value: used[0].Cores, Bar: bench.AtMost(.3)},
		bench.Row{What: "memory of a client", Unit: "KiB", Value: (with - without) / 1024 / float64(w.clients), Bar: bench.AtMost(64)},
	)
	return nil
}

// memoryOf is what the server at a URL has in use.
func memoryOf(ctx context.Context, url string) (float64, error) {
	metrics, err := bench.Scrape(ctx, strings.TrimPrefix(url, "http://"))
	return metrics[memoryInUse], err
}

// watchers are clients that watch. It is safe for concurrent use.
type watchers struct {
	mu   sync.Mutex
	lags []float64 // milliseconds from an event to a client
}

// connect adds a client, and returns once it has the snapshot.
func (c *watchers) connect(ctx context.Context, url string) error {
	conn, _, err := websocket.Dial(ctx, url+"/external/v1/watch", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + servertest.Viewer}}, Subprotocols: []string{wire.Subprotocol},
	})
	if err != nil {
		return err
	}
	conn.SetReadLimit(-1)
	request, err := json.Marshal(wire.Request{Op: wire.OpSubscribe, ID: "1", Kinds: []wire.Kind{wire.Testbeds, wire.Slots, wire.Jobs, wire.Schedulings}})
	if err != nil {
		return err
	}
	if err := conn.Write(ctx, websocket.MessageText, request); err != nil {
		return err
	}
	if _, _, err := conn.Read(ctx); err != nil {
		return err
	}
	go func() { // until the server ends
		for _, data, err := conn.Read(ctx); err == nil; _, data, err = conn.Read(ctx) {
			c.note(data, time.Now())
		}
	}()
	return nil
}

// note adds the lags of a message's pods, of whole slots too: it does not read JSON,
// which would take the machine more than what is measured.
func (c *watchers) note(data []byte, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, part := range strings.Split(string(data), stamped)[1:] {
		stamp, _, _ := strings.Cut(part, `"`)
		if at, err := strconv.ParseInt(stamp, 10, 64); err == nil {
			c.lags = append(c.lags, float64(now.UnixNano()-at)/1e6)
		}
	}
}

// take returns the lags since it was called last.
func (c *watchers) take() []float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	lags := c.lags
	c.lags = nil
	return lags
}

// Names of test beds here.
const (
	bedNamespace, bedName = "default", "bed"
	// stamped is what pods' names begin with; the rest is when the event happened.
	stamped = "pod-"
)

// memoryInUse is the metric of what is in use after a collection: objects and stacks, in bytes.
const memoryInUse = "memory_in_use_bytes"

// server has the interface, on a Store in which pods come and go.
func (w *watch) server() (http.Handler, func(context.Context) error, error) {
	callers := servertest.Callers()
	s, err := server.New(server.Config{Store: newPodStore(w), Authenticator: callers, Authorizer: callers})
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/external/", s)
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		runtime.GC()
		runtime.GC() // what the first has freed of pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Fprintf(w, "%s %d\n", memoryInUse, m.HeapAlloc+m.StackInuse)
	})
	return mux, s.Run, nil
}

// podStore is a Store in which every 1/rate seconds a pod comes into a slot or leaves one.
type podStore struct {
	*servertest.Store
	jobs  []wire.Job
	slots []wire.Slot
	rate  int
}

func newPodStore(w *watch) *podStore {
	s := &podStore{Store: servertest.NewStore(), rate: w.rate}
	for i := range w.nodes * w.slots {
		node, id := fmt.Sprintf("node-%d", i%w.nodes), i%w.nodes
		position := i / w.nodes
		s.slots = append(s.slots, wire.Slot{
			ID: node + "/" + strconv.Itoa(position), Index: i, Node: node, NodeID: &id, Position: position, State: slot.Free,
		})
	}
	for i := range w.jobs {
		s.jobs = append(s.jobs, wire.Job{Meta: wire.Meta{Namespace: bedNamespace, Name: fmt.Sprintf("job-%d", i), UID: fmt.Sprintf("job-%d", i), ResourceVersion: "1"}, Kind: "Job", State: "Ready"})
	}
	return s
}

// Follow is server.Store's.
func (s *podStore) Follow(ctx context.Context, send func(server.Change), synced func()) error {
	version := 2
	at := func(op string) {
		meta := wire.Meta{Namespace: bedNamespace, Name: bedName, UID: "bed", ResourceVersion: strconv.Itoa(version)}
		occupied := version % 2
		bed := wire.Testbed{Meta: meta, Ready: true, Counts: wire.Counts{Slots: len(s.slots), Free: len(s.slots) - occupied, Occupied: occupied}}
		send(server.Change{Type: op, Object: bed})
		send(server.Change{Type: op, Object: wire.TestbedSlots{Meta: meta, Slots: slices.Clone(s.slots)}})
	}
	at(wire.Added)
	for _, j := range s.jobs {
		send(server.Change{Type: wire.Added, Object: j})
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
