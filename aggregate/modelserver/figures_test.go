package modelserver_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// cluster is nodes with real pipelines that push to a real service over gRPC,
// all on one simulated clock.
type cluster struct {
	t        *testing.T
	now      atomic.Int64
	server   *modelserver.Server
	client   spaziov1.ModelServiceClient
	nodes    []*agent.Pipeline
	reported []agent.Report
	rng      *rand.Rand
}

func newCluster(t *testing.T, nodes int) *cluster {
	c := &cluster{t: t, rng: rand.New(rand.NewPCG(1, 2)), reported: make([]agent.Report, nodes)}
	c.now.Store(1e18)
	c.server = start(t, modelserver.Config{Tick: time.Millisecond, Now: c.clock})
	c.client = dial(t, c.server)
	for i := range nodes {
		p, err := agent.New(agent.Config{
			Node: fmt.Sprintf("node-%d", i), Incarnation: 1, Schema: "cpu,memory", Cores: 4,
			Channels: []agent.Channel{{Name: agent.CPU, Size: 4}, {Name: "memory", Size: 16 << 30}},
		})
		if err != nil {
			t.Fatal(err)
		}
		c.nodes = append(c.nodes, p)
	}
	return c
}

func (c *cluster) clock() time.Time { return time.Unix(0, c.now.Load()) }

// run lets some seconds pass; load is the mean usage of each node, by channel.
func (c *cluster) run(seconds int, load func(node int) [2]float64) {
	c.t.Helper()
	for range seconds {
		for range 10 {
			c.now.Add(int64(100 * time.Millisecond))
			for i, p := range c.nodes {
				mean := load(i)
				y := []float64{mean[0] * (.9 + .2*c.rng.Float64()), mean[1] * (.9 + .2*c.rng.Float64())}
				r, ok, err := p.Sample(c.clock(), y)
				if err != nil {
					c.t.Fatal(err)
				}
				if ok {
					c.reported[i] = r
				}
			}
		}
		c.exchange()
	}
}

// exchange pushes every local model, waits until all are merged, and hands
// each node the fleet's.
func (c *cluster) exchange() {
	c.t.Helper()
	push := func(p *agent.Pipeline) *spaziov1.GlobalModel {
		l, ok := p.Local()
		if !ok {
			c.t.Fatal("a node has no model after a second")
		}
		response, err := c.client.Push(c.t.Context(), &spaziov1.PushRequest{Local: api.FromLocal(l)})
		if err != nil {
			c.t.Fatal(err)
		}
		return response.GetGlobal()
	}
	for _, p := range c.nodes {
		push(p)
	}
	pushed := c.now.Add(1)
	until(c.t, c.server, func(s modelserver.Stats) bool { return !s.At.Before(time.Unix(0, pushed)) })
	for _, p := range c.nodes {
		fleet, err := api.ToFleet(push(p))
		if err != nil {
			c.t.Fatal(err)
		}
		if err := p.SetFleet(c.clock(), fleet); err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestLoadElsewhereMovesTheSignal is the thesis's figures 4.7 and 4.8: when
// CPU-heavy load appears on the other nodes, the signal of a node with CPU load
// falls, that of a node with memory load rises.
func TestLoadElsewhereMovesTheSignal(t *testing.T) {
	for _, tt := range []struct {
		name     string
		measured [2]float64
		rises    bool
	}{
		{"figure 4.7: a node with CPU load", [2]float64{.3, .03}, false},
		{"figure 4.8: a node with memory load", [2]float64{.03, .5}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, 8)
			others := tt.measured // before, all carry what the measured node does
			load := func(node int) [2]float64 {
				if node == 0 {
					return tt.measured
				}
				return others
			}
			c.run(30, load)
			before := c.reported[0].K
			others = [2]float64{.9, .1}
			c.run(30, load)
			after := c.reported[0].K
			t.Logf("k before %.2f, after %.2f", before, after)
			if tt.rises && after < 1.1*before || !tt.rises && after > .9*before {
				t.Errorf("the signal went from %.3f to %.3f", before, after)
			}
		})
	}
}
