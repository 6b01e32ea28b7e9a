package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/simnode"
	"github.com/spazio-scheduler/spazio/simnode/simnodetest"
)

// PlaceNode is a node with a given number of places: a pod takes one, and the
// Node reports those that its running pods leave free. It is the kubelet's
// machine and the agent in one.
type PlaceNode struct {
	*simnode.Timed
	name    string
	reports publish.SignalsConfig // where to

	mu          sync.Mutex
	signals     *publish.Signals // nil while the node has no agent
	endAgent    func()
	incarnation uint64
	sequence    uint64
	last        agent.Report
	places      int
	saturated   bool
	memory      float64  // the pods that memory holds, 0 if it is not reported
	running     []string // by UID
}

func newPlaceNode(name string, places int) *PlaceNode {
	n := &PlaceNode{name: name, places: places}
	n.Timed = simnode.NewTimed(simnodetest.Large(name), n.ran)
	return n
}

// ran hears which pods run.
func (n *PlaceNode) ran(running []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running = running
	n.report()
}

// StartAgent begins to report, until killAgent or the test's end.
func (n *PlaceNode) StartAgent(t testing.TB) {
	t.Helper()
	n.reports.Backoff = publish.Backoff{Max: 500 * time.Millisecond}
	signals, err := publish.NewSignals(n.reports)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = signals.Run(ctx) })
	end := func() { cancel(); running.Wait() }
	t.Cleanup(end)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.signals, n.endAgent = signals, end
	n.incarnation, n.sequence = uint64(time.Now().UnixNano()), 0
	n.report()
}

// KillAgent ends the agent and its streams; pods go on.
func (n *PlaceNode) KillAgent() {
	n.mu.Lock()
	n.signals = nil
	n.mu.Unlock()
	n.endAgent()
}

// Name is the node's.
func (n *PlaceNode) Name() string { return n.name }

// Set changes the node and reports it, and returns when.
func (n *PlaceNode) Set(places int, saturated bool) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.places, n.saturated = places, saturated
	n.report()
	return now
}

// SetMemory has reports say that memory holds so many pods, half of them there.
func (n *PlaceNode) SetMemory(pods float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.memory = pods
}

// report is called with n.mu held, so that reports leave in order.
func (n *PlaceNode) report() {
	if n.signals == nil {
		return
	}
	n.sequence++
	r := agent.Report{
		Node: n.name, Incarnation: n.incarnation, Sequence: n.sequence, SampledAt: time.Now(), Schema: "places",
		Avail: float64(n.places - len(n.running)), Saturated: n.saturated, K: float64(max(n.places, 0)),
	}
	for _, uid := range n.running {
		r.Absorbed = append(r.Absorbed, reserve.KeyOf(uid))
	}
	slices.Sort(r.Absorbed)
	if n.memory > 0 {
		r.Limiting = agent.CPU
		r.Channels = []agent.ChannelReport{{Name: agent.CPU, Usage: 1, Cost: .1}, {Name: agent.Memory, Usage: .5, Cost: 1 / n.memory}}
	}
	n.last = r
	n.signals.Send(r, r.SampledAt)
}

// LastReport returns the newest report.
func (n *PlaceNode) LastReport() agent.Report {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

// Run reports twice a second besides.
func (n *PlaceNode) Run(ctx context.Context, emit func(simnode.Transition)) error {
	var reporting sync.WaitGroup
	defer reporting.Wait()
	reporting.Go(func() {
		ticker := time.NewTicker(500 * time.Millisecond)
		defer ticker.Stop()
		for {
			n.mu.Lock()
			n.report()
			n.mu.Unlock()
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
	return n.Timed.Run(ctx, emit)
}

// Places are those of a node in most tests.
const Places = 4

// NewPlaceNodes registers nodes with the API server, and runs them, their agents
// and their kubelet until the test ends.
func NewPlaceNodes(t testing.TB, client kubernetes.Interface, count, places int, schedulers ...string) []*PlaceNode {
	t.Helper()
	return NewPlaceNodesWith(t, client, count, places, func(string) publish.SignalsConfig { return publish.SignalsConfig{Targets: schedulers} })
}

// NewPlaceNodesWith is NewPlaceNodes with agents that report as they are told to
// for their node, which is registered by then.
func NewPlaceNodesWith(t testing.TB, client kubernetes.Interface, count, places int, reports func(node string) publish.SignalsConfig) []*PlaceNode {
	t.Helper()
	nodes := make([]*PlaceNode, count)
	machines := make([]simnode.Machine, count)
	for i := range nodes {
		nodes[i] = newPlaceNode(fmt.Sprintf("place-%02d", i), places)
		machines[i] = nodes[i]
	}
	simnodetest.Join(t, simnode.Config{Client: client, Machines: machines})
	for _, n := range nodes {
		n.reports = reports(n.name)
		n.StartAgent(t)
	}
	return nodes
}

// CheckHeld fails the test for a node that ever held more pods than it has
// places.
func CheckHeld(t testing.TB, nodes []*PlaceNode) {
	t.Helper()
	for _, n := range nodes {
		most := n.MostHeld() // not under n.mu: the machine calls ran
		n.mu.Lock()
		places := n.places
		n.mu.Unlock()
		if most > places {
			t.Errorf("node %s held %d pods at once, has %d places", n.name, most, places)
		}
	}
}
