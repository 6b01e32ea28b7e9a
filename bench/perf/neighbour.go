package main

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/bench/internal/process"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Roles of the process beside a run.
const roleAgents, roleBallast = "agents", "ballast"

// fleet is what the agents' process is told.
type fleet struct {
	Scheduler string
	Nodes     []string
}

// settling is what a cluster gets to come to rest after its nodes were made, on
// both sides.
const settling = 3 * time.Second

// startNeighbour starts the process beside a run, which ends with it, and returns
// when the cluster has settled and, with the plugin, all nodes have reported.
func startNeighbour(o order, hub *plugin.Hub, nodes *corev1.NodeList) (neighbour *exec.Cmd, err error) {
	if o.Plugin {
		f := fleet{Scheduler: hub.Addr().String()}
		for i := range nodes.Items {
			f.Nodes = append(f.Nodes, nodes.Items[i].Name)
		}
		neighbour, err = start(roleAgents, f)
	} else {
		neighbour, err = start(roleBallast, o.Ballast)
	}
	if err != nil {
		return nil, err
	}
	time.Sleep(settling)
	if o.Plugin {
		err = waitReports(hub, len(nodes.Items))
	}
	runtime.GC()
	return neighbour, err
}

func waitReports(hub *plugin.Hub, nodes int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return hub.AwaitFresh(ctx, nodes)
}

// start runs this program in a role. The process is given its orders and ends
// at the end of its input, that is when this process ends.
func start(role string, orders any) (*exec.Cmd, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return cmd, json.NewEncoder(input).Encode(orders)
}

// orders reads what start wrote and returns a context that ends with the input.
func orders(input io.Reader, v any) (context.Context, error) {
	decoder := json.NewDecoder(input)
	if err := decoder.Decode(v); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, input)
	}()
	return ctx, nil
}

// burnPeriod is short against what a scheduler does in a second.
const burnPeriod = 10 * time.Millisecond

// burn takes a share of a core until its input ends.
func burn(input io.Reader) error {
	var cores float64
	ctx, err := orders(input, &cores)
	if err != nil {
		return err
	}
	owed := time.Duration(0)
	ticker := time.NewTicker(burnPeriod)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			owed += time.Duration(cores * float64(now.Sub(last)))
			last = now
			before, err := process.Own()
			if err != nil {
				return err
			}
			for owed > 0 {
				after, err := process.Own()
				if err != nil {
					return err
				}
				owed -= after - before
				before = after
			}
		}
	}
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
		Avail: free, Allowance: room, Absorbed: absorbed, K: room, Limiting: "cpu",
		Channels: []agent.ChannelReport{
			{Name: "cpu", Usage: .1, Capacity: 1, Cost: 1. / room, CostSD: 1e-5},
			{Name: "memory", Usage: .1, Capacity: 1, Cost: 1. / room, CostSD: 1e-5},
		},
	}, now)
}

// publishReports is the role of all agents: a report a second and node, evenly
// spread over the second, until the input ends.
func publishReports(input io.Reader) error {
	var f fleet
	ctx, err := orders(input, &f)
	if err != nil {
		return err
	}
	agents := make([]*roomy, len(f.Nodes))
	var running sync.WaitGroup
	for i, name := range f.Nodes {
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
