package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/cmd/internal/publish"
	"github.com/spazio-scheduler/spazio/cmd/internal/simnode"
	"github.com/spazio-scheduler/spazio/reserve"
)

// placeNode is a node with a given number of places: a pod takes one, and the
// node reports those that its running pods leave free. It is the kubelet's
// machine and the agent in one.
type placeNode struct {
	name        string
	incarnation uint64
	signals     *publish.Signals
	happened    chan simnode.Transition
	gone        chan struct{}

	mu        sync.Mutex
	places    int
	saturated bool
	sequence  uint64
	held      map[string]bool // by UID, from the bind on
	running   map[string]bool // by UID, from the start on
	most      int             // the most pods held at once
}

func newPlaceNode(t *testing.T, name string, places int, scheduler string) *placeNode {
	t.Helper()
	signals, err := publish.NewSignals(publish.SignalsConfig{
		Targets: []string{scheduler}, Backoff: publish.Backoff{Max: 500 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &placeNode{
		name: name, incarnation: uint64(time.Now().UnixNano()), signals: signals, places: places,
		happened: make(chan simnode.Transition, simnode.MaxPods), gone: make(chan struct{}),
		held: map[string]bool{}, running: map[string]bool{},
	}
}

func (n *placeNode) Name() string { return n.name }

// Bind starts the pod after its start-up time; until then the node does not
// report it.
func (n *placeNode) Bind(p simnode.Pod) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held[p.UID] = true
	n.most = max(n.most, len(n.held))
	time.AfterFunc(p.Startup, func() {
		n.mu.Lock()
		n.running[p.UID] = true
		n.report()
		n.mu.Unlock()
		n.tell(p.UID, simnode.Running)
		time.AfterFunc(p.Work, func() {
			n.Kill(p.UID)
			n.tell(p.UID, simnode.Succeeded)
		})
	})
	return nil
}

func (n *placeNode) tell(uid string, phase simnode.Phase) {
	select {
	case n.happened <- simnode.Transition{At: time.Now(), UID: uid, Phase: phase}:
	case <-n.gone:
	}
}

// Kill frees the pod's place.
func (n *placeNode) Kill(uid string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.held, uid)
	if n.running[uid] {
		delete(n.running, uid)
		n.report()
	}
}

// mostHeld returns the most pods that were on the node at once, whether running
// or not.
func (n *placeNode) mostHeld() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.most
}

// set changes the node and reports it, and returns when.
func (n *placeNode) set(places int, saturated bool) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.places, n.saturated = places, saturated
	n.report()
	return now
}

// report is called with n.mu held, so that reports leave in order.
func (n *placeNode) report() {
	n.sequence++
	r := agent.Report{
		Node: n.name, Incarnation: n.incarnation, Sequence: n.sequence, SampledAt: time.Now(), Schema: "places",
		Avail: float64(n.places - len(n.running)), Saturated: n.saturated, K: float64(n.places),
	}
	for uid := range n.running {
		r.Absorbed = append(r.Absorbed, reserve.KeyOf(uid))
	}
	slices.Sort(r.Absorbed)
	n.signals.Send(r)
}

// Run reports twice a second besides.
func (n *placeNode) Run(ctx context.Context, emit func(simnode.Transition)) error {
	defer close(n.gone)
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		n.mu.Lock()
		n.report()
		n.mu.Unlock()
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return nil
			case t := <-n.happened:
				emit(t)
			case <-ticker.C:
				waiting = false
			}
		}
	}
}

// newPlaceNodes registers nodes with the API server, and runs them and their
// kubelet until the test ends.
func newPlaceNodes(t *testing.T, client kubernetes.Interface, count, places int, scheduler string) []*placeNode {
	t.Helper()
	nodes := make([]*placeNode, count)
	machines := make([]simnode.Machine, count)
	for i := range nodes {
		nodes[i] = newPlaceNode(t, fmt.Sprintf("place-%02d", i), places, scheduler)
		machines[i] = nodes[i]
	}
	runMachines(t, client, simnode.Clock{}, machines)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, n := range nodes {
		running.Go(func() { _ = n.signals.Run(ctx) })
	}
	t.Cleanup(func() { cancel(); running.Wait() })
	return nodes
}
