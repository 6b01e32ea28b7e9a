package failures

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/plugintest"
	"github.com/spazio-scheduler/spazio/reserve"
)

// A dead agent's node is treated by the policy once its last report is stale: by default it stays full
// for a while if it was, and otherwise gets no more than slow start admits. When the agent is back its
// reports count again.
func TestDeadAgent(t *testing.T) {
	const waiting, maxAge = cluster.Cores + 4, 2 * time.Minute
	client, kubeconfig := cluster.Connect(t)
	for _, c := range []struct {
		policy reserve.StalePolicy
		last   int // places in the agent's last report
		dead   int // pods placed while the agent is dead
	}{
		{policy: reserve.Neutral, last: 0, dead: 0},
		{policy: reserve.Neutral, last: 20, dead: cluster.Cores},
		{policy: reserve.Allow, last: 0, dead: waiting},
		{policy: reserve.Reject, last: 20, dead: 0},
	} {
		t.Run(fmt.Sprint(c.policy, c.last), func(t *testing.T) {
			var seen plugintest.Reservations
			var clock warped
			args := plugin.SpazioArgs{StalePolicy: c.policy.String(), MaxAge: metav1.Duration{Duration: maxAge}}
			hub, _ := cluster.StartScheduler(t, kubeconfig, args, plugin.HubOptions{Now: clock.now, OnReserve: seen.Observe})
			node := cluster.NewPlaceNodes(t, client, 1, c.last, hub.Addr().String())[0]
			cluster.WaitSignals(t, hub, "fresh", 1)
			log := cluster.Watch(t, client)

			node.KillAgent()
			clock.pass(t, hub, maxAge+time.Second, maxAge, 0)
			cluster.WaitSignals(t, hub, "stale", 1)
			cluster.Submit(t, client, cluster.Batch{Prefix: "dead", Pods: waiting, Startup: time.Hour})
			log.WaitBound(t, c.dead)
			cluster.Eventually(t, "the others wait", func() (bool, any) { return hub.Waiting() == waiting-c.dead, hub.Waiting() })
			if bound, _ := log.Counts(); bound != c.dead {
				t.Errorf("got %d pods bound while the agent was dead, want %d", bound, c.dead)
			}
			seen.Check(t, 0)
			if all, _ := seen.Counts(node.Name()); all > 0 {
				t.Errorf("got %d reservations by the signal of a dead agent", all)
			}
			cluster.CheckNothingLeft(t, client, hub)

			node.Set(4, false)
			node.StartAgent(t)
			cluster.WaitSignals(t, hub, "fresh", 1)
			cluster.Submit(t, client, cluster.Batch{Prefix: "back", Pods: 5, Work: 100 * time.Millisecond})
			log.WaitSucceeded(t, 5)
			seen.Check(t, 5)
			cluster.CheckNothingLeft(t, client, hub)
		})
	}
}

// warped is a clock that tests set forward while real time continues.
type warped struct{ ahead atomic.Int64 }

func (w *warped) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// pass sets the clock forward in steps of half the maximum age of reports; after each step the nodes
// with an agent report.
func (w *warped) pass(t *testing.T, hub *plugin.Hub, d, maxAge time.Duration, reporting int) {
	t.Helper()
	for step := maxAge / 2; d > 0; d -= step {
		w.ahead.Add(int64(min(d, step)))
		cluster.Eventually(t, "the nodes report", func() (bool, any) {
			fresh := 0
			for _, s := range hub.Snapshot() {
				if s.Signal == "fresh" && s.Age < min(d, step) {
					fresh++
				}
			}
			return fresh == reporting, fresh
		})
	}
}

// Nine nodes are full, and so was the tenth before it stopped reporting. It gets as many waiting pods
// as slow start admits on an empty node, and not at once, since it may still be full.
func TestSilentNode(t *testing.T) {
	const nodes, waiting, line, maxAge = 10, 500, cluster.Cores, 2 * time.Minute
	client, kubeconfig := cluster.Connect(t)
	var seen plugintest.Reservations
	var clock warped
	args := plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: maxAge}}
	hub, _ := cluster.StartScheduler(t, kubeconfig, args, plugin.HubOptions{Now: clock.now, OnReserve: seen.Observe})
	machines := cluster.NewPlaceNodes(t, client, nodes, 0, hub.Addr().String())
	silent := machines[nodes-1]
	silent.Set(3, true)
	cluster.WaitSignals(t, hub, "fresh", nodes)
	log := cluster.Watch(t, client)
	cluster.Submit(t, client, cluster.Batch{Prefix: "waiting", Pods: waiting, Startup: time.Hour})
	cluster.Eventually(t, "all pods wait", func() (bool, any) { return hub.Waiting() == waiting, hub.Waiting() })

	silent.KillAgent()
	bound := func(what string, want int) {
		t.Helper()
		log.WaitBound(t, want)
		cluster.Eventually(t, "the others wait", func() (bool, any) { return hub.Waiting() == waiting-want, hub.Waiting() })
		if got := log.Bindings().PerNode("waiting-"); len(got) > 1 || got[silent.Name()] != want {
			t.Errorf("%s: pods by node %v, want %d on %s", what, got, want, silent.Name())
		}
	}
	clock.pass(t, hub, maxAge+30*time.Second, maxAge, nodes-1)
	bound("saturated half a minute before it fell silent", 0)
	clock.pass(t, hub, time.Minute, maxAge, nodes-1)
	bound("no longer considered saturated", line)
	clock.pass(t, hub, 3*maxAge, maxAge, nodes-1)
	bound("silent for long", line)
	seen.Check(t, 0)
	if all, _ := seen.Counts(""); all > 0 {
		t.Errorf("got %d reservations by the signal of a full or silent node", all)
	}
}

// A hundred pods with a missing image, and as many pods without a kubelet's status as slow start
// admits, are on nodes with room. Three hours later a good pod is bound at once.
func TestPodsThatNeverStart(t *testing.T) {
	const nodes, room, bad, maxAge = 2, 100, 100, 2 * time.Hour
	const mute = nodes * cluster.Cores
	client, kubeconfig := cluster.Connect(t)
	var seen plugintest.Reservations
	var clock warped
	args := plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: maxAge}}
	hub, _ := cluster.StartScheduler(t, kubeconfig, args, plugin.HubOptions{Now: clock.now, OnReserve: seen.Observe})
	cluster.NewPlaceNodes(t, client, nodes, room, hub.Addr().String())
	cluster.WaitSignals(t, hub, "fresh", nodes)
	log := cluster.Watch(t, client)
	good := cluster.Batch{Prefix: "good", Pods: 1, Work: 100 * time.Millisecond}

	cluster.Submit(t, client, cluster.Batch{Prefix: "bad", Pods: bad, Startup: 24 * time.Hour})
	stalledPods := map[string]bool{}
	cluster.Eventually(t, "the bad pods are bound", func() (bool, any) {
		for _, b := range log.Bindings() {
			if !stalledPods[b.Pod] {
				stalledPods[b.Pod] = true
				stall(t, client, b.Pod)
			}
		}
		return len(stalledPods) == bad, len(stalledPods)
	})
	cluster.Submit(t, client, good)
	log.WaitSucceeded(t, 1)

	cluster.Submit(t, client, cluster.Batch{Prefix: "mute", Pods: mute, Startup: 24 * time.Hour})
	log.WaitBound(t, bad+1+mute)
	good.Prefix = "later"
	cluster.Submit(t, client, good)
	cluster.Eventually(t, "the good pod waits for those of which nothing is known", func() (bool, any) { return hub.Waiting() == 1, hub.Waiting() })
	clock.pass(t, hub, 3*time.Minute, maxAge, nodes)
	log.WaitSucceeded(t, 2)
	clock.pass(t, hub, 3*time.Hour, maxAge, nodes)
	good.Prefix = "much-later"
	begin := time.Now()
	cluster.Submit(t, client, good)
	log.WaitSucceeded(t, 3)
	t.Logf("three hours later a good pod of .1 s ran within %v", time.Since(begin))
	cluster.Eventually(t, "room is kept for those that did not start alone", func() (bool, any) {
		inFlight := 0.
		for _, s := range hub.Snapshot() {
			inFlight += s.InFlight
		}
		return inFlight == bad+mute, inFlight
	})
	seen.Check(t, bad+mute+3)
}

// stall writes the kubelet's status for an image that cannot be pulled, alternately for the pod's
// container and its init container.
func stall(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	waits := func(reason string) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
	}
	status := corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: waits("ImagePullBackOff")}
	if name[len(name)-1]%2 == 0 {
		status.InitContainerStatuses, status.ContainerStatuses = waits("ErrImagePull"), waits("PodInitializing")
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	if _, err := pods.Patch(t.Context(), name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// Without any agent, pods are placed as by the default profile, as many as slow start admits, however
// different the last reports were. Requests of a sixteenth of a node leave ties only between nodes with
// the same number of pods.
func TestAllAgentsDead(t *testing.T) {
	const nodes, each, maxAge = 10, 2, 2 * time.Minute
	client, kubeconfig := cluster.Connect(t)
	var seen plugintest.Reservations
	var clock warped
	args := plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: maxAge}}
	hub, _ := cluster.StartScheduler(t, kubeconfig, args, plugin.HubOptions{Now: clock.now, OnReserve: seen.Observe})
	machines := cluster.NewPlaceNodes(t, client, nodes, 0, hub.Addr().String())
	for i, n := range machines {
		n.Set(i*i-5, i%3 == 0)
	}
	cluster.WaitSignals(t, hub, "fresh", nodes)
	for _, n := range machines {
		n.KillAgent()
	}
	// No node counts as full any more.
	clock.pass(t, hub, 2*maxAge, maxAge, 0)
	cluster.WaitSignals(t, hub, "stale", nodes)

	log := cluster.Watch(t, client)
	placed := map[string]map[string]int{}
	for _, profile := range []string{service.DefaultProfile, service.SpazioProfile} {
		// The prefix separates the profiles' pods in the log, which keeps them all.
		cluster.Submit(t, client, cluster.Batch{Prefix: profile, Scheduler: profile, Pods: nodes * each, Cores: 2, Work: time.Hour})
		cluster.Eventually(t, "the pods of "+profile+" are bound", func() (bool, any) {
			placed[profile] = log.Bindings().PerNode(profile + "-")
			bound := 0
			for _, n := range placed[profile] {
				bound += n
			}
			return bound == nodes*each, bound
		})
		cluster.CheckNothingLeft(t, client, hub)
	}
	if diff := cmp.Diff(placed[service.DefaultProfile], placed[service.SpazioProfile]); diff != "" {
		t.Errorf("pods per node, default profile against Spazio without agents:\n%s", diff)
	}
	if all, _ := seen.Counts(""); all > 0 {
		t.Errorf("got %d reservations by the signals of dead agents", all)
	}
}

// Each answer of the API server comes a quarter of a second late, so that many pods are reserved, bound
// and running while the scheduler's view is older.
func TestSlowAPIServer(t *testing.T) {
	const pods = 80
	client, kubeconfig := cluster.Connect(t)
	_, slow := newLink(t, kubeconfig, 125*time.Millisecond)
	var seen plugintest.Reservations
	hub, _ := cluster.StartScheduler(t, slow, plugin.SpazioArgs{}, plugin.HubOptions{OnReserve: seen.Observe})
	nodes := cluster.NewPlaceNodes(t, client, 5, cluster.Places, hub.Addr().String())
	cluster.WaitSignals(t, hub, "fresh", len(nodes))
	log := cluster.Watch(t, client)
	begin := time.Now()
	cluster.Submit(t, client, cluster.Batch{Prefix: "slow", Pods: pods, Startup: 50 * time.Millisecond, Work: 300 * time.Millisecond})
	log.WaitSucceeded(t, pods)
	t.Logf("%d pods of .35 s through %d places in %v", pods, len(nodes)*cluster.Places, time.Since(begin))
	seen.Check(t, pods)
	cluster.CheckHeld(t, nodes)
	cluster.CheckNothingLeft(t, client, hub)
}

// Pods are deleted after Reserve, while their bind is in progress.
func TestPodsDeletedWhileReserved(t *testing.T) {
	const nodes, pods = 4, 8
	client, kubeconfig := cluster.Connect(t)
	way, held := newLink(t, kubeconfig, 0)
	var seen plugintest.Reservations
	hub, _ := cluster.StartScheduler(t, held, plugin.SpazioArgs{}, plugin.HubOptions{OnReserve: seen.Observe})
	machines := cluster.NewPlaceNodes(t, client, nodes, cluster.Places, hub.Addr().String())
	cluster.WaitSignals(t, hub, "fresh", nodes)
	log := cluster.Watch(t, client)

	way.hold()
	deleted, kept := cluster.Batch{Prefix: "deleted", Pods: pods / 2, Work: 100 * time.Millisecond}, cluster.Batch{Prefix: "kept", Pods: pods / 2, Work: 100 * time.Millisecond}
	cluster.Submit(t, client, deleted)
	cluster.Submit(t, client, kept)
	assumed := func(n int) {
		t.Helper()
		cluster.Eventually(t, "reservations", func() (bool, any) { c := hub.Ledger(); return c.Assumed == n, c })
	}
	assumed(pods)
	for i := range deleted.Pods {
		if err := client.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), deleted.Pod(i).Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	assumed(pods / 2)
	way.release()
	log.WaitSucceeded(t, pods/2)
	// Deleted pods must not use any room of their node.
	cluster.Submit(t, client, cluster.Batch{Prefix: "next", Pods: nodes * cluster.Places, Work: time.Second})
	log.WaitSucceeded(t, pods/2+nodes*cluster.Places)
	if bound := log.Bindings().PerNode(deleted.Prefix + "-"); len(bound) > 0 {
		t.Errorf("deleted pods were bound: %v", bound)
	}
	seen.Check(t, pods+nodes*cluster.Places)
	cluster.CheckHeld(t, machines)
	cluster.CheckNothingLeft(t, client, hub)
}

// A node is removed from the API in the middle of a batch, with pods on it and in flight, and recreated
// under its name. Its agent does not notice.
func TestNodeRecreated(t *testing.T) {
	const pods = 40
	client, kubeconfig := cluster.Connect(t)
	var seen plugintest.Reservations
	hub, _ := cluster.StartScheduler(t, kubeconfig, plugin.SpazioArgs{}, plugin.HubOptions{OnReserve: seen.Observe})
	nodes := cluster.NewPlaceNodes(t, client, 2, cluster.Places, hub.Addr().String())
	cluster.WaitSignals(t, hub, "fresh", 2)
	log := cluster.Watch(t, client)
	cluster.Submit(t, client, cluster.Batch{Prefix: "batch", Pods: pods, Startup: 50 * time.Millisecond, Work: 300 * time.Millisecond})
	log.WaitBound(t, pods/4)

	gone := nodes[0]
	if err := client.CoreV1().Nodes().Delete(t.Context(), gone.Name(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the node is forgotten", func() (bool, any) { return len(hub.Snapshot()) == 1, hub.Snapshot() })
	log.WaitBound(t, pods/2)
	_, before := seen.Counts(gone.Name())
	cluster.Register(t, client, gone.Name())
	cluster.WaitSignals(t, hub, "fresh", 2)
	log.WaitSucceeded(t, pods)
	cluster.Submit(t, client, cluster.Batch{Prefix: "after", Pods: 2 * cluster.Places, Work: time.Second})
	log.WaitSucceeded(t, pods+2*cluster.Places)
	if _, after := seen.Counts(gone.Name()); after == before {
		t.Errorf("the node got no pod after its return")
	}
	seen.Check(t, pods)
	cluster.CheckHeld(t, nodes)
	cluster.CheckNothingLeft(t, client, hub)
}

var pendingPods = flag.Int("pending", 500, "pods that wait for a single place in TestManyPendingPods")

// Places become free one at a time before a long queue: each goes to one pod, the first to the one of
// the highest priority, although that came last.
func TestManyPendingPods(t *testing.T) {
	client, kubeconfig := cluster.Connect(t)
	high := schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}
	if _, err := client.SchedulingV1().PriorityClasses().Create(t.Context(), &high, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.SchedulingV1().PriorityClasses().Delete(context.Background(), high.Name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete the priority class: %v", err)
		}
	})
	var seen plugintest.Reservations
	hub, _ := cluster.StartScheduler(t, kubeconfig, plugin.SpazioArgs{}, plugin.HubOptions{OnReserve: seen.Observe})
	nodes := cluster.NewPlaceNodes(t, client, 3, 0, hub.Addr().String())
	cluster.WaitSignals(t, hub, "fresh", len(nodes))
	log := cluster.Watch(t, client)
	begin := time.Now()
	cluster.Submit(t, client, cluster.Batch{Prefix: "pending", Pods: *pendingPods, Work: time.Hour})
	cluster.Submit(t, client, cluster.Batch{Prefix: "urgent", Pods: 1, Work: time.Hour, PriorityClass: high.Name})
	cluster.Eventually(t, "all pods wait", func() (bool, any) { return hub.Waiting() == *pendingPods+1, hub.Waiting() })
	t.Logf("%d pods were created and refused in %v", *pendingPods+1, time.Since(begin))

	for i := range 2 * len(nodes) {
		node := nodes[i%len(nodes)]
		begin := time.Now()
		node.Set(1+i/len(nodes), false)
		log.WaitBound(t, i+1)
		t.Logf("place %d was given away within %v", i+1, time.Since(begin))
		if urgent := log.Bindings().PerNode("urgent-"); urgent[nodes[0].Name()] != 1 {
			t.Errorf("place %d: got urgent pods by node %v, want the first place's", i+1, urgent)
		}
		if all, _ := seen.Counts(""); all != i+1 {
			t.Errorf("got %[2]d reservations for %[1]d places", i+1, all)
		}
	}
	seen.Check(t, 2*len(nodes))
	cluster.CheckHeld(t, nodes)
	cluster.CheckNothingLeft(t, client, hub)
}
