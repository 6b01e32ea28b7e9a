package pronto

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// scripted measures an almost constant load, whatever runs on the node, and, after spike, a spike in
// one sample of twenty.
type scripted struct {
	node.Meter
	spikes  atomic.Bool
	samples int
}

func (s *scripted) SampleTo(dst []float64, at time.Time) ([]float64, error) {
	dst, err := s.Meter.SampleTo(dst, at)
	s.samples++
	for i := range dst {
		dst[i] = .3 + .01*float64(s.samples%2)
		if s.samples%20 == 0 && s.spikes.Load() {
			dst[i] = .9
		}
	}
	return dst, err
}

// slowClock is the agents' clock at half speed: a pause of a loaded machine is then no gap in the
// samples.
var slowClock = simnode.NewClock(time.Now(), .5)

// join adds nodes whose agents follow Pronto's signal. A rejection stands until the end of the test.
func join(t *testing.T, c simnode.Config, scheduler string) map[string]*scripted {
	t.Helper()
	c.Clock = slowClock
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	meters := map[string]*scripted{}
	for _, n := range cluster.Join(t, c) {
		m := &scripted{Meter: n}
		a, err := node.New(node.Config{
			Name: n.Name(), Meter: m, Pods: n.Pods(), Clock: slowClock, Schedulers: []string{scheduler},
			Pronto: &pronto.Config{Window: pronto.MaxWindow},
		})
		if err != nil {
			t.Fatal(err)
		}
		meters[n.Name()] = m
		running.Go(func() {
			if err := a.Run(ctx); err != nil {
				t.Errorf("agent of %s: %v", n.Name(), err)
			}
		})
	}
	return meters
}

// TestSpikeSendsPodsElsewhere: of two nodes that accept any pod one has a spike. From then on it
// accepts none, and all go to the other.
func TestSpikeSendsPodsElsewhere(t *testing.T) {
	client, kubeconfig := cluster.Connect(t)
	hub, _ := cluster.StartScheduler(t, kubeconfig, plugin.SpazioArgs{}, plugin.HubOptions{})
	meters := join(t, simnode.Config{Client: client, Nodes: 2, Prefix: "pronto-"}, hub.Addr().String())
	cluster.WaitSignals(t, hub, "fresh", len(meters))
	log := cluster.Watch(t, client)
	names := make([]string, 0, len(meters))
	for _, s := range hub.Snapshot() {
		if s.Avail != agent.Unbounded || s.Limiting != agent.LimitingPronto || s.Saturated {
			t.Fatalf("before any spike: got %+v", s)
		}
		names = append(names, s.Node)
	}
	spiked, other := names[0], names[1]
	cluster.Submit(t, client, cluster.Batch{Prefix: "before", Pods: 1, Work: time.Hour, Node: spiked})
	log.WaitBound(t, 1)

	meters[spiked].spikes.Store(true)
	avail := func(name string) float64 {
		n, _ := hub.Node(name)
		return n.Avail
	}
	cluster.Eventually(t, "the spike rejects", func() (bool, any) { return avail(spiked) == 0, avail(spiked) })
	const pods = 4
	cluster.Submit(t, client, cluster.Batch{Prefix: "after", Pods: pods, Work: time.Hour})
	log.WaitBound(t, 1+pods)
	if placed := log.Bindings().PerNode("after-"); placed[other] != pods || avail(other) != agent.Unbounded {
		t.Errorf("got placements %v, want all on %s with room %v", placed, other, avail(other))
	}
	cluster.Submit(t, client, cluster.Batch{Prefix: "only", Pods: 1, Work: time.Hour, Node: spiked})
	cluster.Eventually(t, "the pod for the node that rejects waits", func() (bool, any) { return hub.Waiting() == 1, hub.Waiting() })
	if placed := log.Bindings().PerNode("only-"); len(placed) != 0 {
		t.Errorf("a rejecting node got a pod: %v", placed)
	}
	cluster.CheckNothingLeft(t, client, hub)
}
