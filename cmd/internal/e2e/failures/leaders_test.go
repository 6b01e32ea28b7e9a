package failures

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
)

// Two leaders one after the other are killed in the middle of a batch. Agents publish to every replica,
// so that the next leader knows what is in flight.
func TestKilledLeadersHandOver(t *testing.T) {
	const (
		nodeCount = 20
		podCount  = 200
	)
	client, kubeconfig := cluster.Connect(t)
	admin, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var replicas []*cluster.Replica
	var targets []string
	for range 3 {
		r := cluster.NewReplica(t, kubeconfig, admin.BearerToken)
		r.Program = *schedulerProgram
		r.Start(t)
		replicas, targets = append(replicas, r), append(targets, r.Signals)
	}
	nodes := cluster.NewPlaceNodes(t, client, nodeCount, cluster.Places, targets...)
	for _, r := range replicas {
		cluster.WaitMetric(t, r.Metrics, `spazio_nodes{state="fresh"}`, nodeCount)
	}

	log := cluster.Watch(t, client)
	// A startup of a second keeps dozens of bound pods out of the reports while the leaders change.
	more := cluster.Batch{Prefix: "batch", Pods: podCount / 2, Startup: time.Second, Work: 500 * time.Millisecond}
	cluster.Submit(t, client, more)
	var killed []time.Time
	for i := range 2 {
		log.WaitBound(t, (i+1)*podCount/4)
		leading := cluster.Leader(t, replicas)
		killed = append(killed, time.Now())
		leading.Kill(t)
		// Pods arrive also while no replica leads.
		more.Prefix, more.Pods = fmt.Sprintf("orphans-%d", i), podCount/4
		cluster.Submit(t, client, more)
		leading.Start(t)
	}
	log.WaitSucceeded(t, podCount)
	killed = append(killed, time.Now())
	for i := range 2 {
		t.Logf("after the death of leader %d nothing was bound for %v", i+1, log.Bindings().LongestPause(killed[i], killed[i+1]))
	}

	cluster.CheckHeld(t, nodes)
	for i, r := range replicas {
		t.Run(fmt.Sprintf("replica %d forgets the batch", i), func(t *testing.T) {
			cluster.WaitMetric(t, r.Metrics, `spazio_nodes{state="fresh"}`, nodeCount)
			cluster.WaitMetric(t, r.Metrics, "spazio_inflight_pods", 0)
		})
	}
}
