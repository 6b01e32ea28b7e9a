package simnode

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// Node is a simulated node in real use: a [Machine] to a kubelet, a source of
// samples and of pod events to an agent. It is safe for concurrent use.
type Node struct {
	spec  NodeSpec
	clock Clock
	feed  *podFeed

	mu    sync.Mutex
	model *model
	fresh []Transition // not yet emitted to the kubelet
	wake  chan struct{}
}

// Params describes a simulated node. A zero field takes its default.
type Params = node.Params

// NodeConfig describes a Node. Name is required; a zero field takes its default.
type NodeConfig struct {
	Name   string
	Labels map[string]string
	Params Params
	// Clock is the node's time; default the wall clock.
	Clock Clock
}

// NewNode returns a node that runs on its clock, empty at its present.
func NewNode(c NodeConfig) (*Node, error) {
	if c.Name == "" {
		return nil, refuse(errInvalid, "Name", c.Name, "set")
	}
	now := c.Clock.Now()
	m, err := newModel(c.Params, now)
	if err != nil {
		return nil, fmt.Errorf("simnode: node %s: %w", c.Name, err)
	}
	p := m.Params()
	return &Node{
		spec:  NodeSpec{Name: c.Name, Cores: p.Cores, Memory: p.Memory, Labels: maps.Clone(c.Labels)},
		clock: c.Clock,
		feed:  newPodFeed(now),
		model: m,
		wake:  make(chan struct{}, 1),
	}, nil
}

// Name returns the node's name.
func (n *Node) Name() string { return n.spec.Name }

// Spec implements [Machine].
func (n *Node) Spec() NodeSpec {
	spec := n.spec
	spec.Labels = maps.Clone(spec.Labels)
	return spec
}

// Bind puts a pod on the node.
func (n *Node) Bind(p Pod) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.clock.Now()
	n.advance(now)
	wake(n.wake)
	return n.model.bind(now, p)
}

// Kill removes a pod from the node, if it is there.
func (n *Node) Kill(uid string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.advance(n.clock.Now())
	if n.model.kill(uid) {
		n.happened(Transition{At: n.model.Now(), UID: uid, Phase: Killed})
	}
}

// The shortest nap of Run: what a timer of the operating system resolves.
const shortestNap = time.Millisecond

// Run advances the node with its clock and emits its transitions until ctx ends.
func (n *Node) Run(ctx context.Context, emit func(Transition)) error {
	var batch []Transition
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		n.mu.Lock()
		n.advance(n.clock.Now())
		batch, n.fresh = append(batch[:0], n.fresh...), n.fresh[:0]
		next, busy := n.model.nextChange()
		n.mu.Unlock()

		for _, t := range batch {
			emit(t)
		}
		timer.Stop()
		if busy {
			timer.Reset(max(shortestNap, n.clock.Wall(next.Sub(n.clock.Now()))))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-n.wake:
		case <-timer.C:
		}
	}
}

// advance runs the model until now. n.mu is held.
func (n *Node) advance(now time.Time) {
	before := len(n.fresh)
	n.fresh = n.model.advanceTo(n.fresh, now)
	happened := n.fresh[before:]
	n.fresh = n.fresh[:before]
	for _, t := range happened {
		n.happened(t)
	}
}

// happened hands a transition to both sides. n.mu is held.
func (n *Node) happened(t Transition) {
	n.fresh = append(n.fresh, t)
	wake(n.wake)
	if t.Phase == starting {
		n.feed.churn(t.At)
	} else {
		n.feed.changed(t.At, n.model.Running(nil))
	}
}

// Pods returns the node as a source of pod events.
func (n *Node) Pods() telemetry.PodSource { return n.feed }

// Schema returns the channels of a sample: those of a telemetry.Reader in its
// default configuration, so that simulated and real nodes form one fleet.
func (n *Node) Schema() telemetry.Schema {
	return telemetry.Schema{ID: "v2;cpu=half-runnable;memory=available", Channels: []string{"cpu", "memory"}}
}

// SizesTo returns the sizes of the channels in dst, grown as append does; nil allocates.
func (n *Node) SizesTo(dst []float64) []float64 {
	return append(dst[:0], float64(n.spec.Cores), n.spec.Memory)
}

// Pressure reports that nothing the channels need is missing.
func (n *Node) Pressure() bool { return true }

// SampleTo stores the channels' values over the span since the sample before in
// dst, as telemetry.Reader does. It fails if no time has passed since.
func (n *Node) SampleTo(dst []float64, at time.Time) ([]float64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.advance(at)
	r, ok := n.model.Read()
	if !ok {
		return dst, &telemetry.ChannelError{Channel: "cpu", Err: telemetry.ErrNoInterval}
	}
	return append(dst[:0], r.CPU(), r.Memory), nil
}
