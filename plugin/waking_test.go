package plugin_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/reserve"
)

// withoutRetry returns a setup in which neither the slow retry nor a stale signal wakes a pod.
func withoutRetry(nodes int) setup {
	hour := metav1.Duration{Duration: time.Hour}
	return setup{nodes: nodes, args: plugin.SpazioArgs{RetryPeriod: hour, MaxAge: hour}}
}

// still returns such a setup with a clock that only the test advances: a slot that is reserved for
// an absent pod goes to no other meanwhile.
func still(nodes int) (setup, *clock) {
	s, clock := withoutRetry(nodes), newClock()
	s.options.Now = clock.Now
	return s, clock
}

// refuse tries pods and expects each to be refused.
func (c *cluster) refuse(pods ...*v1.Pod) {
	c.t.Helper()
	c.arrive(pods...)
	for _, pod := range pods {
		if node, status := c.schedule(pod, c.infos); status.IsSuccess() {
			c.t.Fatalf("%s found room on %s", pod.Name, node)
		}
	}
}

func TestMoreRoomWakesTheHighestPriorities(t *testing.T) {
	setup, clock := still(2)
	c := newCluster(t, setup)
	client := c.dial()
	s := c.open(client, nodeName(0))
	s.settle(agent.Report{Avail: 0})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 0})
	c.refuse(newPod(0), newPod(1, withPriority(5)), newPod(2, withPriority(9)), newPod(3, withPriority(5)), newPod(4))
	s.settle(agent.Report{Avail: 2})
	c.eventually("two pods are woken", func() bool { return len(c.peek()) >= 2 })
	if diff := cmp.Diff(map[string]bool{"pod-2": true, "pod-1": true}, c.woken()); diff != "" {
		t.Fatalf("woken (-want +got):\n%s", diff)
	}
	// They take the slots: no other pod is woken for them.
	for _, i := range []int{2, 1} {
		if _, status := c.schedule(newPod(i), c.infos); !status.IsSuccess() {
			t.Fatalf("pod %d: %v", i, status)
		}
	}
	c.woken()
	clock.advance(150 * time.Millisecond)
	time.Sleep(150 * time.Millisecond)
	if got := c.woken(); len(got) > 0 {
		t.Errorf("woken without a slot: %v", got)
	}
	// A failed bind releases its slot.
	c.Unreserve(context.Background(), &cycleState{}, newPod(2), nodeName(0))
	c.eventually("the next pod is woken", func() bool { return c.peek()["pod-3"] })
}

func TestSlowStartHeadroomWakes(t *testing.T) {
	setup, _ := still(1)
	c := newCluster(t, setup)
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 10})
	for i := range 2 {
		if _, status := c.schedule(newPod(i), c.infos); !status.IsSuccess() {
			t.Fatal(status)
		}
	}
	c.refuse(newPod(2), newPod(3), newPod(4), newPod(5))
	// The confirmation lowers avail by the pods in flight: free room stays the same, but slow start
	// admits 2 + 2/2 more.
	s.settle(agent.Report{Avail: 8, Pods: keys(0, 2)})
	c.eventually("three pods are woken", func() bool { return len(c.peek()) >= 3 })
	if diff := cmp.Diff(map[string]bool{"pod-2": true, "pod-3": true, "pod-4": true}, c.woken()); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
}

func TestDeletionWakes(t *testing.T) {
	c := newCluster(t, withoutRetry(1))
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 1})
	bound := newPod(0, onNode(nodeName(0)))
	c.create(bound)
	c.eventually("the pod is in flight", func() bool { return c.state(nodeName(0)).InFlight == 1 })
	c.refuse(newPod(1))
	c.delete(bound)
	c.eventually("the waiting pod is woken", func() bool { return c.peek()["pod-1"] })
}

// TestEndWakes: an ended pod is no longer in flight.
func TestEndWakes(t *testing.T) {
	c := newCluster(t, withoutRetry(1))
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 1})
	bound := newPod(0, onNode(nodeName(0)))
	c.create(bound)
	c.eventually("the pod is in flight", func() bool { return c.state(nodeName(0)).InFlight == 1 })
	c.refuse(newPod(1))
	ended := bound.DeepCopy()
	ended.Status.Phase = v1.PodSucceeded
	c.update(ended)
	c.eventually("the waiting pod is woken", func() bool { return c.peek()["pod-1"] })
}

// TestStalledPodWakes: a pod with an image pull error no longer counts against slow start.
func TestStalledPodWakes(t *testing.T) {
	c := newCluster(t, withoutRetry(1))
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 10})
	bound := []*v1.Pod{newPod(0, onNode(nodeName(0))), newPod(1, onNode(nodeName(0)))}
	c.create(bound...)
	c.eventually("the pods are in flight", func() bool { return c.state(nodeName(0)).InFlight == 2 })
	c.refuse(newPod(2))
	stalled := bound[0].DeepCopy()
	stalled.Status.ContainerStatuses = []v1.ContainerStatus{{State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	c.update(stalled)
	c.eventually("the waiting pod is woken", func() bool { return c.peek()["pod-2"] })
}

// TestFailedBindsBackOff: after its n-th failed bind a pod is woken no sooner than 2ⁿ⁻¹ seconds later;
// meanwhile slots go to other pods.
func TestFailedBindsBackOff(t *testing.T) {
	clock := newClock()
	s := withoutRetry(1)
	s.options.Now = clock.Now
	c := newCluster(t, s)
	stream := c.open(c.dial(), nodeName(0))
	failing, witness := newPod(0, withPriority(9)), newPod(1)
	c.arrive(failing, witness)
	for i, backOff := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		stream.settle(agent.Report{Avail: 1})
		state, feasible, status := c.attempt(failing, c.infos)
		if len(feasible) == 0 {
			t.Fatal(status)
		}
		if status := c.Reserve(t.Context(), state, failing, nodeName(0)); !status.IsSuccess() {
			t.Fatal(status)
		}
		c.Unreserve(t.Context(), state, failing, nodeName(0))
		for _, step := range []struct {
			after time.Duration
			wakes string
		}{{backOff - 100*time.Millisecond, witness.Name}, {200 * time.Millisecond, failing.Name}} {
			clock.advance(step.after)
			stream.settle(agent.Report{Avail: 0})
			for _, pod := range []*v1.Pod{failing, witness} {
				if node, status := c.schedule(pod, c.infos); status.IsSuccess() {
					t.Fatalf("%s found room on %s", pod.Name, node)
				}
			}
			c.woken()
			stream.settle(agent.Report{Avail: 1})
			c.eventually("a pod is woken", func() bool { return len(c.peek()) > 0 })
			if diff := cmp.Diff(map[string]bool{step.wakes: true}, c.woken()); diff != "" {
				t.Fatalf("failure %d (-want +got):\n%s", i+1, diff)
			}
		}
	}
}

func TestRefusedPodLosesItsTurn(t *testing.T) {
	c := newCluster(t, withoutRetry(2))
	client := c.dial()
	s := c.open(client, nodeName(0))
	s.settle(agent.Report{Avail: 0})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 0})
	c.refuse(newPod(0, withPriority(3)), newPod(1, withPriority(2)), newPod(2))
	s.settle(agent.Report{Avail: 1})
	c.eventually("the first is woken", func() bool { return c.peek()["pod-0"] })
	// Another plugin refuses the first pod on that node.
	if _, feasible, _ := c.attempt(newPod(0, withPriority(3)), c.infos[1:]); len(feasible) > 0 {
		t.Fatal("node 1 has room")
	}
	c.eventually("the second is woken", func() bool { return c.peek()["pod-1"] })
	// The second never comes back to PreFilter.
	c.eventually("the third is woken", func() bool { return c.peek()["pod-2"] })
}

// TestMoreRoomDuringAnAttempt: the attempt sees the nodes as before the change, and the pod is refused
// one after it. kube-scheduler remembers an activation during an attempt and tries the pod again.
func TestMoreRoomDuringAnAttempt(t *testing.T) {
	c := newCluster(t, withoutRetry(2))
	client := c.dial()
	s := c.open(client, nodeName(0))
	s.settle(agent.Report{Avail: 0})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 1})
	pod, state := newPod(0), &cycleState{}
	c.arrive(pod)
	if _, status := c.PreFilter(context.Background(), state, pod, c.infos); !status.IsSuccess() {
		t.Fatal(status)
	}
	s.settle(agent.Report{Avail: 1})
	if status := c.Filter(context.Background(), state, pod, c.infos[0]); status.IsSuccess() {
		t.Error("the cycle saw a state newer than its own")
	}
	c.eventually("the pod is woken", func() bool { return c.peek()["pod-0"] })
}

// TestMoreRoomWakesPodsThatWaitForTheNode: a pod that other plugins keep off a node, so that Filter
// never runs for it, is not woken for that node's slots, however old the pod is and however often the
// node gains room; it is woken when a node that it can use does.
func TestMoreRoomWakesPodsThatWaitForTheNode(t *testing.T) {
	const older = 100
	setup, clock := still(3)
	c := newCluster(t, setup)
	client := c.dial()
	var streams []*stream
	for i := range 3 {
		streams = append(streams, c.open(client, nodeName(i)))
		streams[i].settle(agent.Report{Avail: 0})
	}
	attempt := func(pod *v1.Pod, infos ...fwk.NodeInfo) {
		t.Helper()
		if _, feasible, _ := c.attempt(pod, infos); len(feasible) > 0 {
			t.Fatalf("%s found room", pod.Name)
		}
	}
	for i := range older {
		elsewhere := newPod(i, selective, withPriority(7))
		c.arrive(elsewhere)
		attempt(elsewhere, c.infos[1], c.infos[2])
	}
	young := newPod(older, selective)
	c.arrive(young)
	attempt(young, c.infos...)
	for range 20 {
		clock.advance(time.Second)
		streams[0].settle(agent.Report{Avail: 1})
		c.eventually("the young pod is woken", func() bool { return c.peek()["pod-100"] })
		streams[0].settle(agent.Report{Avail: 0})
		attempt(young, c.infos...)
		if got := c.woken(); len(got) != 1 {
			t.Fatalf("woken for a node that they do not fit: %v", got)
		}
	}
	streams[2].settle(agent.Report{Avail: 2})
	c.eventually("the oldest are woken", func() bool { return len(c.peek()) >= 2 })
	if diff := cmp.Diff(map[string]bool{"pod-0": true, "pod-1": true}, c.woken()); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
}

// TestTaintsAreKnownWithoutAVisit: a full cluster refuses unconstrained pods at once; yet they are not
// woken for a node with a taint that they do not tolerate, until the taint is gone.
func TestTaintsAreKnownWithoutAVisit(t *testing.T) {
	taint := v1.Taint{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}
	for name, spoil := range map[string]func(*v1.NodeSpec){
		"taint":         func(s *v1.NodeSpec) { s.Taints = []v1.Taint{taint} },
		"unschedulable": func(s *v1.NodeSpec) { s.Unschedulable = true },
	} {
		t.Run(name, func(t *testing.T) {
			node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(0)}}
			spoil(&node.Spec)
			s := withoutRetry(0)
			s.objects = append(s.objects, node)
			c := newCluster(t, s)
			c.eventually("the node is known", func() bool { return c.state(node.Name).Node != "" })
			c.infos = []fwk.NodeInfo{nodeInfo{node: node}}
			stream := c.open(c.dial(), node.Name)
			stream.settle(agent.Report{Avail: 0})
			tolerant := newPod(1, func(p *v1.Pod) {
				p.Spec.Tolerations = []v1.Toleration{
					{Key: taint.Key, Operator: v1.TolerationOpExists},
					{Key: v1.TaintNodeUnschedulable, Operator: v1.TolerationOpExists},
				}
			})
			c.refuse(newPod(0, withPriority(9)), tolerant)
			stream.settle(agent.Report{Avail: 1})
			c.eventually("the tolerant pod is woken", func() bool { return c.peek()["pod-1"] })
			if c.peek()["pod-0"] {
				t.Error("a pod was woken for a node whose taint it does not tolerate")
			}
			clean := node.DeepCopy()
			clean.Spec = v1.NodeSpec{}
			if _, err := c.client.CoreV1().Nodes().Update(t.Context(), clean, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			c.eventually("the other is woken as well", func() bool { return c.peek()["pod-0"] })
		})
	}
}

// TestPodThatFoundRoomIsNotWoken: a pod that found room on every node, but that other plugins refused
// all, is not woken by more room. One that a node refused for room is.
func TestPodThatFoundRoomIsNotWoken(t *testing.T) {
	c := newCluster(t, withoutRetry(1))
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 1})
	content, refused := newPod(1, withPriority(9)), newPod(0)
	c.arrive(content)
	if _, status := c.PreFilter(t.Context(), &cycleState{}, content, c.infos); !status.IsSkip() {
		t.Fatalf("a node has no room: %v", status)
	}
	c.arrive(refused)
	// The first change may be granted during the attempt, before it is known what the pod waits for.
	// The second one ends all earlier rounds.
	for _, room := range []float64{1, 3} {
		c.woken()
		s.settle(agent.Report{Avail: 0})
		if _, status := c.schedule(refused, c.infos); status.IsSuccess() {
			t.Fatal("found room")
		}
		s.settle(agent.Report{Avail: room})
		c.eventually("the pod that was refused a node is woken", func() bool { return c.peek()["pod-0"] })
	}
	if c.peek()["pod-1"] {
		t.Error("a pod was woken for room although other plugins refused it")
	}
}

// TestNewNodeWakesAllPods: no attempt can have seen a new node, whatever node was in its place before.
func TestNewNodeWakesAllPods(t *testing.T) {
	c := newCluster(t, withoutRetry(2))
	client := c.dial()
	c.open(client, nodeName(0)).settle(agent.Report{Avail: 0})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 0})
	pod := newPod(0, selective)
	c.arrive(pod)
	if _, feasible, _ := c.attempt(pod, c.infos[:1]); len(feasible) > 0 {
		t.Fatal("found room")
	}
	if err := c.client.CoreV1().Nodes().Delete(t.Context(), nodeName(1), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the node is gone", func() bool { return c.state(nodeName(1)).Node == "" })
	for i := 2; i < 4; i++ { // the first takes the place of the removed one
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)}}
		if _, err := c.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.eventually("the node is known", func() bool { return c.state(nodeName(i)).Node != "" })
		s := c.open(client, nodeName(i))
		s.settle(agent.Report{Avail: 1})
		c.eventually("the pod is woken", func() bool { return c.woken()["pod-0"] })
		s.settle(agent.Report{Avail: 0})
		if _, feasible, _ := c.attempt(pod, c.infos[:1]); len(feasible) > 0 {
			t.Fatal("found room")
		}
	}
}

// TestDeletedPodsDoNotWait: neither a pod deleted while it waits, nor one deleted after it left the
// queue and before its attempt, when the plugin has already seen its deletion.
func TestDeletedPodsDoNotWait(t *testing.T) {
	c := newCluster(t, withoutRetry(1))
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 0})
	gone, living := newPod(0, withPriority(9)), newPod(1)
	c.refuse(gone, living)
	for i := range 10 {
		if _, status := c.schedule(newPod(100+i, withPriority(9)), c.infos); status.IsSuccess() {
			t.Fatal("found room")
		}
	}
	if got := c.hub.Waiting(); got != 2 {
		t.Errorf("%d pods waiting, want the two that the API knows", got)
	}
	c.delete(gone)
	c.eventually("the deleted pod is forgotten", func() bool { return c.hub.Waiting() == 1 })
	s.settle(agent.Report{Avail: 1})
	c.eventually("the living pod is woken", func() bool { return c.peek()["pod-1"] })
	if got := c.woken(); len(got) != 1 {
		t.Errorf("woken: %v", got)
	}
}

// TestOptingOutWakes: a waiting pod that becomes exempt is tried again and no longer waits.
func TestOptingOutWakes(t *testing.T) {
	for name, optOut := range map[string]func(*v1.Pod){
		"toleration": func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Key: optOutKey}} },
		"annotation": func(p *v1.Pod) { p.Annotations = map[string]string{optOutKey: "true"} },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, withoutRetry(1))
			c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 0})
			pod := newPod(0, func(p *v1.Pod) { p.Spec.SchedulerName = c.edge.ProfileName() })
			c.refuse(pod, newPod(1))
			exempt := pod.DeepCopy()
			optOut(exempt)
			c.update(exempt)
			c.eventually("the pod is woken", func() bool { return c.peek()["pod-0"] })
			if node, status := c.schedule(exempt, c.infos); node != nodeName(0) {
				t.Errorf("refused: %v", status)
			}
			if got := c.woken(); c.hub.Waiting() != 1 || got["pod-1"] {
				t.Errorf("%d pods waiting, woken %v, want the other one to wait", c.hub.Waiting(), got)
			}
		})
	}
}

// TestOptingOutLeavesOthersWaiting: a pod that becomes exempt changes nothing for another, of which the
// last attempt was.
func TestOptingOutLeavesOthersWaiting(t *testing.T) {
	c := newCluster(t, withoutRetry(1))
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 0})
	exempt := newPod(0, func(p *v1.Pod) { p.Spec.SchedulerName = c.edge.ProfileName() })
	c.refuse(exempt, newPod(1, tiedTo(nodeName(0))))
	exempt = exempt.DeepCopy()
	exempt.Annotations = map[string]string{optOutKey: "true"}
	c.update(exempt)
	c.eventually("the exempt pod is woken", func() bool { return c.woken()["pod-0"] })
	s.settle(agent.Report{Avail: 1})
	c.eventually("the other pod is woken", func() bool { return c.peek()["pod-1"] })
}

// TestExemptPodsTakeNoTurn: an exempt pod takes a slot of its own node, not a waiting pod's claim to
// another.
func TestExemptPodsTakeNoTurn(t *testing.T) {
	c := newCluster(t, withoutRetry(2))
	client := c.dial()
	s := c.open(client, nodeName(0))
	s.settle(agent.Report{Avail: 0})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 0})
	controller := true
	daemon := func(i int) *v1.Pod {
		return newPod(i, withPriority(1e9), tiedTo(nodeName(1)), func(p *v1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: &controller}}
		})
	}
	c.refuse(newPod(0))
	for i := 1; i < 10; i++ {
		s.report(agent.Report{Avail: float64(i)})
		if _, status := c.schedule(daemon(i), c.infos[1:]); !status.IsSuccess() {
			t.Fatal(status)
		}
		c.eventually("the waiting pod is woken", func() bool { return c.woken()["pod-0"] })
		s.settle(agent.Report{Avail: 0})
		if _, status := c.schedule(newPod(0), c.infos[:1]); status.IsSuccess() {
			t.Fatal("found room")
		}
	}
}

// TestLostReservationIsTriedAgain: the node changed after the attempt had chosen it, no node gained
// room afterwards, and other nodes had room for the pod.
func TestLostReservationIsTriedAgain(t *testing.T) {
	c := newCluster(t, withoutRetry(2))
	client := c.dial()
	s := c.open(client, nodeName(0))
	s.settle(agent.Report{Avail: 1})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 1})
	pod := newPod(0, selective)
	c.arrive(pod)
	state, feasible, status := c.attempt(pod, c.infos)
	if len(feasible) != 2 {
		t.Fatal(status)
	}
	s.settle(agent.Report{Avail: 0})
	if status := c.Reserve(t.Context(), state, pod, nodeName(0)); status.IsSuccess() {
		t.Fatal("reserved without room")
	}
	c.Unreserve(t.Context(), state, pod, nodeName(0))
	c.eventually("the pod is woken", func() bool { return c.peek()["pod-0"] })
	if node, status := c.schedule(pod, c.infos); node != nodeName(1) {
		t.Errorf("got node %q: %v", node, status)
	}
}

// TestCyclesKeepTheirView: attempts of two profiles, or a dry run beside an attempt, do not mix: each
// keeps what it decided.
func TestCyclesKeepTheirView(t *testing.T) {
	untied := withoutRetry(2)
	untied.options.Random = func() float64 { return 0 }
	c := newCluster(t, untied)
	client := c.dial()
	s := c.open(client, nodeName(0))
	s.settle(agent.Report{Avail: 0})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 2})
	begin := func(i int) fwk.CycleState {
		t.Helper()
		state := &cycleState{}
		if _, status := c.PreFilter(t.Context(), state, newPod(i), c.infos); status.IsRejected() {
			t.Fatal(status)
		}
		return state
	}
	full := begin(0)
	s.settle(agent.Report{Avail: 1})
	open := begin(1)
	for _, test := range []struct {
		name  string
		state fwk.CycleState
		want  bool
	}{{"after the change", open, true}, {"before the change", full, false}, {"after the change, again", open, true}} {
		if got := c.Filter(t.Context(), test.state, newPod(0), c.infos[0]).IsSuccess(); got != test.want {
			t.Errorf("%s: room %v, want %v", test.name, got, test.want)
		}
	}
	// Nodes with room are ranked by their newest reports.
	score := func() int64 {
		score, status := c.Score(t.Context(), open, newPod(0), c.infos[0])
		if !status.IsSuccess() {
			t.Fatal(status)
		}
		return score
	}
	before := score()
	s.settle(agent.Report{Avail: 3})
	if after := score(); after != 3*before {
		t.Errorf("got score %d with room for one, %d with room for three", before, after)
	}
}

func TestSlowRetryCoversMissedChanges(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 2, options: plugin.HubOptions{Now: clock.Now},
		args: plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: time.Hour}}})
	client := c.dial()
	c.open(client, nodeName(0)).settle(agent.Report{Avail: 0})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 5})
	c.arrive(newPod(0))
	// Its attempt saw only the full node.
	if _, feasible, _ := c.attempt(newPod(0), c.infos[:1]); len(feasible) > 0 {
		t.Fatal("found room")
	}
	clock.advance(config.DefaultRetryPeriod)
	c.eventually("the pod is tried again", func() bool { return c.peek()["pod-0"] })
}

// TestSlowRetryIsBounded: of many pods that are due for it, few are woken at a time, and each is woken
// eventually.
func TestSlowRetryIsBounded(t *testing.T) {
	const pods, most = 40, 16
	var mu sync.Mutex
	var rounds []int
	woken := make(map[string]int)
	clock := newClock()
	s := setup{nodes: 2, options: plugin.HubOptions{Now: clock.Now}, args: plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: time.Hour}}}
	s.activate = func(pods map[string]*v1.Pod) {
		mu.Lock()
		defer mu.Unlock()
		rounds = append(rounds, len(pods))
		for _, pod := range pods {
			woken[pod.Name]++
		}
	}
	c := newCluster(t, s)
	client := c.dial()
	c.open(client, nodeName(0)).settle(agent.Report{Avail: 0})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 2 * pods, Allowance: 2 * pods})
	for i := range pods {
		pod := newPod(i, selective)
		c.arrive(pod)
		if _, feasible, _ := c.attempt(pod, c.infos[:1]); len(feasible) > 0 {
			t.Fatal("found room")
		}
	}
	clock.advance(config.DefaultRetryPeriod)
	c.eventually("all are tried again", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(woken) == pods
	})
	mu.Lock()
	defer mu.Unlock()
	for _, n := range rounds {
		if n > most {
			t.Errorf("%d pods were woken at once, want at most %d", n, most)
		}
	}
	for name, n := range woken {
		if n > 1 {
			t.Errorf("%s was woken %d times", name, n)
		}
	}
}

// queue models waking in kube-scheduler's queue: a failed pod waits until it is activated, and an
// activation during its attempt counts after it.
type queue struct {
	mu       sync.Mutex
	arrived  *sync.Cond
	active   []*v1.Pod
	idle     map[string]*v1.Pod
	inFlight string
	again    bool
	closed   bool
}

func newQueue() *queue {
	q := &queue{idle: make(map[string]*v1.Pod)}
	q.arrived = sync.NewCond(&q.mu)
	return q
}

func (q *queue) activate(pods map[string]*v1.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, pod := range pods {
		if idle := q.idle[pod.Name]; idle != nil {
			delete(q.idle, pod.Name)
			q.active = append(q.active, idle)
		} else if q.inFlight == pod.Name {
			q.again = true
		}
	}
	q.arrived.Signal()
}

func (q *queue) pop() *v1.Pod {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.active) == 0 && !q.closed {
		q.arrived.Wait()
	}
	if q.closed {
		return nil
	}
	pod := q.active[0]
	q.active = q.active[1:]
	q.inFlight, q.again = pod.Name, false
	return pod
}

// done ends an attempt; a failed pod waits, or goes to the back of the queue if it was activated
// meanwhile.
func (q *queue) done(pod *v1.Pod, scheduled bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inFlight = ""
	if scheduled {
		return
	}
	if q.again {
		q.active = append(q.active, pod)
	} else {
		q.idle[pod.Name] = pod
	}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.arrived.Broadcast()
}

// simulated is a node that runs pods and reports on them.
type simulated struct {
	*stream
	size    int
	mu      sync.Mutex
	running map[reserve.PodKey]*v1.Pod
	// held counts the pods placed on the node that have not ended.
	held int
}

func (n *simulated) hold(t *testing.T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.held++; n.held > n.size {
		t.Errorf("%s holds %d pods, has room for %d", n.node, n.held, n.size)
	}
}

func (n *simulated) drop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held--
}

func (n *simulated) send() {
	r := agent.Report{}
	for key := range n.running {
		r.Pods = append(r.Pods, key)
	}
	r.Avail = float64(n.size - len(n.running))
	n.report(r)
}

// TestNoPodIsForgotten runs a scheduler's loop against nodes that report and free slots at random
// moments, without slow retry, backoff or flush: a single lost wake-up would leave a pod behind. The
// nodes themselves count their pods, so that a wrong view of the plugin cannot hide an excess pod.
func TestNoPodIsForgotten(t *testing.T) {
	const pods, size, count = 400, 2, 6
	q := newQueue()
	s := withoutRetry(count)
	s.activate = q.activate
	c := newCluster(t, s)
	t.Cleanup(q.close)
	client := c.dial()
	nodes := make(map[string]*simulated)
	for i := range count {
		n := &simulated{stream: c.open(client, nodeName(i)), size: size, running: make(map[reserve.PodKey]*v1.Pod)}
		nodes[nodeName(i)] = n
		n.settle(agent.Report{Avail: size})
	}
	for i := range pods {
		pod := newPod(i)
		c.arrive(pod)
		q.active = append(q.active, pod)
	}
	var work sync.WaitGroup
	finish := func(n *simulated, pod *v1.Pod) {
		defer work.Done()
		time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond)
		n.mu.Lock()
		n.running[reserve.KeyOf(string(pod.UID))] = pod
		n.send()
		n.mu.Unlock()
		time.Sleep(time.Duration(rand.IntN(8000)) * time.Microsecond)
		n.mu.Lock()
		delete(n.running, reserve.KeyOf(string(pod.UID)))
		n.held--
		n.send()
		n.mu.Unlock()
		c.delete(pod)
	}
	placed := make(chan struct{}, pods)
	go func() {
		for pod := q.pop(); pod != nil; pod = q.pop() {
			name, status := c.schedule(pod, c.infos)
			if status.IsSuccess() {
				nodes[name].hold(t)
			}
			if status.IsSuccess() && rand.IntN(10) == 0 {
				// The bind failed; the scheduler tries again by itself.
				nodes[name].drop()
				c.Unreserve(context.Background(), &cycleState{}, pod, name)
				q.done(pod, true)
				q.mu.Lock()
				q.active = append(q.active, pod)
				q.mu.Unlock()
				continue
			}
			q.done(pod, status.IsSuccess())
			if status.IsSuccess() {
				bound := pod.DeepCopy()
				bound.Spec.NodeName = name
				c.update(bound)
				c.PostBind(context.Background(), &cycleState{}, bound, name)
				work.Add(1)
				go finish(nodes[name], bound)
				placed <- struct{}{}
			}
		}
	}()
	for i := range pods {
		select {
		case <-placed:
		case <-time.After(5 * time.Minute):
			t.Fatalf("%d of %d pods placed, %d waiting; %+v", i, pods, c.hub.Waiting(), c.hub.Snapshot())
		}
	}
	work.Wait()
	c.eventually("the ledger is empty", func() bool {
		l := c.hub.Ledger()
		return l.Assumed+l.Bound+l.Confirmed == 0 && c.hub.Waiting() == 0
	})
}
