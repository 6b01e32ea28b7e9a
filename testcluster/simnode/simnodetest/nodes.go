package simnodetest

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// Join has nodes join the cluster until the test ends. Config.OnError is the test's.
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

// Cores are those of a node of Large: so many that requests never decide.
const Cores = 32

// Large is a node with more cores and memory than any pod asks for.
func Large(name string) simnode.NodeSpec {
	return simnode.NodeSpec{Name: name, Cores: Cores, Memory: 128 << 30}
}

// Register makes a large node that nothing runs on. The end of the test removes it,
// if the test has not.
func Register(t testing.TB, client kubernetes.Interface, node string) {
	t.Helper()
	if err := simnode.Register(t.Context(), client, Large(node)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := client.CoreV1().Nodes().Delete(context.Background(), node, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("delete node %s: %v", node, err)
		}
	})
}
