package cluster

import (
	"fmt"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/node/publish/publishtest"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// PlaceNode is a node with a given number of places: the kubelet's machine and the agent in one.
type PlaceNode struct {
	*simnode.Timed
	*publishtest.Places
	reports publish.SignalsConfig // where to
}

func newPlaceNode(spec simnode.NodeSpec, places int) *PlaceNode {
	n := &PlaceNode{Places: publishtest.NewPlaces(spec.Name, places)}
	n.Timed = simnode.NewTimed(spec, n.SetRunning)
	return n
}

// StartAgent begins to report, until KillAgent or the test's end.
func (n *PlaceNode) StartAgent(t testing.TB) {
	t.Helper()
	if err := n.Places.StartAgent(n.reports); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.KillAgent)
}

// Places is the number of places of a node in most tests.
const Places = 4

// NewPlaceNodes registers nodes with the API server, and runs them, their agents
// and their kubelet until the test ends.
func NewPlaceNodes(t testing.TB, client kubernetes.Interface, count, places int, schedulers ...string) []*PlaceNode {
	t.Helper()
	return NewPlaceNodesWith(t, client, count, places, func(string) publish.SignalsConfig { return publish.SignalsConfig{Targets: schedulers} })
}

// NewPlaceNodesWith is NewPlaceNodes with a configuration for each node's agent. The nodes are
// registered when reports is called.
func NewPlaceNodesWith(t testing.TB, client kubernetes.Interface, count, places int, reports func(node string) publish.SignalsConfig) []*PlaceNode {
	t.Helper()
	nodes := make([]*PlaceNode, count)
	machines := make([]simnode.Machine, count)
	for i := range nodes {
		nodes[i] = newPlaceNode(large(fmt.Sprintf("place-%02d", i)), places)
		machines[i] = nodes[i]
	}
	Join(t, simnode.Config{Client: client, Machines: machines})
	for _, n := range nodes {
		n.reports = reports(n.Name())
		n.StartAgent(t)
	}
	return nodes
}

// CheckHeld fails the test for a node that ever held more pods than it has
// places.
func CheckHeld(t testing.TB, nodes []*PlaceNode) {
	t.Helper()
	for _, n := range nodes {
		if most, places := n.MostHeld(), n.Places.Places(); most > places {
			t.Errorf("node %s: got %d pods at once, want at most its %d places", n.Name(), most, places)
		}
	}
}
