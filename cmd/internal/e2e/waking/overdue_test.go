package waking

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/plugin"
)

// On nodes of 32 cores that stay full, pods are bound after maxWait, two per node, also after a restart
// of the scheduler: the API has since when pods wait, and which pods were bound without room.
func TestOverduePods(t *testing.T) {
	client, kubeconfig := cluster.Connect(t)
	const each, all = 2, 2 * nodeCount // a pod per 16 cores
	args := plugin.SpazioArgs{MaxWait: &metav1.Duration{Duration: 5 * time.Second}}
	hub, stop := cluster.StartScheduler(t, kubeconfig, args, plugin.HubOptions{})
	args.Listen = hub.Addr().String() // the agents connect to the next scheduler here, too
	nodes := cluster.NewPlaceNodes(t, client, nodeCount, 0, args.Listen)
	for _, n := range nodes {
		n.SetMemory(10)
		n.Set(-1, true)
	}
	cluster.WaitSignals(t, hub, "fresh", nodeCount)
	log := cluster.Watch(t, client)
	cluster.Submit(t, client, cluster.Batch{Prefix: "late", Pods: all + nodeCount, Work: time.Hour})
	log.WaitBound(t, all)
	overdue := func(h *plugin.Hub) (pods, places int) {
		for _, s := range h.Snapshot() {
			pods, places = pods+s.Overdue, places+s.OverduePlaces
		}
		return pods, places
	}
	if pods, places := overdue(hub); pods != all || places != 0 {
		t.Errorf("got %d overdue pods and %d places on %d nodes", pods, places, nodeCount)
	}
	for node, pods := range log.Bindings().PerNode("late-") {
		if pods != each {
			t.Errorf("node %s: got %d overdue pods", node, pods)
		}
	}
	checkMarked(t, client, all)
	stop()

	restarted, _ := cluster.StartScheduler(t, kubeconfig, args, plugin.HubOptions{})
	cluster.WaitSignals(t, restarted, "fresh", nodeCount)
	// Nothing is bound before the scheduler has all pods, but the hub lists nodes earlier.
	cluster.Eventually(t, "the overdue pods are known after a restart", func() (bool, any) {
		pods, places := overdue(restarted)
		return pods == all && places == 0, [2]int{pods, places}
	})
	for uid := range log.Bindings() {
		removePod(t, client, string(uid))
		break
	}
	log.WaitBound(t, all+1)
	if pods, _ := overdue(restarted); pods != all {
		t.Errorf("got %d overdue pods after one was replaced", pods)
	}
}

// checkMarked expects so many pods with the condition, and as many events.
func checkMarked(t *testing.T, client kubernetes.Interface, want int) {
	t.Helper()
	pods, err := client.CoreV1().Pods(v1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	marked := 0
	for _, pod := range pods.Items {
		for _, c := range pod.Status.Conditions {
			if c.Type == "spazio-scheduler.github.io/overdue" && c.Status == v1.ConditionTrue && pod.Spec.NodeName != "" {
				marked++
			}
		}
	}
	if marked != want {
		t.Errorf("got %d marked pods, want %d", marked, want)
	}
	cluster.Eventually(t, "an event per pod", func() (bool, any) {
		events, err := client.EventsV1().Events(v1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		marked := map[string]bool{}
		for _, e := range events.Items {
			if e.Reason == "OverdueAdmission" {
				marked[e.Regarding.Name] = true
			}
		}
		return len(marked) == want, marked
	})
}

func removePod(t *testing.T, client kubernetes.Interface, uid string) {
	t.Helper()
	pods, err := client.CoreV1().Pods(v1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if string(pod.UID) != uid {
			continue
		}
		if err := client.CoreV1().Pods(pod.Namespace).Delete(context.Background(), pod.Name, *metav1.NewDeleteOptions(0)); err != nil {
			t.Fatal(err)
		}
	}
}
