package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
	"github.com/spazio-scheduler/spazio/web"
)

// page measures what the page of package web costs the process that serves it.
type page struct {
	nodes, readers int
	changing       float64 // the share of nodes that change a frame
	duration       time.Duration
}

func (p *page) flags(f *pflag.FlagSet) {
	f.IntVar(&p.nodes, "nodes", 5000, "nodes")
	f.IntVar(&p.readers, "readers", 1, "readers at a time, 1 to 32")
	f.Float64Var(&p.changing, "changing", 1, "share of the nodes that change from frame to frame")
	f.DurationVar(&p.duration, "duration", 20*time.Second, "time measured, with and without readers")
}

func (p *page) validate(args []string) error {
	switch {
	case p.readers > 32:
		return fmt.Errorf("--readers: %d are more than 32", p.readers)
	case !(p.changing >= 0 && p.changing <= 1):
		return fmt.Errorf("--changing: %v is not from 0 to 1", p.changing)
	case p.duration < 2*time.Second:
		return fmt.Errorf("--duration: %v is less than two frames", p.duration)
	}
	return bench.Positive(args, map[string]int{"nodes": p.nodes, "readers": p.readers})
}

// measure has bars for a page with 5,000 nodes, once a second, with one reader.
func (p *page) measure(ctx context.Context, r *bench.Result, g *children.Group, _ io.Writer) error {
	server, url, err := startServer(ctx, g, "page", fmt.Sprint("--nodes=", p.nodes), fmt.Sprint("--changing=", p.changing))
	if err != nil {
		return err
	}
	idle, err := bench.Follow(ctx, p.duration, server.PID())
	if err != nil {
		return err
	}
	var sizes []float64 // of the first reader's frames
	read := func(ctx context.Context) error {
		readers, reading := errgroup.WithContext(ctx)
		for i := range p.readers {
			readers.Go(func() error {
				return readFrames(reading, url, func(size int) {
					if i == 0 {
						sizes = append(sizes, float64(size))
					}
				})
			})
		}
		if err := readers.Wait(); ctx.Err() == nil {
			return err
		}
		return nil
	}
	used, err := during(ctx, p.duration, read, server.PID())
	if err != nil {
		return err
	}
	if len(sizes) < 2 {
		return fmt.Errorf("%d frames in %v", len(sizes), p.duration)
	}
	r.Add(
		bench.Row{What: "frames", Value: float64(len(sizes)), Unit: "frames"},
		bench.Row{What: "the first", Value: sizes[0], Unit: "B"},
		bench.Row{What: "the others, median", Value: bench.Median(sizes[1:]), Unit: "B"},
		bench.Row{What: "the others, largest", Value: slices.Max(sizes[1:]), Unit: "B", Bar: bench.AtMost(256 << 10)},
		bench.Row{What: "the server with readers", Value: used[0].Cores, Unit: "cores", Bar: bench.AtMost(.05)},
		bench.Row{What: "the server without", Value: idle[0].Cores, Unit: "cores"},
	)
	return nil
}

// lastLine ends the event that ends a frame.
var lastLine = []byte("\"last\":true}\n")

// readFrames reads events and calls each with the size of every frame; it returns why there are no more.
func readFrames(ctx context.Context, url string, each func(size int)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/events", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", request.URL, answer.Status)
	}
	in := bufio.NewReader(answer.Body)
	for size := 0; ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return err
		}
		size += len(line)
		if bytes.HasSuffix(line, lastLine) {
			each(size + len("\n"))
			size = -len("\n") // that which ends the event is still to come
		}
	}
}

// server serves the page of a cluster that changes.
func (p *page) server() (http.Handler, func(context.Context) error, error) {
	w, err := web.New(web.Config{Source: newChangingNodes(p.nodes, p.changing)})
	if err != nil {
		return nil, nil, err
	}
	return w, w.Run, nil
}

// changingNodes is a Source of nodes that change, and of two profiles with as many completions as are
// looked at.
type changingNodes struct {
	changing float64

	mu    sync.Mutex
	rng   *rand.Rand
	state web.State
}

func newChangingNodes(nodes int, changing float64) *changingNodes {
	c := &changingNodes{changing: changing, rng: rand.New(rand.NewPCG(uint64(nodes), 1))}
	c.state.Title = "load page"
	for i := range nodes {
		c.state.Nodes = append(c.state.Nodes, web.Node{
			Name: fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i/2500, i/50%50, 4+i%50*5), Signal: web.Fresh, Capacity: 20,
		})
		c.alter(&c.state.Nodes[i])
	}
	begun := time.Now().Add(-time.Hour)
	for _, profile := range []string{"default-scheduler", "spazio"} {
		r := web.Run{Profile: profile, Started: begun, Submitted: web.MaxCompletions, Done: web.MaxCompletions, Resolution: time.Second}
		for range web.MaxCompletions {
			r.Completions = append(r.Completions, web.Completion{Since: time.Duration(c.rng.Float64() * float64(time.Hour)), Took: time.Duration(c.rng.ExpFloat64() * float64(time.Minute))})
		}
		c.state.Runs = append(c.state.Runs, r)
	}
	for i := range 100 {
		c.state.Waiting = append(c.state.Waiting, web.Waiting{Namespace: "default", Name: fmt.Sprintf("batch-%d", i), Profile: "spazio", Since: begun, Reason: "0/5000 nodes are available: 5000 have no room"})
	}
	return c
}

// alter makes a node another than it was.
func (c *changingNodes) alter(n *web.Node) {
	n.Running = (n.Running + 1 + c.rng.IntN(18)) % 20
	n.Free, n.InFlight = 20*c.rng.Float64(), 2*c.rng.Float64()
	n.Limiting = []string{"cpu", "memory"}[c.rng.IntN(2)]
	n.Reason = ""
	if c.rng.IntN(3) == 0 {
		n.Reason = "no room: " + n.Limiting + " is shortest"
	}
}

func (c *changingNodes) State(context.Context) (web.State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes := slices.Clone(c.state.Nodes)
	for i := range nodes {
		if c.rng.Float64() < c.changing {
			c.alter(&nodes[i])
		}
	}
	c.state.Nodes, c.state.At = nodes, time.Now()
	return c.state, nil
}

func (c *changingNodes) Node(_ context.Context, name string) (web.Explanation, error) {
	return web.Explanation{}, &field.Error{Package: "web", Field: "node", Value: name, Err: web.ErrUnknownNode}
}

func (c *changingNodes) Pod(_ context.Context, namespace, name string) (web.Timeline, error) {
	return web.Timeline{}, &field.Error{Package: "web", Field: "pod", Value: namespace + "/" + name, Err: web.ErrUnknownPod}
}
