package modelserver_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// cluster is a set of nodes with real pipelines that push to a real service over gRPC, with one
// simulated clock.
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

// run advances some seconds; load is the mean usage of each node, by channel.
func (c *cluster) run(seconds int, load func(node int) [2]float64) {
	c.t.Helper()
	for range seconds {
		c.sample(load)
		c.exchange(len(c.nodes))
	}
}

// sample advances a second without a push.
func (c *cluster) sample(load func(node int) [2]float64) {
	c.t.Helper()
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
}

// restart replaces the server by an empty one or, if warm, by one restored from an encoded snapshot of
// the old one.
func (c *cluster) restart(warm bool) {
	c.t.Helper()
	server, err := modelserver.New(modelserver.Config{Tick: time.Millisecond, Now: c.clock})
	if err != nil {
		c.t.Fatal(err)
	}
	if warm {
		snapshot, err := modelserver.ReadSnapshot(bytes.NewReader(encode(c.t, c.server.Snapshot())))
		if err != nil {
			c.t.Fatal(err)
		}
		if n, err := server.Restore(snapshot); err != nil || n != len(c.nodes) {
			c.t.Fatalf("Restore: %d nodes, %v", n, err)
		}
	}
	run(c.t, server)
	c.server, c.client = server, dial(c.t, server)
}

// exchange pushes the first nodes' local models, waits until all are merged, and passes the fleet's to
// each of these nodes.
func (c *cluster) exchange(first int) {
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
	for _, p := range c.nodes[:first] {
		push(p)
	}
	pushed := c.now.Add(1)
	until(c.t, c.server, func(s modelserver.Stats) bool { return !s.At.Before(time.Unix(0, pushed)) })
	for _, p := range c.nodes[:first] {
		fleet, err := api.ToFleet(push(p))
		if err != nil {
			c.t.Fatal(err)
		}
		if err := p.SetFleet(c.clock(), fleet); err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestLoadElsewhereMovesTheSignal reproduces the thesis's figures 4.7 and 4.8: when CPU-heavy load
// appears on the other nodes, the signal of a node with CPU load falls and that of a node with memory
// load rises. Without new load, or on a node that ignores the fleet, the signal stays.
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
			signal := func(elsewhere [2]float64, isolated bool) (before, after float64) {
				c := newCluster(t, 8)
				others := tt.measured // before, all have the measured node's load
				load := func(node int) [2]float64 {
					if node == 0 {
						return tt.measured
					}
					return others
				}
				c.run(30, load)
				before = c.reported[0].K
				others = elsewhere
				for range 30 {
					c.sample(load)
					c.exchange(len(c.nodes))
					if isolated {
						if err := c.nodes[0].SetFleet(c.clock(), agent.Fleet{Schema: "cpu,memory"}); err != nil {
							t.Fatal(err)
						}
					}
				}
				return before, c.reported[0].K
			}
			heavy := [2]float64{.9, .1}
			before, after := signal(heavy, false)
			t.Logf("k before %.2f, after %.2f", before, after)
			if tt.rises && after < 1.1*before || !tt.rises && after > .9*before {
				t.Errorf("got a signal from %.3f to %.3f", before, after)
			}
			// The samples' noise alone moves the signal by a few percent.
			if before, after := signal(tt.measured, false); math.Abs(after-before) > .08*before {
				t.Errorf("without load elsewhere: got a signal from %.3f to %.3f", before, after)
			}
			if before, after := signal(heavy, true); math.Abs(after-before) > .08*before {
				t.Errorf("node that ignores the fleet: got a signal from %.3f to %.3f", before, after)
			}
		})
	}
}

// TestRestartIsInvisible restarts the aggregator from its snapshot. While a few nodes push again, the
// signals of all equal those without the restart, to 1e-9 of k and of avail; after an empty restart
// they do not.
func TestRestartIsInvisible(t *testing.T) {
	load := func(node int) [2]float64 {
		if node%3 == 0 {
			return [2]float64{.6, .1}
		}
		return [2]float64{.1, .5}
	}
	without, warm, cold := newCluster(t, 9), newCluster(t, 9), newCluster(t, 9)
	for _, c := range []*cluster{without, warm, cold} {
		c.run(20, load)
	}
	warm.restart(true)
	cold.restart(false)
	var step, coldStep float64
	for second := range 12 {
		for _, c := range []*cluster{without, warm, cold} {
			c.sample(load)
			c.exchange(1 + second/2) // the others' models are unchanged
		}
		for i, want := range without.reported {
			step = max(step, jump(warm.reported[i], want))
			coldStep = max(coldStep, jump(cold.reported[i], want))
		}
	}
	if step > 1e-9 || coldStep < 1e-2 {
		t.Errorf("the restart moves a signal by %.2g, a restart from nothing by %.2g", step, coldStep)
	}
	t.Logf("the restart moves a signal by %.2g, a restart from nothing by %.2g", step, coldStep)
}

// jump returns the difference of two reports' k and avail, relative to the latter.
func jump(got, want agent.Report) float64 {
	return max(math.Abs(got.K-want.K)/math.Abs(want.K), math.Abs(got.Avail-want.Avail)/max(1, math.Abs(want.Avail)))
}
