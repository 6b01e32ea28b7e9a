package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// loopback is a free port out of reach of other machines.
const loopback = "127.0.0.1:0"

// cluster is everything a batch runs on.
type cluster struct {
	config  demoConfig
	clock   simnode.Clock
	plane   *embedded.ControlPlane
	client  kubernetes.Interface
	hub     *plugin.Hub
	fleet   *simnode.Fleet
	members []member
	targets endpoint.Targets
	// profiler is the address that agents send to what pods take.
	profiler string
	// kubeconfig is where the cluster's own is.
	kubeconfig string
	batch      atomic.Pointer[batchRun]
	runs       runs
	// address is the URL of the page and the debug data.
	address string
}

// member is a node with all that its agent needs.
type member struct {
	name  string
	meter node.Meter
	pods  telemetry.PodSource
	usage node.UsageMeter
}

// startCluster brings up all parts and returns when every node has reported. d.services
// stops the started parts, also after an error.
func startCluster(ctx context.Context, d *demo) (*cluster, error) {
	c := &cluster{config: d.config, clock: simnode.NewClock(time.Now(), d.config.TimeScale), hub: plugin.NewHub(plugin.HubOptions{})}
	if err := c.serve(ctx, d); err != nil { // first, so that a busy address is reported at once
		return nil, err
	}
	var steps []step
	add := func(what string, start func(context.Context, *demo) error) {
		steps = append(steps, step{what: what, run: func(ctx context.Context) error { return start(ctx, d) }})
	}
	add("control plane", c.startControlPlane)
	add("kinds", c.define)
	if d.keeps() { // a user may apply manifests
		add("controllers", func(ctx context.Context, d *demo) error { return startControllers(ctx, c.plane, d.services) })
	}
	add("nodes", c.startNodes)
	add("profiler", c.startProfiler)
	add("scheduler", c.startScheduler)
	if d.keeps() {
		add("test beds", c.startTestbeds)
	}
	add("aggregator and agents", c.startAgents)
	add("first signals", func(ctx context.Context, _ *demo) error {
		return c.waitNodes(ctx, "signal", isFresh)
	})
	return c, bring(ctx, d.screen.Printf, steps...)
}

func (c *cluster) startControlPlane(ctx context.Context, d *demo) error {
	plane, err := embedded.Start(ctx, embedded.Config{})
	if err != nil {
		return err
	}
	c.plane = plane
	d.services.Adopt("control plane", plane)
	if c.client, err = kubernetes.NewForConfig(plane.RESTConfig()); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	return c.writeKubeconfig(d)
}

func (c *cluster) writeKubeconfig(d *demo) error {
	c.kubeconfig = filepath.Join(c.plane.Dir(), "kubeconfig")
	if given := d.options.Kubeconfig; given != "" {
		c.kubeconfig = given
		d.services.OnStop(func() { _ = os.Remove(given) })
	}
	if err := embedded.WriteKubeconfig(c.kubeconfig, c.plane.RESTConfig()); err != nil {
		return err
	}
	d.screen.Printf("kubectl --kubeconfig %s get pods,nodes -o wide", c.kubeconfig)
	return nil
}

// startNodes has the nodes join.
func (c *cluster) startNodes(ctx context.Context, d *demo) (err error) {
	c.fleet, err = simnode.Start(ctx, simnode.Config{
		Cluster: c.plane.RESTConfig(),
		Nodes:   c.config.Nodes,
		Params:  simnode.Params{Cores: c.config.Cores, Seed: c.config.Seed},
		Clock:   c.clock,
		Observer: func(e simnode.Event) {
			if run := c.batch.Load(); run != nil {
				run.observe(e)
			}
		},
		OnError: func(err error) { d.screen.Printf("%v", err) },
	})
	if err != nil {
		return err
	}
	d.services.Adopt("nodes", c.fleet)
	for _, n := range c.fleet.Nodes() {
		c.members = append(c.members, member{n.Name(), n, n.Pods(), n.Usage()})
	}
	return nil
}

// signalTimeout is how long the first signals may take in wall time; a second
// is usual.
const signalTimeout = 30 * time.Second

// waitNodes waits until so returns true for every node.
func (c *cluster) waitNodes(ctx context.Context, what string, so func(plugin.NodeState) bool) error {
	deadline := time.Now().Add(signalTimeout)
	for {
		missing := ""
		for _, n := range c.nodes() {
			if !so(n) {
				missing = n.Node
			}
		}
		switch {
		case missing == "":
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("node %s: no %s within %v", missing, what, signalTimeout)
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// waitQuiet waits until the nodes rest: no pods counted or in flight, and the
// load of the last of them out of the agents' filters and churn windows.
func (c *cluster) waitQuiet(ctx context.Context) error {
	const rest = 3 * time.Second // virtual
	quiet := c.clock.Now()
	for c.clock.Now().Sub(quiet) < rest {
		for _, n := range c.nodes() {
			if n.Running > 0 || inFlight(n) > 0 {
				quiet = c.clock.Now()
			}
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// nodes returns what the scheduler knows of each node, in the order of c.members.
func (c *cluster) nodes() []plugin.NodeState {
	states := make(map[string]plugin.NodeState, len(c.members))
	for _, s := range c.hub.Snapshot() {
		states[s.Node] = s
	}
	nodes := make([]plugin.NodeState, len(c.members))
	for i, m := range c.members {
		nodes[i] = states[m.name]
		nodes[i].Node = m.name
	}
	return nodes
}
