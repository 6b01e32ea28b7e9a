package autoscale

import (
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node/publish"
)

// TestKilledLeadersLeaveNothing: leaders are killed while buffers exist, and after the last pod has
// found room; the next one finds what they made, duplicates nothing and removes all of it.
func TestKilledLeadersLeaveNothing(t *testing.T) {
	r := newRig(t)
	admin, err := clientcmd.BuildConfigFromFlags("", r.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var replicas []*cluster.Replica
	var targets []string
	for range 2 {
		replica := cluster.NewReplica(t, r.kubeconfig, admin.BearerToken, "--autoscale=namespace="+namespace+",scaleUpDelay=1s,scaleDownDelay=20s", "--debug-listen=")
		replica.Start(t)
		replicas, targets = append(replicas, replica), append(targets, replica.Signals)
	}
	nodes := cluster.NewPlaceNodesWith(t, r.client, 2, 0, func(string) publish.SignalsConfig { return publish.SignalsConfig{Targets: targets} })
	for _, n := range nodes {
		n.SetUsage(usage(0.9))
	}
	for _, replica := range replicas {
		cluster.WaitMetric(t, replica.Metrics, `spazio_nodes{state="fresh"}`, 2)
	}
	both := map[string]string{drain: "true", disrupt: "true"}
	submit(t, r, "orphan", 5, nil)
	want := map[string]int64{"default/Workload/orphan": 5}
	r.waitReplicas(t, want)

	killed := cluster.Leader(t, replicas)
	killed.Kill(t)
	killed.Start(t)
	cluster.Leader(t, replicas)
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if got := r.replicas(t); len(got) != 1 || got["default/Workload/orphan"] != 5 {
			t.Fatalf("after a leader's death: %v, want %v", got, want)
		}
	}
	for _, n := range nodes {
		r.waitNode(t, n.Name(), true, both)
	}

	log := cluster.Watch(t, r.client)
	nodes[0].Set(10, false)
	log.WaitBound(t, 5)
	killed = cluster.Leader(t, replicas)
	killed.Kill(t)
	killed.Start(t)
	for _, n := range nodes {
		n.SetUsage(usage(0.1))
	}
	r.waitGone(t, bothLabels...)
	for _, n := range nodes {
		r.waitNode(t, n.Name(), false, nil)
	}
}
