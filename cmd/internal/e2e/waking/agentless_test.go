package waking

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// TestNodesWithoutAgentsAreFilled: pods without requests are all bound if no agent ever reports, they
// are spread as by the default scores, and only the API's events of pods wake those that wait. A node
// whose pods start sooner opens sooner and has some more of them in the end: up to two of 7.5 without
// other load, more on a machine whose kubelets lag. Half as many more cannot be explained by any order
// of starts.
func TestNodesWithoutAgentsAreFilled(t *testing.T) {
	const nodes, pods = 20, 150
	client, kubeconfig := cluster.Connect(t)
	hub, _ := cluster.StartScheduler(t, kubeconfig, plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: reserve.DefaultMaxAge}}, plugin.HubOptions{})
	cluster.Join(t, simnode.Config{Client: client, Nodes: nodes, Prefix: "agentless-", Clock: simnode.NewClock(time.Now(), 1)})
	log := cluster.Watch(t, client)
	cluster.Submit(t, client, cluster.Batch{Prefix: "plain", Pods: pods, Startup: time.Second, Work: time.Hour})
	begin := time.Now()
	log.WaitBound(t, pods)
	t.Logf("%d pods bound to %d nodes without agents in %v", pods, nodes, time.Since(begin))
	for _, node := range hub.Snapshot() {
		if got, want := node.InFlight, pods/float64(nodes); got < want/2 || got > want*3/2 {
			t.Errorf("got %v pods on %s, want at most %v and a half", got, node.Node, want)
		}
	}
}
