package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/simnode"
)

// runSimulatedNodes runs nodes of four cores with their agents until the test
// ends.
func runSimulatedNodes(t *testing.T, client kubernetes.Interface, clock simnode.Clock, count int, scheduler, aggregator string) {
	t.Helper()
	machines := make([]simnode.Machine, count)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	for i := range machines {
		machine, err := simnode.NewNode(fmt.Sprintf("sim-%02d", i), simnode.Params{Seed: uint64(i)}, clock)
		if err != nil {
			t.Fatal(err)
		}
		machines[i] = machine
		agent, err := node.New(node.Config{
			Name: machine.Name(), Meter: machine, Pods: machine.Pods(), Clock: clock,
			Schedulers: []string{scheduler}, Aggregator: aggregator,
			// The longest wait for a scheduler that restarts is to cost the batch little.
			Backoff: publish.Backoff{Max: 500 * time.Millisecond},
		})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := agent.Run(ctx); err != nil {
				t.Errorf("agent of %s: %v", machine.Name(), err)
			}
		})
	}
	runMachines(t, client, clock, machines)
}
