package plugin_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// steps returns a pod's steps from Explain.
func (c *cluster) steps(pod string) []plugin.Step {
	c.t.Helper()
	e, err := c.hub.Explain(pod)
	if err != nil {
		c.t.Fatal(err)
	}
	return e.Steps
}

// waitStep waits until a pod has reached a step.
func (c *cluster) waitStep(pod, name string) {
	c.t.Helper()
	c.eventually(pod+" is "+name, func() bool { return c.hasStep(pod, name, func(plugin.Step) bool { return true }) })
}

// waitSeen waits until the scheduler itself has recorded a step of a pod: the API may show it earlier,
// in whole seconds.
func (c *cluster) waitSeen(pod, name string) {
	c.t.Helper()
	c.eventually(pod+" is seen "+name, func() bool {
		return c.hasStep(pod, name, func(s plugin.Step) bool { return s.At != nil && !s.WholeSeconds })
	})
}

func (c *cluster) hasStep(pod, name string, is func(plugin.Step) bool) bool {
	c.t.Helper()
	return slices.ContainsFunc(c.steps(pod), func(s plugin.Step) bool { return s.Name == name && is(s) })
}

// TestTimeline follows a pod from its creation through attempts that fail for different reasons, a lost
// node and a failed bind to its end.
func TestTimeline(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 2, options: plugin.HubOptions{Now: clock.Now}, args: plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: time.Hour}}})
	client, began := c.dial(), clock.Now()
	first, second := c.open(client, nodeName(0)), c.open(client, nodeName(1))
	at := func(seconds float64) *time.Time {
		x := began.Add(time.Duration(seconds * float64(time.Second)))
		return &x
	}
	clock.advance(10250 * time.Millisecond)
	pod := newPod(0, ours, func(p *v1.Pod) { p.CreationTimestamp = metav1.NewTime(*at(10)) })
	c.arrive(pod)
	want := []plugin.Step{{Name: "created", At: at(10), WholeSeconds: true}}
	check := func(when string) {
		t.Helper()
		if diff := cmp.Diff(want, c.steps("default/pod-0")); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", when, diff)
		}
	}
	check("created")

	first.settle(agent.Report{Avail: 0})
	second.settle(agent.Report{Avail: 2, Saturated: true})
	refuse := func() {
		t.Helper()
		if node, status := c.schedule(pod, c.infos); node != "" {
			t.Fatalf("on %s: %v", node, status)
		}
	}
	refuse()
	clock.advance(time.Second)
	second.settle(agent.Report{Avail: 0})
	refuse()
	tries := &plugin.Tries{Count: 2, Last: *at(11.25), Refusals: []plugin.RefusalClass{{Reason: "saturated", Tries: 1, Nodes: 1}, {Reason: "no room", Tries: 2, Nodes: 2}}}
	want = append(want, plugin.Step{Name: "tried", At: at(10.25), Tries: tries})
	check("refused twice")

	// A node that had room has none at the reservation.
	clock.advance(time.Second)
	second.settle(agent.Report{Avail: 1})
	state, feasible, status := c.attempt(pod, c.infos)
	if len(feasible) != 1 {
		t.Fatal(status)
	}
	second.settle(agent.Report{Avail: 0})
	if status := c.Reserve(t.Context(), state, pod, nodeName(1)); status.IsSuccess() {
		t.Fatal("reserved without room")
	}
	*tries = plugin.Tries{Count: 3, Last: *at(12.25), Lost: 1, Refusals: []plugin.RefusalClass{{Reason: "saturated", Tries: 1, Nodes: 1}, {Reason: "no room", Tries: 3, Nodes: 1}}}
	check("lost the node")

	// A bind fails.
	clock.advance(time.Second)
	first.settle(agent.Report{Avail: 1})
	if node, status := c.schedule(pod, c.infos); node != nodeName(0) {
		t.Fatal(node, status)
	}
	want = append(want, plugin.Step{Name: "reserved", At: at(13.25), Node: nodeName(0)})
	tries.Count, tries.Last, tries.Refusals[1].Tries = 4, *at(13.25), 4
	check("reserved")
	c.Unreserve(t.Context(), &cycleState{}, pod, nodeName(0))
	want, tries.Returned = want[:2], 1
	check("returned")

	// The next one works.
	clock.advance(time.Second)
	if node, status := c.schedule(pod, c.infos); node != nodeName(0) {
		t.Fatal(node, status)
	}
	tries.Count, tries.Last, tries.Refusals[1].Tries = 5, *at(14.25), 5
	clock.advance(time.Second)
	c.PostBind(t.Context(), &cycleState{}, pod, nodeName(0))
	clock.advance(time.Second)
	bound := newPod(0, ours, onNode(nodeName(0)), func(p *v1.Pod) { p.CreationTimestamp = pod.CreationTimestamp })
	c.update(bound)
	c.waitStep("default/pod-0", "bound")
	want = append(want,
		plugin.Step{Name: "reserved", At: at(14.25), Node: nodeName(0)},
		plugin.Step{Name: "bound", At: at(15.25), Node: nodeName(0)})
	check("bound")

	clock.advance(time.Second)
	first.settle(agent.Report{Avail: 0, Pods: []reserve.PodKey{keyOf(0)}})
	want = append(want, plugin.Step{Name: "listed", At: at(17.25), Node: nodeName(0)})
	check("listed")
	// It is listed once, whatever happens in between.
	clock.advance(time.Second)
	first.settle(agent.Report{Avail: 0})
	first.settle(agent.Report{Avail: .5, Pods: []reserve.PodKey{keyOf(0)}})
	check("listed again")

	ended := bound.DeepCopy()
	ended.Status.Phase = v1.PodFailed
	ended.Status.ContainerStatuses = []v1.ContainerStatus{containerOf(*at(17), *at(20)), containerOf(*at(18), *at(30))}
	c.update(ended)
	c.waitStep("default/pod-0", "ended")
	want = append(want,
		plugin.Step{Name: "started", At: at(17), WholeSeconds: true},
		plugin.Step{Name: "ended", At: at(30), WholeSeconds: true, Phase: "Failed"})
	check("ended")
}

// TestBoundWhenListed: a node may list a pod before the scheduler learns that its bind succeeded. The
// pod was bound by then.
func TestBoundWhenListed(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Now: clock.Now}})
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 1})
	pod := newPod(0, ours)
	c.arrive(pod)
	if node, status := c.schedule(pod, c.infos); node == "" {
		t.Fatal(status)
	}
	clock.advance(time.Second)
	listed := clock.Now()
	s.settle(agent.Report{Avail: 0, Pods: []reserve.PodKey{keyOf(0)}})
	clock.advance(time.Second)
	c.PostBind(t.Context(), &cycleState{}, pod, nodeName(0))
	c.update(newPod(0, ours, onNode(nodeName(0))))
	c.waitStep("default/pod-0", "bound")
	want := []plugin.Step{{Name: "bound", At: &listed, Node: nodeName(0)}, {Name: "listed", At: &listed, Node: nodeName(0)}}
	if diff := cmp.Diff(want, c.steps("default/pod-0")[3:]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// containerOf returns a container that has run.
func containerOf(from, to time.Time) v1.ContainerStatus {
	return v1.ContainerStatus{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{StartedAt: metav1.NewTime(from), FinishedAt: metav1.NewTime(to)}}}
}

// TestTimelineOfOthers: pods that this scheduler did not place, and those bound before it started, have
// the steps from the API and the agents.
func TestTimelineOfOthers(t *testing.T) {
	clock := newClock()
	created, scheduled := metav1.NewTime(clock.Now().Add(-time.Minute)), metav1.NewTime(clock.Now().Add(-50*time.Second))
	old := func(p *v1.Pod) {
		p.CreationTimestamp = created
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: scheduled}}
	}
	before := newPod(0, onNode(nodeName(0)), old)
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Now: clock.Now}, objects: []runtime.Object{before}})
	s := c.open(c.dial(), nodeName(0))
	clock.advance(time.Second)
	foreign := newPod(1, old)
	c.arrive(foreign)
	c.update(newPod(1, onNode(nodeName(0)), old))
	c.waitSeen("default/pod-1", "bound")
	boundAt, listedAt := clock.Now(), clock.Now().Add(time.Second)
	clock.advance(time.Second)
	s.settle(agent.Report{Avail: 1, Pods: []reserve.PodKey{keyOf(0), keyOf(1)}})
	creation := plugin.Step{Name: "created", At: &created.Time, WholeSeconds: true}
	for pod, want := range map[string][]plugin.Step{
		// An earlier scheduler may have seen when it was listed.
		"default/pod-0": {creation, {Name: "bound", At: &scheduled.Time, WholeSeconds: true, Node: nodeName(0)}, {Name: "listed", Node: nodeName(0)}},
		"default/pod-1": {creation, {Name: "bound", At: &boundAt, Node: nodeName(0)}, {Name: "listed", At: &listedAt, Node: nodeName(0)}},
	} {
		if diff := cmp.Diff(want, c.steps(pod)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pod, diff)
		}
	}
}

// TestTimelinesAreForgotten: the newest ended pods are remembered up to a bound, running pods all, and
// deleted pods not at all, however they were deleted.
func TestTimelinesAreForgotten(t *testing.T) {
	const ended, kept = 1100, 1024
	c := newCluster(t, setup{nodes: 1})
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 1})
	tried := func(i int) bool {
		for _, s := range c.steps(fmt.Sprint("default/pod-", i)) {
			if s.Name == "tried" {
				return true
			}
		}
		return false
	}
	try := func(pod *v1.Pod) {
		if _, _, status := c.attempt(pod, c.infos); status.Code() != 0 {
			t.Fatal(status)
		}
	}
	runs := newPod(ended, ours)
	c.arrive(runs)
	try(runs)
	pods := make([]*v1.Pod, ended)
	for i := range pods {
		pods[i] = newPod(i, ours)
	}
	c.arrive(pods...)
	for i, pod := range pods {
		try(pod)
		c.update(newPod(i, ours, func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }))
	}
	// The end of a pod is read from the API; its history follows.
	c.eventually("the last end was processed", func() bool { return !tried(ended - kept - 1) })
	if !tried(ended) {
		t.Error("a pod that has not ended is forgotten")
	}
	for i := range ended {
		if got, want := tried(i), i >= ended-kept; got != want {
			t.Fatalf("pod %d of %d: remembered %v, want %v", i, ended, got, want)
		}
	}

	// A pod that is deleted before its attempt leaves no history.
	histories := c.hub.Histories()
	placeholderLike := newPod(ended+1, ours)
	c.arrive(placeholderLike)
	c.delete(placeholderLike)
	c.eventually("the pod is gone", func() bool { _, err := c.pods.Pods("default").Get(placeholderLike.Name); return err != nil })
	c.attempt(placeholderLike, c.infos)
	if got := c.hub.Histories(); got != histories {
		t.Errorf("got %d histories after an attempt for a deleted pod, want %d", got, histories)
	}
	state := &cycleState{}
	c.Reserve(t.Context(), state, placeholderLike, nodeName(0))
	c.Unreserve(t.Context(), state, placeholderLike, nodeName(0))
	c.PostBind(t.Context(), state, placeholderLike, nodeName(0))
	c.delete(runs)
	c.eventually("the deleted ones are forgotten", func() bool { return c.hub.Histories() == histories-1 })
}

// TestLateReservations: a pod may be deleted during its reservation, and its ledger entry removed
// before the bind fails. It leaves no history either.
func TestLateReservations(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Now: clock.Now}})
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 1})
	pod := newPod(0, ours)
	c.arrive(pod)
	c.delete(pod)
	c.eventually("the pod is gone", func() bool { _, err := c.pods.Pods("default").Get(pod.Name); return err != nil })
	state := &cycleState{}
	if status := c.Reserve(t.Context(), state, pod, nodeName(0)); !status.IsSuccess() {
		t.Fatal(status)
	}
	clock.advance(15 * time.Minute)
	c.eventually("the reservation has expired", func() bool { return c.state(nodeName(0)).InFlight == 0 })
	c.Unreserve(t.Context(), state, pod, nodeName(0))
	if got := c.hub.Histories(); got != 0 {
		t.Errorf("got %d histories of a deleted pod", got)
	}
}

// TestPending: each pod without a node has a reason, whichever plugin refused it; a pod in flight no
// longer waits.
func TestPending(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 2, options: plugin.HubOptions{Now: clock.Now}})
	client := c.dial()
	c.open(client, nodeName(0)).settle(agent.Report{Avail: 1, Limiting: "cpu"})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 0, Limiting: "memory"})
	created := func(seconds int) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.CreationTimestamp = metav1.NewTime(clock.Now().Add(time.Duration(seconds) * time.Second))
		}
	}
	const taint = "0/2 nodes are available: 2 node(s) had untolerated taint(s)."
	tainted := func(p *v1.Pod) {
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Message: taint}}
	}
	flies, full, kept := newPod(0, ours, created(-9)), newPod(1, ours, created(-5), tainted), newPod(2, ours, created(-4), selective)
	c.arrive(flies, full, kept, newPod(3, created(-8), tainted), newPod(4, ours, created(-3)), newPod(7, created(-2), func(p *v1.Pod) { p.Spec.SchedulerName = "spatzio" }),
		newPod(5, created(-99), onNode("elsewhere")), newPod(6, created(-99), func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }))
	c.attempt(kept, c.infos) // other plugins keep it from the node with room
	if node, status := c.schedule(flies, c.infos); node == "" {
		t.Fatal(status)
	}
	if node, _ := c.schedule(full, c.infos); node != "" {
		t.Fatal("found room")
	}
	want := []plugin.PendingPod{
		{Namespace: "default", Name: "pod-3", Since: clock.Now().Add(-8 * time.Second), Reason: taint},
		{Namespace: "default", Name: "pod-1", Profile: "spazio", Since: clock.Now().Add(-5 * time.Second),
			Reason: "none of 2 nodes has room: 1 node(s) without room for another pod, shortest in cpu, 1 node(s) without room for another pod, shortest in memory"},
		{Namespace: "default", Name: "pod-2", Profile: "spazio", Since: clock.Now().Add(-4 * time.Second), Reason: "1 of 2 nodes admitted it when it was tried"},
		{Namespace: "default", Name: "pod-4", Profile: "spazio", Since: clock.Now().Add(-3 * time.Second), Reason: "not tried yet"},
		{Namespace: "default", Name: "pod-7", Profile: "spatzio", Since: clock.Now().Add(-2 * time.Second), Reason: "its schedulerName is spatzio: Spazio does not place it"},
	}
	got, total := c.hub.Pending(10)
	if diff := cmp.Diff(want, got); diff != "" || total != 5 {
		t.Errorf("%d (-want +got):\n%s", total, diff)
	}
	if got, total := c.hub.Pending(1); len(got) != 1 || got[0].Name != "pod-3" || total != 5 {
		t.Errorf("the oldest of %d: got %v", total, got)
	}
	if got, total := c.hub.Pending(-1); len(got) != 0 || total != 5 {
		t.Errorf("at most -1 of %d: got %v", total, got)
	}
	if got, total := plugin.NewHub(plugin.HubOptions{}).Pending(1); len(got) != 0 || total != 0 {
		t.Errorf("before New: got %v of %d", got, total)
	}
}
