package plugin_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
)

// ours sets the cluster's profile as the pod's scheduler.
func ours(p *v1.Pod) { p.Spec.SchedulerName = "spazio" }

func TestExplain(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 3, options: plugin.HubOptions{Now: clock.Now}})
	client := c.dial()
	c.open(client, nodeName(0)).settle(agent.Report{Avail: 4, Channels: []agent.ChannelReport{{Name: "cpu", Usage: .5, Capacity: .9, Cost: .1, CostSD: .01}}})
	second := c.open(client, nodeName(1))
	second.settle(agent.Report{Avail: 2})
	c.open(client, nodeName(2)).settle(agent.Report{Avail: 0, Limiting: "memory"})
	pod := newPod(0, ours)
	c.arrive(pod, newPod(1, ours), newPod(2, ours, func(p *v1.Pod) { p.Annotations = map[string]string{optOutKey: "true"} }),
		newPod(3, ours, onNode(nodeName(1)), func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }), newPod(4))
	explain := func(name string) plugin.Explanation {
		t.Helper()
		e, err := c.hub.Explain(name)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	scores := func(e plugin.Explanation) map[string]any {
		got := make(map[string]any)
		for _, n := range e.Nodes {
			got[n.Node] = n.Reason
			if n.Score != nil {
				got[n.Node] = *n.Score
			}
		}
		return got
	}
	before := explain("default/pod-0")
	if before.State != "new" || !before.Ours || before.Attempt != nil {
		t.Errorf("before the attempt: got %+v", before)
	}
	want := map[string]any{nodeName(0): int64(100), nodeName(1): int64(50), nodeName(2): "no room"}
	if diff := cmp.Diff(want, scores(before)); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	wantChannels := []plugin.ChannelState{{Name: "cpu", Usage: .5, Capacity: .9, Cost: .1, CostSD: .01}}
	if diff := cmp.Diff(wantChannels, before.Nodes[0].Channels); diff != "" {
		t.Errorf("channels (-want +got):\n%s", diff)
	}
	if node, status := c.schedule(pod, c.infos); node != nodeName(0) {
		t.Fatal(node, status)
	}
	after := explain(string(pod.UID))
	wantAttempt := &plugin.Attempt{At: clock.Now(), Nodes: 3, WithRoom: 2, Reserved: nodeName(0), Avail: new(4.),
		Refusals: []plugin.Refusal{{Nodes: 1, Message: "node(s) without room for another pod, shortest in memory"}}}
	if diff := cmp.Diff(wantAttempt, after.Attempt); diff != "" || after.State != "in flight" || after.Node != nodeName(0) {
		t.Errorf("%s on %s, attempt (-want +got):\n%s", after.State, after.Node, diff)
	}
	if _, feasible, _ := c.attempt(newPod(1, ours), c.infos[2:]); len(feasible) > 0 {
		t.Fatal("found room")
	}
	for name, want := range map[string]string{"default/pod-1": "waiting", "default/pod-2": "exempt",
		"default/pod-3": "ended", "default/pod-4": "exempt"} {
		if got := explain(name); got.State != want {
			t.Errorf("%s is %s, want %s", name, got.State, want)
		}
	}
	if _, err := c.hub.Explain("default/nobody"); !errors.Is(err, plugin.ErrUnknownPod) {
		t.Errorf("an unknown pod: %v", err)
	}
	if _, err := plugin.NewHub(plugin.HubOptions{}).Explain("default/pod-0"); !errors.Is(err, plugin.ErrNotStarted) {
		t.Errorf("before New: %v", err)
	}
}

// Refusals by other plugins appear in the pod's own condition.
func TestExplainShowsTheSchedulersMessage(t *testing.T) {
	const taint = "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
	scheduled := func(status v1.ConditionStatus, message string) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Status.Conditions = []v1.PodCondition{
				{Type: v1.PodReady, Status: v1.ConditionFalse, Message: "not ready"},
				{Type: v1.PodScheduled, Status: status, Message: message},
			}
		}
	}
	c := newCluster(t, setup{nodes: 1})
	c.arrive(newPod(0, ours), newPod(1, ours, scheduled(v1.ConditionFalse, taint)), newPod(2, ours, scheduled(v1.ConditionTrue, "was taken")))
	for name, want := range map[string]string{"default/pod-0": "", "default/pod-1": taint, "default/pod-2": ""} {
		e, err := c.hub.Explain(name)
		if err != nil || e.Unscheduled != want {
			t.Errorf("%s: %q, %v, want %q", name, e.Unscheduled, err, want)
		}
	}
}

func TestHandlerExplains(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 4})
	c.arrive(newPod(0, ours))
	get := func(pod string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		c.hub.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, plugin.DebugPath+"?pod="+url.QueryEscape(pod), nil))
		return w
	}
	w := get("default/pod-0")
	var got plugin.Explanation
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	want, err := c.hub.Explain("default/pod-0")
	if err != nil {
		t.Fatal(err)
	}
	ages := cmpopts.IgnoreTypes(time.Duration(0))
	if diff := cmp.Diff(want, got, ages); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w := get("default/other"); w.Code != http.StatusNotFound {
		t.Errorf("unknown pod: got %d %s", w.Code, w.Body)
	}
}

// TestExplainsNodes with their pods.
func TestExplainsNodes(t *testing.T) {
	c := newCluster(t, setup{nodes: 2})
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 4.5, Limiting: "cpu", Pods: keys(1, 2)})
	on := func(node int, phase v1.PodPhase) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Spec.NodeName, p.Status.Phase = nodeName(node), phase }
	}
	c.arrive(newPod(0, ours, on(0, v1.PodPending)), newPod(1, ours, on(0, v1.PodRunning)), newPod(2, ours, on(0, v1.PodSucceeded)), newPod(3, ours, on(1, v1.PodRunning)), newPod(4, ours))
	get := func(node string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		c.hub.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, plugin.DebugPath+"?node="+url.QueryEscape(node), nil))
		return w
	}
	w := get(nodeName(0))
	var got plugin.NodeExplanation
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	var pods []string
	for _, p := range got.Pods {
		pods = append(pods, p.Pod+" "+p.State+" "+string(p.Phase))
	}
	if diff := cmp.Diff([]string{"default/pod-0 in flight Pending", "default/pod-1 counted Running"}, pods); diff != "" || got.Avail != 4.5 || got.Node != nodeName(0) {
		t.Errorf("%+v (-want +got):\n%s", got, diff)
	}
	if w := get("nobody"); w.Code != http.StatusNotFound {
		t.Errorf("unknown node: got %d %s", w.Code, w.Body)
	}
	if _, err := plugin.NewHub(plugin.HubOptions{}).ExplainNode("a"); !errors.Is(err, plugin.ErrNotStarted) {
		t.Errorf("before the start: got error %v", err)
	}
}

func TestNode(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 4})
	if got, ok := c.hub.Node(nodeName(0)); !ok || got.Free != 4 {
		t.Errorf("%+v, %v", got, ok)
	}
	if got, ok := c.hub.Node("nobody"); ok {
		t.Errorf("an unknown node: %+v", got)
	}
}

// TestPlacedAreForgotten: the memory of placed pods is bounded.
func TestPlacedAreForgotten(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 4})
	c.arrive(newPod(0, ours))
	for i := range 2000 {
		if _, status := c.schedule(newPod(i), c.infos); !status.IsSuccess() {
			t.Fatal(status)
		}
		if e, err := c.hub.Explain("default/pod-0"); err != nil || (e.Attempt != nil) != (i < 1024) {
			t.Fatalf("after %d pods: attempt %+v, %v", i+1, e.Attempt, err)
		}
		c.Unreserve(t.Context(), &cycleState{}, newPod(i), nodeName(0))
	}
}

// TestRankedByMeasuredRoom: a node on which pods ended recently takes more of them, but ranks no higher
// than one with as much room and no ends.
func TestRankedByMeasuredRoom(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 4, options: plugin.HubOptions{Now: clock.Now, Random: func() float64 { return 0 }}})
	client := c.dial()
	reports := []agent.Report{{Avail: 12, Allowance: 8}, {Avail: 5}, {Avail: 8.5, Allowance: 8}, {Avail: 8, Allowance: 8}}
	for i, r := range reports {
		c.open(client, nodeName(i)).settle(r)
	}
	pod := newPod(0, ours)
	c.arrive(pod)
	// By 12 − 8 and 5 pods, and by a ninth of 8.5 and of 8, which are less than one of 8 + 1.
	want := map[string]int64{nodeName(0): 80, nodeName(1): 100, nodeName(2): 19, nodeName(3): 18}
	if diff := cmp.Diff(want, c.scored(t, pod, c.infos)); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	e, err := c.hub.Explain("default/pod-0")
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range e.Nodes {
		if n.Score == nil || *n.Score != want[n.Node] || n.Free != reports[i].Avail || n.Allowance != reports[i].Allowance {
			t.Errorf("%s: got explanation %+v, want score %d", n.Node, n, want[n.Node])
		}
	}
}

// TestExplainScoresStaleNodes by their last reports, if the policy allows them.
func TestExplainScoresStaleNodes(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 3, options: plugin.HubOptions{Now: clock.Now}, args: plugin.SpazioArgs{StalePolicy: "Allow"}})
	client := c.dial()
	c.open(client, nodeName(0)).settle(agent.Report{Avail: 8})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 2})
	c.pass(clock, time.Minute)
	c.arrive(newPod(0))
	e, err := c.hub.Explain("default/pod-0")
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, n := range e.Nodes {
		if n.Score == nil {
			t.Fatalf("%s is refused: %s", n.Node, n.Reason)
		}
		got = append(got, *n.Score)
	}
	// The node without a report scores the middle.
	if diff := cmp.Diff([]int64{100, 25, 62}, got); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}
