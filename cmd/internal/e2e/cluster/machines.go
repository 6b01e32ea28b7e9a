package cluster

import (
	"errors"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/simnode"
)

// Join has nodes join the cluster until the test ends.
func Join(t testing.TB, c simnode.Config) []*simnode.Node {
	t.Helper()
	c.OnError = func(err error) { t.Error(err) }
	fleet, err := simnode.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(fleet.Err(), fleet.Close()); err != nil {
			t.Error(err)
		}
	})
	return fleet.Nodes()
}

// Cores are those of a node: so many that requests never decide. Slow start's
// first step is a pod for each.
const Cores = 32

// Register makes a node that nothing runs on.
func Register(t testing.TB, client kubernetes.Interface, node string) {
	t.Helper()
	if err := simnode.Register(t.Context(), client, largeNode(node)); err != nil {
		t.Fatal(err)
	}
}

func largeNode(name string) simnode.NodeSpec {
	return simnode.NodeSpec{Name: name, Cores: Cores, Memory: 128 << 30}
}
