package relief

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/relief"
)

const (
	evicted     = `"msg":"Evicted pod","node":`
	wouldEvict  = `"msg":"Would evict pod"`
	notRelieved = `"msg":"Overcommitted node not relieved"`
	notEvicted  = `"msg":"Pod not evicted"`
)

// has returns how a line of the log has a value.
func has(key, value string) string { return fmt.Sprintf("%q:%q", key, value) }

// settle is how long a test looks whether something happens that should not: several times what it
// takes where it should.
const settle = 10 * sustained

// TestRelief: load rises on half of the nodes after their pods were placed. Each loses as many pods as
// it lacks places for, no more, and the replacements are bound elsewhere.
func TestRelief(t *testing.T) {
	const nodes, perNode, missing = 10, 3, 2
	r := newRig(t, nodes, 2*perNode)
	log := cluster.Watch(t, r.client)
	r.replicas(t, "web", nodes*perNode)
	r.deschedule(t, r.kubeconfig, sustained, false)
	old := map[types.UID]corev1.Pod{}
	for _, p := range r.pods(t, t.Context()) {
		old[p.UID] = p
	}
	hot := r.nodes[:nodes/2]
	want := 0
	for _, n := range hot {
		if on := r.on(t, n); on < missing {
			t.Fatalf("%s has %d pods", n.Name(), on)
		}
		r.heat(t, n, missing)
		want += missing
	}
	log.WaitBound(t, nodes*perNode+want)
	time.Sleep(settle)
	bound := log.Bindings()
	if len(bound) != nodes*perNode+want || r.logged(evicted) != want {
		t.Errorf("%d pods were bound and %d evicted, want %d and %d", len(bound), r.logged(evicted), nodes*perNode+want, want)
	}
	left := map[types.UID]bool{}
	var took []time.Duration
	for _, p := range r.pods(t, t.Context()) {
		left[p.UID] = true
		if _, was := old[p.UID]; was {
			continue
		}
		if slices.ContainsFunc(hot, func(n *cluster.PlaceNode) bool { return n.Name() == p.Spec.NodeName }) {
			t.Errorf("%s went to %s, which is too full", p.Name, p.Spec.NodeName)
		}
		took = append(took, bound[p.UID].At.Sub(p.CreationTimestamp.Time))
	}
	for uid, p := range old {
		if !left[uid] && !slices.ContainsFunc(hot, func(n *cluster.PlaceNode) bool { return n.Name() == p.Spec.NodeName }) {
			t.Errorf("%s was evicted from %s, which had room", p.Name, p.Spec.NodeName)
		}
	}
	for _, n := range hot {
		if on := r.on(t, n); on > n.Places.Places() {
			t.Errorf("%s has %d pods and %d places", n.Name(), on, n.Places.Places())
		}
	}
	slices.Sort(took)
	if len(took) != want {
		t.Fatalf("%d replacements, want %d", len(took), want)
	}
	t.Logf("%d replacements were bound within %v of their creation, which the API has in whole seconds; the median is %v", want, took[want-1], took[want/2])
}

// TestBudget: no pod is evicted whose disruption budget does not allow it, and one when it allows one.
func TestBudget(t *testing.T) {
	r := newRig(t, 2, 4)
	r.replicas(t, "web", 4)
	budgets := r.client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault)
	made, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := budgets.Delete(context.Background(), "web", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	r.deschedule(t, r.kubeconfig, sustained, false)
	r.heat(t, r.nodes[0], 2)
	r.waitLog(t, 0, notRelieved, "not evictable")
	time.Sleep(settle)
	if r.logged(evicted) > 0 {
		t.Error("a pod was evicted against its budget")
	}
	made.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: made.Generation, DisruptionsAllowed: 1, CurrentHealthy: 4, DesiredHealthy: 3, ExpectedPods: 4}
	if _, err := budgets.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.waitLog(t, 0, evicted)
	time.Sleep(settle)
	if n := r.logged(evicted); n != 1 {
		t.Errorf("%d pods were evicted, the budget allows 1", n)
	}
}

// TestDryRun: what would be evicted is logged once, and nothing is.
func TestDryRun(t *testing.T) {
	r := newRig(t, 2, 4)
	r.replicas(t, "web", 4)
	before := r.pods(t, t.Context())
	r.deschedule(t, r.kubeconfig, sustained, true)
	r.heat(t, r.nodes[0], 1)
	r.waitLog(t, 0, wouldEvict, has("node", r.nodes[0].Name()), has("target", r.nodes[1].Name()), `"room":-1`)
	time.Sleep(settle)
	if n := r.logged(wouldEvict); n != 1 {
		t.Errorf("logged %d times", n)
	}
	for i, p := range r.pods(t, t.Context()) {
		if p.UID != before[i].UID || p.DeletionTimestamp != nil {
			t.Errorf("%s was evicted", before[i].Name)
		}
	}
}

// TestNowhereToGo: a pod stays if no other node has room for it, and moves once one has.
func TestNowhereToGo(t *testing.T) {
	r := newRig(t, 2, 4)
	r.replicas(t, "web", 4)
	r.deschedule(t, r.kubeconfig, sustained, false)
	r.nodes[1].Set(r.on(t, r.nodes[1]), false)
	r.heat(t, r.nodes[0], 1)
	r.waitLog(t, 0, notRelieved, has("reason", relief.NoSet.String()), "no target")
	time.Sleep(settle)
	if r.logged(evicted) > 0 {
		t.Error("a pod was evicted that had nowhere to go")
	}
	r.nodes[1].Set(8, false)
	r.waitLog(t, 0, evicted)
	cluster.Eventually(t, "the replacement is bound", func() (bool, any) {
		on := r.on(t, r.nodes[1])
		return on+r.on(t, r.nodes[0]) == 4 && on >= 3, on
	})
}

// TestMinFreePods: a node without the room that the scheduler's arguments ask for takes no pod.
func TestMinFreePods(t *testing.T) {
	r := newRig(t, 2, 4)
	r.replicas(t, "web", 4)
	r.args.MinFreePods = 3
	r.deschedule(t, r.kubeconfig, sustained, false)
	r.nodes[1].Set(r.on(t, r.nodes[1])+2, false)
	r.heat(t, r.nodes[0], 1)
	r.waitLog(t, 0, notRelieved, "no target")
	time.Sleep(settle)
	if r.logged(evicted) > 0 {
		t.Error("a pod was evicted that the scheduler would not bind")
	}
	r.nodes[1].Set(r.on(t, r.nodes[1])+3, false)
	r.waitLog(t, 0, evicted)
}

// TestLimitIsNoRefusal: a pod that the policy's limit keeps stays the one that goes first, and the node
// is not left alone.
func TestLimitIsNoRefusal(t *testing.T) {
	r := newRig(t, 2, 4)
	r.replicas(t, "web", 4)
	r.limits = "maxNoOfPodsToEvictTotal: 0\n"
	r.deschedule(t, r.kubeconfig, sustained, false)
	r.heat(t, r.nodes[0], 1)
	r.waitLog(t, 0, notEvicted, "maximum number of evicted pods per a descheduling cycle")
	time.Sleep(settle)
	if n := r.logged(notEvicted); n != 1 || r.logged(notRelieved) > 0 {
		t.Errorf("logged %d times, want once", n)
	}
}

// TestRestart: a descheduler that was restarted forgets what it reserved. By the time that it evicts
// again it sees the replacement, so that the same room is not given twice.
func TestRestart(t *testing.T) {
	r := newRig(t, 3, 4)
	r.replicas(t, "web", 6)
	_, stop := r.deschedule(t, r.kubeconfig, sustained, false)
	// One place in the cluster, and two nodes that lack one each, one after the other.
	r.nodes[1].Set(r.on(t, r.nodes[1]), false)
	free := r.nodes[2]
	free.Set(r.on(t, free)+1, false)
	r.heat(t, r.nodes[0], 1)
	r.waitLog(t, 0, evicted)
	stop()
	r.heat(t, r.nodes[1], 1)
	r.deschedule(t, r.kubeconfig, 4*sustained, false)
	r.waitLog(t, 0, notRelieved, has("node", r.nodes[1].Name()), "no target")
	time.Sleep(settle)
	if n := r.logged(evicted); n != 1 {
		t.Errorf("%d pods were evicted for one place", n)
	}
}

// TestLeftAlone: a node that evictions do not help is left alone, and an event on it says so.
func TestLeftAlone(t *testing.T) {
	r := newRig(t, 2, 20)
	r.replicas(t, "web", 16)
	hot := r.nodes[0]
	r.deschedule(t, r.kubeconfig, sustained, false)
	r.heat(t, hot, 1)
	hot.Set(hot.Places.Places(), true) // a channel stays full, whatever ends
	cluster.Eventually(t, "an event on the node", func() (bool, any) {
		list, err := r.client.EventsV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool {
			return e.Reason == "NodeStaysOvercommitted" && e.Regarding.Name == hot.Name() && e.Type == corev1.EventTypeWarning
		}), len(list.Items)
	})
	time.Sleep(settle)
	if n := r.logged(evicted); n != 3 {
		t.Errorf("%d pods were evicted, want 3", n)
	}
}
