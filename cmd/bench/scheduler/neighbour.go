package main

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// Roles of the process beside a run.
const roleAgents, roleBallast = "agents", "ballast"

// fleet is what the process of the agents gets.
type fleet struct {
	Scheduler string
	Nodes     []string
}

// settling is what a cluster gets to come to rest after its nodes were made, on
// both sides.
const settling = 3 * time.Second

// startNeighbour starts the process beside a run, which ends with it, and returns
// when the cluster has settled and, with the plugin, all nodes have reported.
func startNeighbour(g *children.Group, o order, hub *plugin.Hub, nodes *corev1.NodeList) (neighbour *children.Process, err error) {
	if o.Plugin {
		f := fleet{Scheduler: hub.Addr().String()}
		for i := range nodes.Items {
			f.Nodes = append(f.Nodes, nodes.Items[i].Name)
		}
		neighbour, err = startRole(g, roleAgents, f)
	} else {
		neighbour, err = startRole(g, roleBallast, o.Ballast)
	}
	if err != nil {
		return nil, err
	}
	time.Sleep(settling)
	if o.Plugin {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		err = hub.AwaitFresh(ctx, len(nodes.Items))
	}
	runtime.GC()
	return neighbour, err
}

// burnPeriod is short against what a scheduler does in a second.
const burnPeriod = 10 * time.Millisecond

// burn takes a share of a core until its input ends.
func burn(ctx context.Context, _ []string, in io.Reader, _ io.Writer) error {
	var cores float64
	if err := json.NewDecoder(in).Decode(&cores); err != nil {
		return err
	}
	for begin := time.Now(); ctx.Err() == nil; {
		used, err := children.OwnCPUTime()
		if err != nil {
			return err
		}
		if used.Seconds() > cores*time.Since(begin).Seconds() {
			time.Sleep(burnPeriod)
		}
	}
	return nil
}

// roomy is one node's agent: it has room for any pod.
type roomy struct {
	name    string
	signals *publish.Signals

	mu       sync.Mutex
	absorbed []reserve.PodKey
	sequence uint64
	busy     float64 // pods' worth of room that others take
}

// restless is the share of an agent's reports whose avail has moved by more than
// a heartbeat may stand for. Recordings of a real node that runs batches, 20 s
// and more after its pods last changed, have one in eight.
const restless = 1. / 8

// room in pods: more than the API lets on a node.
const room = 1000

func (r *roomy) notice(_ string, n *spaziov1.Notice) {
	if bound := n.GetPodBound(); bound != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.absorbed = append(r.absorbed, reserve.PodKey(bound.GetPod()))
	}
}

func (r *roomy) report(incarnation uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sequence++
	absorbed := slices.Sorted(slices.Values(r.absorbed))
	if rand.Float64() < restless {
		r.busy = .1 * room * rand.Float64()
	}
	free, now := room-float64(len(absorbed))-r.busy, time.Now()
	r.signals.Send(agent.Report{
		Node: r.name, Incarnation: incarnation, Sequence: r.sequence, SampledAt: now, Schema: "perf",
		Avail: free, Allowance: room, Pods: absorbed, K: room, Limiting: "cpu",
		Channels: []agent.ChannelReport{
			{Name: "cpu", Usage: .1, Capacity: 1, Cost: 1. / room, CostSD: 1e-5},
			{Name: "memory", Usage: .1, Capacity: 1, Cost: 1. / room, CostSD: 1e-5},
		},
	}, now)
}

// publishReports is the role of all agents: a report a second and node, evenly
// spread over the second, until the input ends.
func publishReports(ctx context.Context, _ []string, in io.Reader, _ io.Writer) error {
	var f fleet
	if err := json.NewDecoder(in).Decode(&f); err != nil {
		return err
	}
	agents := make([]*roomy, len(f.Nodes))
	var running sync.WaitGroup
	for i, name := range f.Nodes {
		var err error
		r := &roomy{name: name}
		if r.signals, err = publish.NewSignals(publish.SignalsConfig{Targets: []string{f.Scheduler}, OnNotice: r.notice}); err != nil {
			return err
		}
		agents[i] = r
		running.Go(func() { _ = r.signals.Run(ctx) })
	}
	incarnation := uint64(time.Now().UnixNano())
	ticker := time.NewTicker(burnPeriod)
	defer ticker.Stop()
	begin, reported := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			running.Wait()
			return nil
		case now := <-ticker.C:
			for due := int(now.Sub(begin).Seconds() * float64(len(agents))); reported < due; reported++ {
				agents[reported%len(agents)].report(incarnation)
			}
		}
	}
}
