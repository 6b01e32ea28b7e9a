package e2e

import (
	"context"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/simnode"
)

// runMachines registers the machines as nodes of 32 cores, so that requests
// never decide, and runs them under one kubelet until the test ends.
func runMachines(t testing.TB, client kubernetes.Interface, clock simnode.Clock, machines []simnode.Machine) {
	t.Helper()
	for _, m := range machines {
		register(t, client, m.Name())
		t.Cleanup(func() {
			if err := client.CoreV1().Nodes().Delete(context.Background(), m.Name(), metav1.DeleteOptions{}); err != nil {
				t.Errorf("delete node %s: %v", m.Name(), err)
			}
		})
	}
	kubelet := simnode.NewKubelet(simnode.KubeletConfig{
		Client: client, Clock: clock, Machines: machines,
		OnError: func(err error) { t.Errorf("kubelet: %v", err) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	synced := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		if err := kubelet.Run(ctx, synced); err != nil {
			t.Errorf("kubelet: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	<-synced
}

func register(t testing.TB, client kubernetes.Interface, node string) {
	t.Helper()
	spec := simnode.NodeSpec{Name: node, Cores: 32, Memory: 128 << 30}
	if err := simnode.Register(t.Context(), client, spec); err != nil {
		t.Fatal(err)
	}
}
