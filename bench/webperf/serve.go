package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/web"
)

// serveCommand is the process that is measured. It prints its address.
func serveCommand() *cobra.Command {
	var nodes int
	var changing float64
	c := &cobra.Command{
		Use: "serve", Short: "Serve the page of a cluster that changes", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			listener, err := (&net.ListenConfig{}).Listen(c.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			fmt.Fprintln(c.OutOrStdout(), listener.Addr())
			return serve(c.Context(), listener, newCluster(nodes, changing))
		},
	}
	c.Flags().IntVar(&nodes, "nodes", 5000, "nodes")
	c.Flags().Float64Var(&changing, "changing", 1, "share of the nodes that change from frame to frame")
	return c
}

// serve serves the page until ctx ends.
func serve(ctx context.Context, listener net.Listener, source web.Source) error {
	page, err := web.New(web.Config{Source: source})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: page, ReadHeaderTimeout: 5 * time.Second}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(listener) }) // until it is closed
	err = page.Run(ctx)
	server.Close()
	done.Wait()
	return err
}

// cluster is a Source of nodes that change, and of two profiles with as many completions as are
// looked at.
type cluster struct {
	changing float64

	mu    sync.Mutex
	rng   *rand.Rand
	state web.State
}

func newCluster(nodes int, changing float64) *cluster {
	c := &cluster{changing: changing, rng: rand.New(rand.NewPCG(uint64(nodes), 1))}
	c.state.Title = "webperf"
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
func (c *cluster) alter(n *web.Node) {
	n.Running = (n.Running + 1 + c.rng.IntN(18)) % 20
	n.Free, n.InFlight = 20*c.rng.Float64(), 2*c.rng.Float64()
	n.Limiting = []string{"cpu", "memory"}[c.rng.IntN(2)]
	n.Reason = ""
	if c.rng.IntN(3) == 0 {
		n.Reason = "no room: " + n.Limiting + " is shortest"
	}
}

func (c *cluster) State(context.Context) (web.State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes := make([]web.Node, len(c.state.Nodes))
	copy(nodes, c.state.Nodes)
	for i := range nodes {
		if c.rng.Float64() < c.changing {
			c.alter(&nodes[i])
		}
	}
	c.state.Nodes, c.state.At = nodes, time.Now()
	return c.state, nil
}

func (c *cluster) Node(_ context.Context, name string) (web.Explanation, error) {
	return web.Explanation{}, &field.Error{Package: "web", Field: "node", Value: name, Err: web.ErrUnknownNode}
}

func (c *cluster) Pod(_ context.Context, namespace, name string) (web.Timeline, error) {
	return web.Timeline{}, &field.Error{Package: "web", Field: "pod", Value: namespace + "/" + name, Err: web.ErrUnknownPod}
}
