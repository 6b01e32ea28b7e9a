package e2e

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/internal/schedulerd"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// checkNothingLeft removes all pods and waits until the scheduler has forgotten
// them.
func checkNothingLeft(t *testing.T, client kubernetes.Interface, hub *plugin.Hub) {
	t.Helper()
	removePods(t, client)
	waitEmpty(t, hub)
	eventually(t, "no pod waits", func() (bool, any) { return hub.Waiting() == 0, hub.Waiting() })
}

// A dead agent's node is treated by the policy once its last report is too old,
// whatever that report said, and by its reports again once they are back.
func TestDeadAgent(t *testing.T) {
	client, kubeconfig := cluster(t)
	for _, c := range []struct {
		policy reserve.StalePolicy
		last   int // places, as the agent reported them before its death
		dead   int // pods placed while the agent is dead
		back   int // places when the agent is back
	}{
		{policy: reserve.Neutral, last: 0, dead: 3, back: 3},
		{policy: reserve.Allow, last: 0, dead: 3, back: 3},
		{policy: reserve.Reject, last: 4, dead: 0, back: 4},
	} {
		t.Run(c.policy.String(), func(t *testing.T) {
			var seen reservations
			args := plugin.SpazioArgs{StalePolicy: c.policy.String(), MaxAge: metav1.Duration{Duration: time.Second}}
			hub, _ := startScheduler(t, kubeconfig, args, plugin.HubOptions{OnReserve: seen.observe})
			node := newPlaceNodes(t, client, 1, c.last, hub.Addr().String())[0]
			waitFresh(t, hub, 1)
			log := watchPods(t, client)

			node.killAgent()
			waitSignals(t, hub, "stale", 1)
			submit(t, client, batch{prefix: "dead", pods: 3, work: 100 * time.Millisecond})
			log.waitBound(t, c.dead)
			eventually(t, "the others wait", func() (bool, any) { return hub.Waiting() == 3-c.dead, hub.Waiting() })
			if bound, _ := log.counts(); bound != c.dead {
				t.Errorf("%d pods were bound while the agent was dead, want %d", bound, c.dead)
			}
			seen.check(t, 0)
			if all, _ := seen.counts(node.name); all > 0 {
				t.Errorf("%d reservations rest on the signal of a dead agent", all)
			}

			node.set(c.back, false)
			node.startAgent(t)
			waitFresh(t, hub, 1)
			submit(t, client, batch{prefix: "back", pods: 5, work: 100 * time.Millisecond})
			log.waitSucceeded(t, 8)
			seen.check(t, 0)
			checkNothingLeft(t, client, hub)
		})
	}
}

// Without any agent, pods go where the default profile puts them, however
// different the last reports were. Requests of a sixteenth of a node leave no
// tie but between nodes with the same number of pods.
func TestAllAgentsDead(t *testing.T) {
	const nodes, each = 10, 4
	client, kubeconfig := cluster(t)
	var seen reservations
	args := plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: time.Second}}
	hub, _ := startScheduler(t, kubeconfig, args, plugin.HubOptions{OnReserve: seen.observe})
	machines := newPlaceNodes(t, client, nodes, 0, hub.Addr().String())
	for i, n := range machines {
		n.set(i*i-5, i%3 == 0)
	}
	waitFresh(t, hub, nodes)
	for _, n := range machines {
		n.killAgent()
	}
	waitSignals(t, hub, "stale", nodes)

	log := watchPods(t, client)
	placed := map[string]map[string]int{}
	for _, profile := range []string{schedulerd.DefaultProfile, schedulerd.SpazioProfile} {
		// The prefix tells the profiles' pods apart, for the log keeps them all.
		submit(t, client, batch{prefix: profile, profile: profile, pods: nodes * each, cores: 2, work: time.Hour})
		eventually(t, "the pods of "+profile+" are bound", func() (bool, any) {
			placed[profile] = log.perNode(profile)
			bound := 0
			for _, n := range placed[profile] {
				bound += n
			}
			return bound == nodes*each, bound
		})
		checkNothingLeft(t, client, hub)
	}
	if diff := cmp.Diff(placed[schedulerd.DefaultProfile], placed[schedulerd.SpazioProfile]); diff != "" {
		t.Errorf("pods per node, default profile against Spazio without agents:\n%s", diff)
	}
	if all, _ := seen.counts(""); all > 0 {
		t.Errorf("%d reservations rest on the signals of dead agents", all)
	}
}

// Each answer of the API server comes a quarter of a second late, so that many
// pods are reserved, bound and running while the scheduler knows less.
func TestSlowAPIServer(t *testing.T) {
	const pods = 80
	client, kubeconfig := cluster(t)
	_, slow := newLink(t, kubeconfig, 125*time.Millisecond)
	var seen reservations
	hub, _ := startScheduler(t, slow, plugin.SpazioArgs{}, plugin.HubOptions{OnReserve: seen.observe})
	nodes := newPlaceNodes(t, client, 5, places, hub.Addr().String())
	waitFresh(t, hub, len(nodes))
	log := watchPods(t, client)
	begin := time.Now()
	submit(t, client, batch{prefix: "slow", pods: pods, startup: 50 * time.Millisecond, work: 300 * time.Millisecond})
	log.waitSucceeded(t, pods)
	t.Logf("%d pods of .35 s through %d places in %v", pods, len(nodes)*places, time.Since(begin))
	seen.check(t, pods)
	checkHeld(t, nodes)
	checkNothingLeft(t, client, hub)
}

// Pods are deleted after their Reserve, while their binding is on its way.
func TestPodsDeletedWhileReserved(t *testing.T) {
	const nodes, pods = 4, 8 // slow start admits two pods at once to an empty node
	client, kubeconfig := cluster(t)
	way, held := newLink(t, kubeconfig, 0)
	var seen reservations
	hub, _ := startScheduler(t, held, plugin.SpazioArgs{}, plugin.HubOptions{OnReserve: seen.observe})
	machines := newPlaceNodes(t, client, nodes, places, hub.Addr().String())
	waitFresh(t, hub, nodes)
	log := watchPods(t, client)

	way.hold()
	deleted, kept := batch{prefix: "deleted", pods: pods / 2, work: 100 * time.Millisecond}, batch{prefix: "kept", pods: pods / 2, work: 100 * time.Millisecond}
	submit(t, client, deleted)
	submit(t, client, kept)
	assumed := func(n int) {
		t.Helper()
		eventually(t, "reservations", func() (bool, any) { c := hub.Ledger(); return c.Assumed == n, c })
	}
	assumed(pods)
	for i := range deleted.pods {
		if err := client.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), deleted.pod(i).Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	assumed(pods / 2)
	way.release()
	log.waitSucceeded(t, pods/2)
	// What was deleted must not cost its node anything.
	submit(t, client, batch{prefix: "next", pods: nodes * places, work: time.Second})
	log.waitSucceeded(t, pods/2+nodes*places)
	if bound := log.perNode(deleted.prefix); len(bound) > 0 {
		t.Errorf("deleted pods were bound: %v", bound)
	}
	seen.check(t, pods+nodes*places)
	checkHeld(t, machines)
	checkNothingLeft(t, client, hub)
}

// A node leaves the API in the middle of a batch, with pods on it and on their
// way, and comes back under its name. Its agent knows nothing of this.
func TestNodeDeletedAndMadeAgain(t *testing.T) {
	const pods = 40
	client, kubeconfig := cluster(t)
	var seen reservations
	hub, _ := startScheduler(t, kubeconfig, plugin.SpazioArgs{}, plugin.HubOptions{OnReserve: seen.observe})
	nodes := newPlaceNodes(t, client, 2, places, hub.Addr().String())
	waitFresh(t, hub, 2)
	log := watchPods(t, client)
	submit(t, client, batch{prefix: "batch", pods: pods, startup: 50 * time.Millisecond, work: 300 * time.Millisecond})
	log.waitBound(t, pods/4)

	gone := nodes[0]
	if err := client.CoreV1().Nodes().Delete(t.Context(), gone.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the node is forgotten", func() (bool, any) { return len(hub.Snapshot()) == 1, hub.Snapshot() })
	log.waitBound(t, pods/2)
	_, before := seen.counts(gone.name)
	register(t, client, gone.name)
	waitFresh(t, hub, 2)
	log.waitSucceeded(t, pods)
	submit(t, client, batch{prefix: "after", pods: 2 * places, work: time.Second})
	log.waitSucceeded(t, pods+2*places)
	if _, after := seen.counts(gone.name); after == before {
		t.Errorf("the node was given no pod after its return")
	}
	seen.check(t, pods)
	checkHeld(t, nodes)
	checkNothingLeft(t, client, hub)
}

var pendingPods = flag.Int("pending", 500, "pods that wait for a single place in TestManyPendingPods")

// Places open one at a time before a long queue: each is given to one pod, the
// first to the one of the highest priority, though that came last.
func TestManyPendingPods(t *testing.T) {
	client, kubeconfig := cluster(t)
	high := schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}
	if _, err := client.SchedulingV1().PriorityClasses().Create(t.Context(), &high, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.SchedulingV1().PriorityClasses().Delete(context.Background(), high.Name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete the priority class: %v", err)
		}
	})
	var seen reservations
	hub, _ := startScheduler(t, kubeconfig, plugin.SpazioArgs{}, plugin.HubOptions{OnReserve: seen.observe})
	nodes := newPlaceNodes(t, client, 3, 0, hub.Addr().String())
	waitFresh(t, hub, len(nodes))
	log := watchPods(t, client)
	begin := time.Now()
	submit(t, client, batch{prefix: "pending", pods: *pendingPods, work: time.Hour})
	submit(t, client, batch{prefix: "urgent", pods: 1, work: time.Hour, priorityClass: high.Name})
	eventually(t, "all pods wait", func() (bool, any) { return hub.Waiting() == *pendingPods+1, hub.Waiting() })
	t.Logf("%d pods were created and tried in vain in %v", *pendingPods+1, time.Since(begin))

	for i := range 2 * len(nodes) {
		node := nodes[i%len(nodes)]
		begin := time.Now()
		node.set(1+i/len(nodes), false)
		log.waitBound(t, i+1)
		t.Logf("place %d was given away within %v", i+1, time.Since(begin))
		if urgent := log.perNode("urgent"); urgent[nodes[0].name] != 1 {
			t.Errorf("place %d: urgent pods by node %v, want the first place's", i+1, urgent)
		}
		if all, _ := seen.counts(""); all != i+1 {
			t.Errorf("%d places and %d reservations", i+1, all)
		}
	}
	seen.check(t, 2*len(nodes))
	checkHeld(t, nodes)
	checkNothingLeft(t, client, hub)
}
