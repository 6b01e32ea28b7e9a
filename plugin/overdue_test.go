package plugin_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/metrics/legacyregistry"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

const maxWait = 3 * time.Minute

// busyCluster returns a cluster of nodes with so many cores, each with a report that never becomes
// stale.
func busyCluster(t *testing.T, clock *clock, wait time.Duration, cores []int64, pods ...runtime.Object) (*cluster, []*stream) {
	s := setup{options: plugin.HubOptions{Now: clock.Now, Random: func() float64 { return 0 }}, objects: pods}
	s.args = plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: 24 * time.Hour}, MaxWait: &metav1.Duration{Duration: wait}}
	var infos []fwk.NodeInfo
	for i, n := range cores {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)}}
		node.Status.Capacity = v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(n, resource.DecimalSI)}
		s.objects, infos = append(s.objects, node), append(infos, nodeInfo{node: node})
	}
	c := newCluster(t, s)
	c.infos = infos
	c.eventually("all nodes are known", func() bool { return len(c.hub.Snapshot()) == len(cores) })
	var streams []*stream
	client := c.dial()
	for i := range cores {
		streams = append(streams, c.open(client, nodeName(i)))
	}
	return c, streams
}

// busy returns a report of a node whose CPU is full and whose memory holds so many more pods.
func busy(avail, memory float64, running ...reserve.PodKey) agent.Report {
	return agent.Report{
		Avail: avail, Saturated: true, Limiting: agent.CPU, Pods: running,
		Channels: []agent.ChannelReport{
			{Name: agent.CPU, Usage: 1, Cost: .25}, {Name: agent.Memory, Usage: .5, Cost: .5 / max(memory, .1)},
		},
	}
}

// refused tries a pod, expects a refusal, and waits until the plugin counts it as waiting for room.
func (c *cluster) refused(pods ...*v1.Pod) {
	c.t.Helper()
	for _, pod := range pods {
		if node, status := c.schedule(pod, c.infos); node != "" {
			c.t.Fatalf("%s: got node %s: %v", pod.Name, node, status)
		}
		c.eventually("the pod waits for room", func() bool {
			e, err := c.hub.Explain(string(pod.UID))
			return err == nil && e.RoomSince != nil
		})
	}
}

// last returns the status of results: Kubernetes 1.36 and later return another value before it.
func last(results ...any) *fwk.Status {
	status, _ := results[len(results)-1].(*fwk.Status)
	return status
}

// bind ends the cycle of a pod with a node, as the scheduler and the API do.
func (c *cluster) bind(state fwk.CycleState, pod *v1.Pod, node string) {
	c.t.Helper()
	ctx := context.Background()
	if status := last(c.PreBindPreFlight(ctx, state, pod, node)); status.IsSuccess() {
		if status := c.PreBind(ctx, state, pod, node); !status.IsSuccess() {
			c.t.Fatal(status.AsError())
		}
	} else if !status.IsSkip() {
		c.t.Fatal(status.AsError())
	}
	current, err := c.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	current.Spec.NodeName = node
	c.update(current)
	c.PostBind(ctx, state, pod, node)
}

// place runs a whole cycle, including the bind.
func (c *cluster) place(pod *v1.Pod) string {
	c.t.Helper()
	state, feasible, status := c.attempt(pod, c.infos)
	if len(feasible) == 0 {
		c.t.Fatalf("%s: %v", pod.Name, status.Reasons())
	}
	scores, err := c.scores(state, pod, feasible)
	if err != nil {
		c.t.Fatal(err)
	}
	best := slices.MaxFunc(slices.Sorted(maps.Keys(scores)), func(a, b string) int { return int(scores[a] - scores[b]) })
	if status := c.Reserve(context.Background(), state, pod, best); !status.IsSuccess() {
		c.t.Fatal(status.AsError())
	}
	c.bind(state, pod, best)
	return best
}

// An overdue pod whose image cannot be pulled does not block its node's place: the next one is
// admitted, and the one after it waits for that one's end.
func TestOverduePodThatNeverStarts(t *testing.T) {
	clock := newClock()
	c, streams := busyCluster(t, clock, maxWait, []int64{4})
	streams[0].settle(busy(-3, 10))
	pods := []*v1.Pod{newPod(0), newPod(1), newPod(2)}
	c.arrive(pods...)
	c.refused(pods...)
	clock.advance(maxWait)
	c.eventually("the first is woken", func() bool { return c.woken()["pod-0"] })
	c.place(pods[0])
	if _, feasible, _ := c.attempt(pods[1], c.infos); len(feasible) > 0 {
		t.Fatal("got two overdue pods on the node")
	}
	stalled, err := c.client.CoreV1().Pods(pods[0].Namespace).Get(t.Context(), pods[0].Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	waitingFor("ErrImageNeverPull", false)(stalled)
	c.update(stalled)
	c.eventually("the second is woken", func() bool { return c.woken()["pod-1"] })
	if node := c.place(pods[1]); node != nodeName(0) {
		t.Errorf("second pod: got node %q", node)
	}
	if s := c.state(nodeName(0)); s.Overdue != 1 || s.Stalled != 1 {
		t.Errorf("got %+v, want one overdue pod beside the stalled one", s)
	}
	if _, feasible, _ := c.attempt(pods[2], c.infos); len(feasible) > 0 {
		t.Error("the third did not wait")
	}
}

// A pod that was refused for lack of room for maxWait is woken and goes to the node with the most room,
// even if it is negative, and the next one to another node: a node with few cores takes one at a time,
// until it is gone.
func TestOverduePodsAreAdmitted(t *testing.T) {
	clock := newClock()
	c, streams := busyCluster(t, clock, maxWait, []int64{4, 4, 4})
	admissions := c.metric("spazio_overdue_admissions_total")
	streams[0].settle(busy(-3, 10))
	streams[1].settle(busy(-1, 10))
	streams[2].settle(busy(-9, .5)) // memory is full
	pods := []*v1.Pod{newPod(0), newPod(1, selective), newPod(2)}
	c.arrive(pods...)
	c.refused(pods...)
	clock.advance(maxWait - time.Second)
	c.eventually("gauges are up to date", func() bool {
		return c.metric("spazio_waiting_pods_for_room") == 3 && c.metric("spazio_room_wanted_pods") == 3
	})
	if woken := c.woken(); len(woken) > 0 {
		t.Errorf("woken before maxWait: %v", woken)
	}
	if _, feasible, _ := c.attempt(pods[0], c.infos); len(feasible) > 0 {
		t.Error("admitted before maxWait")
	}
	clock.advance(time.Second)
	c.eventually("as many pods are woken as there are places", func() bool { return len(c.peek()) == 2 })
	if diff := cmp.Diff(map[string]bool{"pod-0": true, "pod-1": true}, c.woken()); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
	e, err := c.hub.Explain("default/pod-0")
	if err != nil || !e.Overdue || e.OverdueSince == nil || clock.Now().Sub(*e.OverdueSince) > time.Minute {
		t.Errorf("got explanation %+v, %v", e, err)
	}
	if node := c.place(pods[0]); node != nodeName(1) {
		t.Errorf("first pod: got node %s, want the one with the most room", node)
	}
	if node := c.place(pods[1]); node != nodeName(0) {
		t.Errorf("second pod: got node %s", node)
	}
	if _, feasible, status := c.attempt(pods[2], c.infos); len(feasible) > 0 {
		t.Errorf("third pod: got feasible node %s", feasible[0].Node().Name)
	} else if !strings.Contains(strings.Join(status.Reasons(), " "), "saturated") {
		t.Errorf("third pod: got reasons %v", status.Reasons())
	}
	if n := c.metric("spazio_overdue_admissions_total") - admissions; n != 2 {
		t.Errorf("got %g counted admissions", n)
	}
	for range 2 {
		if event := <-c.events; !strings.Contains(event, "OverdueAdmission No node had measured room for 3m0s: bound to node-000") {
			t.Errorf("event %q", event)
		}
	}
	// It counts when a report lists it, too, and no longer when it is gone.
	streams[1].settle(busy(-1, 10, keyOf(0)))
	if s := c.state(nodeName(1)); s.Overdue != 1 || s.OverduePlaces != 0 {
		t.Errorf("node with a running overdue pod: got %+v", s)
	}
	c.woken()
	c.delete(pods[0])
	c.eventually("the third is woken when the first is gone", func() bool { return c.peek()["pod-2"] })
	if node := c.place(pods[2]); node != nodeName(1) {
		t.Errorf("third pod: got node %s", node)
	}
}

// Larger nodes take more at a time, but not more than slow start admits.
func TestOverduePodsOnLargeNodes(t *testing.T) {
	clock := newClock()
	c, streams := busyCluster(t, clock, maxWait, []int64{48})
	streams[0].settle(busy(-3, 100))
	var pods []*v1.Pod
	for i := range 5 {
		pods = append(pods, newPod(i))
	}
	c.arrive(pods...)
	c.refused(pods...)
	clock.advance(maxWait)
	// With one pod per core in flight, the slow-start limit, two places are free. The DaemonSet pods
	// come after the wait, since pods that do not start within two minutes no longer count against
	// slow start.
	daemons := make([]*v1.Pod, 46)
	for i := range daemons {
		daemons[i] = newPod(100+i, func(p *v1.Pod) { p.Annotations = map[string]string{optOutKey: "true"} })
	}
	c.arrive(daemons...)
	for _, pod := range daemons {
		if _, status := c.schedule(pod, c.infos); !status.IsSuccess() {
			t.Fatal(status.AsError())
		}
	}
	c.place(pods[0])
	c.place(pods[1])
	if node, _ := c.schedule(pods[2], c.infos); node != "" {
		t.Error("got a 49th pod in flight to 48 cores without a confirmed pod")
	}
	streams[0].settle(busy(-3, 100, keyOf(0), keyOf(1)))
	c.place(pods[2])
	if node, _ := c.schedule(pods[3], c.infos); node != "" {
		t.Error("got a fourth overdue pod on 48 cores")
	}
}

// Two schedulers' cycles, or two of one scheduler, may choose the same place.
func TestOverduePlaceIsTakenOnce(t *testing.T) {
	clock := newClock()
	c, streams := busyCluster(t, clock, maxWait, []int64{4})
	streams[0].settle(busy(-3, 10))
	pods := []*v1.Pod{newPod(0), newPod(1)}
	c.arrive(pods...)
	c.refused(pods...)
	clock.advance(maxWait)
	first, _, _ := c.attempt(pods[0], c.infos)
	second, _, _ := c.attempt(pods[1], c.infos)
	ctx := context.Background()
	if status := c.Reserve(ctx, first, pods[0], nodeName(0)); !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	if status := c.Reserve(ctx, second, pods[1], nodeName(0)); status.IsSuccess() {
		t.Error("the place was granted twice")
	}
	c.Unreserve(ctx, first, pods[0], nodeName(0))
	if got := c.state(nodeName(0)).OverduePlaces; got != 1 {
		t.Errorf("got %d places after the failed bind", got)
	}
	third, feasible, _ := c.attempt(pods[1], c.infos)
	if len(feasible) != 1 {
		t.Fatal("the place was not released")
	}
	streams[0].settle(agent.Report{Avail: 5})
	if status := c.Reserve(ctx, third, pods[1], nodeName(0)); !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	if status := last(c.PreBindPreFlight(ctx, third, pods[1], nodeName(0))); !status.IsSkip() {
		t.Error("a pod that found room is marked as overdue")
	}
}

// A node with room is preferred to any without, and the pod is then not overdue.
func TestOverduePodTakesRoomFirst(t *testing.T) {
	clock := newClock()
	c, streams := busyCluster(t, clock, maxWait, []int64{4, 4})
	streams[0].settle(busy(0, 10))
	streams[1].settle(busy(-3, 10))
	pod := newPod(0, selective)
	c.arrive(pod)
	c.refused(pod)
	clock.advance(maxWait)
	streams[1].settle(agent.Report{Avail: 1})
	if node := c.place(pod); node != nodeName(1) {
		t.Errorf("got node %s", node)
	}
	if s := c.state(nodeName(1)); s.Overdue != 0 {
		t.Errorf("a pod that found room counts as overdue: %+v", s)
	}
}

// A restarted scheduler learns from the API since when pods wait, and which were bound without room.
func TestOverdueSurvivesRestart(t *testing.T) {
	clock := newClock()
	waited := func(since time.Duration, kind v1.PodConditionType, status v1.ConditionStatus) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Status.Conditions = []v1.PodCondition{{
				Type: kind, Status: status, LastTransitionTime: metav1.NewTime(clock.Now().Add(-since)),
			}}
		}
	}
	const room = "spazio-scheduler.github.io/waits-for-room"
	there := newPod(9, onNode(nodeName(0)), func(p *v1.Pod) {
		p.Status.Conditions = []v1.PodCondition{{Type: plugin.OverdueCondition, Status: v1.ConditionTrue}}
	})
	old := newPod(0, waited(maxWait, room, v1.ConditionTrue))
	others := []*v1.Pod{
		newPod(1, waited(maxWait-time.Second, room, v1.ConditionTrue)),
		newPod(2, waited(time.Hour, v1.PodScheduled, v1.ConditionFalse)),
		newPod(3, waited(time.Hour, room, v1.ConditionFalse)),
		newPod(4),
	}
	c, streams := busyCluster(t, clock, maxWait, []int64{4, 4}, there, old)
	c.arrive(others...)
	streams[0].settle(busy(-1, 10, keyOf(9)))
	streams[1].settle(busy(-3, 10))
	if s := c.state(nodeName(0)); s.Overdue != 1 || s.OverduePlaces != 0 {
		t.Errorf("node with an overdue pod from before: got %+v", s)
	}
	if e, err := c.hub.Explain("default/pod-9"); err != nil || !e.Overdue {
		t.Errorf("got explanation %+v, %v", e, err)
	}
	for _, pod := range others {
		if _, feasible, _ := c.attempt(pod, c.infos); len(feasible) > 0 {
			t.Errorf("%s counts as overdue", pod.Name)
		}
	}
	if node := c.place(old); node != nodeName(1) {
		t.Errorf("got node %s", node)
	}
}

// Pods that other plugins refuse everywhere do not wait for room.
func TestRefusalsByOtherPluginsAreNoWait(t *testing.T) {
	clock := newClock()
	c, streams := busyCluster(t, clock, maxWait, []int64{4})
	streams[0].settle(busy(-3, 10))
	pod := newPod(0, selective)
	c.arrive(pod)
	c.refused(pod)
	clock.advance(maxWait / 2)
	c.attempt(pod, nil) // no node passes the earlier filters
	if _, feasible, _ := c.attempt(pod, c.infos); len(feasible) > 0 {
		t.Error("admitted early")
	}
	clock.advance(maxWait / 2)
	if _, feasible, _ := c.attempt(pod, c.infos); len(feasible) > 0 {
		t.Error("the time of refusals by other plugins counts as a wait for room")
	}
	clock.advance(maxWait / 2)
	c.eventually("it is woken", func() bool { return c.peek()["pod-0"] })
	c.place(pod)
}

func TestPodsMayWaitForEver(t *testing.T) {
	clock := newClock()
	c, streams := busyCluster(t, clock, 0, []int64{4})
	streams[0].settle(busy(-3, 10))
	pod := newPod(0)
	c.arrive(pod)
	c.schedule(pod, c.infos)
	clock.advance(23 * time.Hour)
	if node, _ := c.schedule(pod, c.infos); node != "" {
		t.Error("bound without room")
	}
	if places := c.state(nodeName(0)).OverduePlaces; places != 0 {
		t.Errorf("%d places", places)
	}
}

// A pod is not bound unless its overdue mark could be written.
func TestOverdueMark(t *testing.T) {
	clock := newClock()
	c, streams := busyCluster(t, clock, maxWait, []int64{4, 4})
	streams[0].settle(busy(-3, 10))
	pod := newPod(0)
	c.arrive(pod)
	c.refused(pod)
	clock.advance(maxWait)
	c.place(pod)
	got, err := c.client.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mark := conditionOf(t, got, "spazio-scheduler.github.io/overdue")
	want := v1.PodCondition{
		Type: "spazio-scheduler.github.io/overdue", Status: v1.ConditionTrue, Reason: "OverdueAdmission",
		Message: fmt.Sprintf("No node had measured room for %v", maxWait),
	}
	mark.LastTransitionTime = metav1.Time{}
	if diff := cmp.Diff(want, mark); diff != "" {
		t.Errorf("mark (-want +got):\n%s", diff)
	}
	if room := conditionOf(t, got, "spazio-scheduler.github.io/waits-for-room"); room.Status == v1.ConditionTrue {
		t.Errorf("pod with a node: got condition %+v", room)
	}
	missing := newPod(7)
	c.arrive(missing)
	c.refused(missing)
	clock.advance(maxWait)
	streams[1].settle(busy(-3, 10))
	state, feasible, status := c.attempt(missing, c.infos)
	if len(feasible) != 1 {
		t.Fatalf("got %d feasible nodes for the overdue pod: %v", len(feasible), status)
	}
	if status := c.Reserve(t.Context(), state, missing, nodeName(1)); !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	c.delete(missing)
	if status := c.PreBind(t.Context(), state, missing, nodeName(1)); status.IsSuccess() {
		t.Error("a deleted pod was marked")
	}
}

// conditionOf returns a pod's condition, the zero one if there is none.
func conditionOf(t *testing.T, pod *v1.Pod, kind v1.PodConditionType) v1.PodCondition {
	t.Helper()
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1.PodCondition{}
}

// TestWaitOutlivesTheScheduler: the start of a pod's wait for room is written into its status after a
// quarter of maxWait, so that the next leader admits it at the same time, whatever text either uses;
// the condition is cleared when the pod gets a node.
func TestWaitOutlivesTheScheduler(t *testing.T) {
	clock := newClock()
	c, streams := busyCluster(t, clock, maxWait, []int64{4})
	streams[0].settle(busy(-3, 10))
	pod := newPod(0)
	c.arrive(pod)
	began := clock.Now()
	c.refused(pod)
	room := func() v1.PodCondition {
		t.Helper()
		got, err := c.client.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return conditionOf(t, got, "spazio-scheduler.github.io/waits-for-room")
	}
	clock.advance(maxWait/4 - time.Second)
	time.Sleep(time.Second) // four inspections
	if got := room(); got != (v1.PodCondition{}) {
		t.Fatalf("marked early: %+v", got)
	}
	clock.advance(time.Second)
	c.eventually("the pod is marked", func() bool { return room().Status == v1.ConditionTrue })
	if got := room().LastTransitionTime.Time; got.Sub(began).Abs() > time.Second {
		t.Errorf("got wait since %v, want %v", got, began)
	}

	marked, err := c.client.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next, signals := busyCluster(t, clock, maxWait, []int64{4}, marked)
	signals[0].settle(busy(-3, 10))
	next.refused(marked)
	clock.advance(maxWait * 3 / 4)
	if node := next.place(marked); node != nodeName(0) {
		t.Errorf("next scheduler: got node %q", node)
	}

	streams[0].settle(agent.Report{Avail: 1})
	if node := c.place(pod); node != nodeName(0) {
		t.Fatalf("got node %q", node)
	}
	if got := room(); got.Status != v1.ConditionFalse {
		t.Errorf("pod with a node: got %+v", got)
	}
}

// metric returns the value of a series without labels.
func (c *cluster) metric(name string) float64 {
	c.t.Helper()
	w := httptest.NewRecorder()
	legacyregistry.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range strings.Split(w.Body.String(), "\n") {
		if text, found := strings.CutPrefix(line, name+" "); found {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				c.t.Fatal(err)
			}
			return value
		}
	}
	c.t.Fatalf("no metric %s", name)
	return 0
}
