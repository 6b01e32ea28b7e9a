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

// Register makes a node that nothing runs on, of 32 cores, so that requests never
// decide.
func Register(t testing.TB, client kubernetes.Interface, node string) {
	t.Helper()
	if err := simnode.Register(t.Context(), client, largeNode(node)); err != nil {
		t.Fatal(err)
	}
}

func largeNode(name string) simnode.NodeSpec {
	return simnode.NodeSpec{Name: name, Cores: 32, Memory: 128 << 30}
}
