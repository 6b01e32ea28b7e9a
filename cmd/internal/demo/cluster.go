package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/embedded"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/simnode"
	"github.com/spazio-scheduler/spazio/simnode/batch"
	"github.com/spazio-scheduler/spazio/simnode/burn"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// realNodeName is the node that this machine joins as.
const realNodeName = "this-machine"

// loopback is a free port out of reach of other machines.
const loopback = "127.0.0.1:0"

// realNodeLabel marks the node whose pods are processes of this machine.
const realNodeLabel = "spazio-scheduler.github.io/real"

// cluster is everything a batch runs on.
type cluster struct {
	config  Config
	clock   simnode.Clock
	client  kubernetes.Interface
	hub     *plugin.Hub
	members []member
	// kubeconfig is where the cluster's own is.
	kubeconfig string
	batch      atomic.Pointer[batch.Run]
}

// member is a node with all that its agent and its kubelet need.
type member struct {
	spec    simnode.NodeSpec
	machine simnode.Machine
	meter   node.Meter
	pods    telemetry.PodSource
}

// startCluster brings up all parts and returns when every node has been heard
// of. What has been started by then is stopped by d.services, also after an
// error.
func startCluster(ctx context.Context, d *demo) (*cluster, error) {
	c := &cluster{config: d.config, clock: simnode.NewClock(time.Now(), d.config.TimeScale)}
	steps := []struct {
		what string
		run  func(context.Context, *demo) error
	}{
		{"control plane", c.startControlPlane},
		{"nodes", c.startNodes},
		{"scheduler", c.startScheduler},
		{"aggregator and agents", c.startAgents},
		{"first signals", c.waitSignals},
	}
	for _, step := range steps {
		began := time.Now()
		if err := step.run(ctx, d); err != nil {
			return nil, fmt.Errorf("start the %s: %w", step.what, err)
		}
		d.screen.printf("%-22s ready after %.1f s", step.what, time.Since(began).Seconds())
	}
	return c, nil
}

func (c *cluster) startControlPlane(ctx context.Context, d *demo) error {
	plane, err := embedded.Start(ctx, embedded.Config{APIPort: d.options.APIPort})
	if err != nil {
		return err
	}
	d.services.onStop(func() {
		// A control plane that has died says so itself, and can't end in order.
		if err := plane.Close(); err != nil && plane.Err() == nil {
			d.screen.printf("%v", err)
		}
	})
	d.services.start("control plane", func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-plane.Failed():
			return plane.Err()
		}
	})
	if c.client, err = kubernetes.NewForConfig(plane.RESTConfig()); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	return c.writeKubeconfig(d, plane)
}

func (c *cluster) writeKubeconfig(d *demo, plane *embedded.ControlPlane) error {
	c.kubeconfig = filepath.Join(plane.Dir(), "kubeconfig")
	if given := d.options.Kubeconfig; given != "" {
		c.kubeconfig = given
		d.services.onStop(func() { _ = os.Remove(given) })
	}
	if err := plane.WriteKubeconfig(c.kubeconfig); err != nil {
		return err
	}
	d.screen.printf("kubectl --kubeconfig %s get pods,nodes -o wide", c.kubeconfig)
	return nil
}

// startNodes registers the nodes and runs their kubelet.
func (c *cluster) startNodes(ctx context.Context, d *demo) error {
	if err := c.makeMembers(d.options); err != nil {
		return err
	}
	machines := make([]simnode.Machine, len(c.members))
	for i, m := range c.members {
		if err := simnode.Register(ctx, c.client, m.spec); err != nil {
			return err
		}
		machines[i] = m.machine
	}
	kubelet := simnode.NewKubelet(simnode.KubeletConfig{
		Client:   c.client,
		Clock:    c.clock,
		Machines: machines,
		Seed:     c.config.Seed,
		Observer: func(pod types.NamespacedName, node string, t simnode.Transition) {
			if run := c.batch.Load(); run != nil {
				run.Observe(pod, node, t)
			}
		},
		OnError: func(err error) { d.screen.printf("kubelet: %v", err) },
	})
	synced := make(chan struct{})
	d.services.start("kubelet", func(ctx context.Context) error { return kubelet.Run(ctx, synced) })
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-synced:
		return nil
	}
}

func (c *cluster) makeMembers(o Options) error {
	width := len(fmt.Sprint(c.config.Nodes))
	for i := range c.config.Nodes {
		name := fmt.Sprintf("node-%0*d", width, i+1)
		// The multiplier keeps the seeds of two demos apart.
		seed := c.config.Seed*1_000_003 + uint64(i)
		node, err := simnode.NewNode(name, simnode.Params{Cores: c.config.Cores, Seed: seed}, c.clock)
		if err != nil {
			return err
		}
		c.members = append(c.members, member{nodeSpec(name, node.Sizes()), node, node, node.Pods()})
	}
	if c.config.NoRealNode {
		return nil
	}
	reader, err := telemetry.NewReader(telemetry.Config{})
	if err != nil {
		return fmt.Errorf("this machine as a node (--real-node=false leaves it out): %w", err)
	}
	machine := burn.NewMachine(realNodeName, o.Burn)
	spec := nodeSpec(realNodeName, reader.Sizes())
	spec.Labels = map[string]string{realNodeLabel: "true"}
	c.members = append(c.members, member{spec, machine, reader, machine.Pods()})
	return nil
}

func nodeSpec(name string, sizes []float64) simnode.NodeSpec {
	return simnode.NodeSpec{Name: name, Cores: int(sizes[0]), Memory: sizes[1]}
}

// signalTimeout is how long the first signals may take in wall time; a second
// is usual.
const signalTimeout = 30 * time.Second

var errNoSignal = errors.New("no signal")

// waitSignals waits until the scheduler has heard of every node.
func (c *cluster) waitSignals(ctx context.Context, _ *demo) error {
	deadline := time.Now().Add(signalTimeout)
	for {
		missing := ""
		for _, n := range c.nodes() {
			if !n.Known {
				missing = n.Name
			}
		}
		switch {
		case missing == "":
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("node %s: %w within %v", missing, errNoSignal, signalTimeout)
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
			if n.Running > 0 || n.InFlight > 0 {
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
func (c *cluster) nodes() []NodeView {
	states := make(map[string]plugin.NodeState, len(c.members))
	for _, s := range c.hub.Snapshot() {
		states[s.Node] = s
	}
	views := make([]NodeView, len(c.members))
	for i, m := range c.members {
		s := states[m.spec.Name]
		views[i] = NodeView{
			Name:     m.spec.Name,
			Known:    s.Signal == "fresh",
			Avail:    s.Avail,
			InFlight: int(s.InFlight + .5),
			Running:  s.Running,
			K:        s.K,
			Limiting: s.Limiting,
		}
	}
	return views
}
