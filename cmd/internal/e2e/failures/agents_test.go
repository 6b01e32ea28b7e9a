package failures

import (
	"context"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// runSimulatedNodes runs nodes of four cores with their agents until the test
// ends.
func runSimulatedNodes(t *testing.T, client kubernetes.Interface, clock simnode.Clock, count int, scheduler, aggregator string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	for _, n := range cluster.Join(t, simnode.Config{Client: client, Nodes: count, Prefix: "sim-", Clock: clock}) {
		agent, err := node.New(node.Config{
			Name: n.Name(), Meter: n, Pods: n.Pods(), Clock: clock,
			Schedulers: []string{scheduler}, Aggregator: aggregator,
			// A scheduler's restart must cost the batch little, even with the longest backoff.
			Backoff: publish.Backoff{Max: 500 * time.Millisecond},
		})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := agent.Run(ctx); err != nil {
				t.Errorf("agent of %s: %v", n.Name(), err)
			}
		})
	}
}
