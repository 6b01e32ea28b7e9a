package plugin_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

func keys(from, to int) []reserve.PodKey {
	var out []reserve.PodKey
	for i := from; i < to; i++ {
		out = append(out, keyOf(i))
	}
	return out
}

func TestFilterReasons(t *testing.T) {
	// The other node has room, so that Filter runs for each node.
	c := newCluster(t, setup{nodes: 2})
	client := c.dial()
	s := c.open(client, nodeName(0))
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 5})
	for _, test := range []struct {
		name   string
		report agent.Report
		want   string
	}{
		{"room", agent.Report{Avail: 1}, ""},
		{"less than a pod", agent.Report{Avail: .99, Limiting: "memory"}, "node(s) without room for another pod, shortest in memory"},
		{"negative", agent.Report{Avail: -3}, "node(s) without room for another pod"},
		{"saturated", agent.Report{Avail: 5, Saturated: true, Limiting: "cpu"}, "node(s) saturated, shortest in cpu"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.settle(test.report)
			_, feasible, status := c.attempt(newPod(0), c.infos[:1])
			if got := status.Message(); got != test.want {
				t.Errorf("message %q, want %q", got, test.want)
			}
			if want := test.want == ""; (len(feasible) == 1) != want {
				t.Errorf("feasible %v, want %v", len(feasible) == 1, want)
			}
			if !status.IsSuccess() && status.Code() != fwk.UnschedulableAndUnresolvable {
				t.Errorf("got code %v, which makes a full node a candidate for preemption", status.Code())
			}
		})
	}
}

// TestFullClusterIsRefusedAtOnce: if no node has room none is visited, and the event counts the nodes
// as the scheduler would have.
func TestFullClusterIsRefusedAtOnce(t *testing.T) {
	c := newCluster(t, setup{nodes: 5})
	client := c.dial()
	for i, r := range []agent.Report{
		{Limiting: "memory"}, {Limiting: "cpu"}, {Avail: 3, Saturated: true, Limiting: "cpu"}, {Avail: -1, Limiting: "cpu"},
	} {
		c.open(client, nodeName(i)).settle(r)
	}
	result, status := c.PreFilter(t.Context(), &cycleState{}, newPod(0), c.infos)
	const want = "1 node(s) saturated, shortest in cpu, 1 node(s) without a current capacity report, " +
		"2 node(s) without room for another pod, shortest in cpu, 1 node(s) without room for another pod, shortest in memory"
	if result != nil || status.Code() != fwk.UnschedulableAndUnresolvable || status.Message() != want {
		t.Errorf("%v, code %v, message %q, want %q", result, status.Code(), status.Message(), want)
	}
}

// TestFewNodesWithRoomAreNamed: the framework need not visit other nodes. For a pod with constraints on
// its node it must, so that the plugin learns whether it alone refuses them.
func TestFewNodesWithRoomAreNamed(t *testing.T) {
	const nodes = 150
	c := newCluster(t, setup{nodes: nodes, args: plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: time.Hour}}})
	client := c.dial()
	for i := range nodes {
		// One after the other: at most 128 streams may be without a first report.
		c.open(client, nodeName(i)).settle(agent.Report{Avail: float64(i % 50 / 49 * 3)})
	}
	ctx := t.Context()
	result, status := c.PreFilter(ctx, &cycleState{}, newPod(0), c.infos)
	if !status.IsSuccess() {
		t.Fatal(status)
	}
	want := sets.New(nodeName(49), nodeName(99), nodeName(149))
	if diff := cmp.Diff(want, result.NodeNames); diff != "" {
		t.Errorf("named (-want +got):\n%s", diff)
	}
	state, choosy := &cycleState{}, newPod(1, selective)
	result, status = c.PreFilter(ctx, state, choosy, c.infos)
	if !status.IsSuccess() || !result.AllNodes() {
		t.Fatalf("with a selector: %v, %v, want all nodes", result, status)
	}
	for _, info := range c.infos {
		name := info.Node().Name
		if status := c.Filter(ctx, state, choosy, info); status.IsSuccess() != want.Has(name) {
			t.Errorf("%s: %v", name, status)
		}
	}
}

// TestStatusesAreNotShared: the framework writes into each status it gets, from several goroutines, and
// for the same node again in a dry run of preemption.
func TestStatusesAreNotShared(t *testing.T) {
	c := newCluster(t, setup{nodes: 8})
	client := c.dial()
	for i := range 7 {
		c.open(client, nodeName(i)).settle(agent.Report{Avail: 0})
	}
	c.open(client, nodeName(7)).settle(agent.Report{Avail: 1})
	state := &cycleState{}
	if _, status := c.PreFilter(t.Context(), state, newPod(0), c.infos); !status.IsSuccess() {
		t.Fatal(status)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	seen := make(map[*fwk.Status]bool)
	for range 3 {
		for _, info := range c.infos[:7] {
			wg.Go(func() {
				status := c.Filter(t.Context(), state, newPod(0), info)
				status.SetPlugin(plugin.Name)
				mu.Lock()
				defer mu.Unlock()
				if seen[status] || status.Message() != "node(s) without room for another pod" {
					t.Errorf("%p %q", status, status)
				}
				seen[status] = true
			})
		}
	}
	wg.Wait()
}

func TestSlowStartBoundsUnconfirmedPods(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 100})
	place := func(from int) int {
		n := from
		for ; n < 1000; n++ {
			if _, status := c.schedule(newPod(n), c.infos); !status.IsSuccess() {
				if !strings.Contains(status.Message(), "starting") {
					t.Fatalf("got refusal %q", status.Message())
				}
				break
			}
		}
		return n
	}
	if got := place(0); got != 2 {
		t.Fatalf("%d pods on an unconfirmed node, want 2", got)
	}
	s.settle(agent.Report{Avail: 98, Pods: keys(0, 2)})
	if got := place(2); got != 2+3 {
		t.Fatalf("%d pods after 2 were confirmed, want 2 and 2+2/2 more", got)
	}
	// The report alone raises no limit: neither pods unknown to the API nor an allowance do while no
	// pod has ended.
	s.settle(agent.Report{Avail: 98, Allowance: 10, Pods: append(keys(0, 2), keys(900, 990)...)})
	if got := place(5); got != 5 {
		t.Fatalf("got %d pods by a report alone, want 5 still", got)
	}
	var ended []*v1.Pod
	for i := range 6 {
		pod := newPod(100+i, onNode(nodeName(0)))
		ended = append(ended, pod)
	}
	c.arrive(ended...)
	s.settle(agent.Report{Avail: 98, Allowance: 10, Pods: append(keys(0, 2), keys(100, 106)...)})
	for _, pod := range ended {
		c.delete(pod)
	}
	c.eventually("the pods are forgotten", func() bool { return c.hub.Ledger().Confirmed == 2 })
	if got := place(5); got != 2+6 {
		t.Fatalf("%d pods with an allowance of 10 where six have just ended, want 2 and 6 unconfirmed", got)
	}
}

func TestStalePolicies(t *testing.T) {
	for _, test := range []struct {
		policy   string
		silence  time.Duration
		feasible map[string]bool // by node: 0 fresh with room, 1 stale and full, 2 never reported
		scores   map[string]int64
	}{
		{"Neutral", 6 * time.Second, map[string]bool{nodeName(0): true, nodeName(2): true},
			map[string]int64{nodeName(0): 100, nodeName(2): 100}},
		{"Neutral", 70 * time.Second, map[string]bool{nodeName(0): true, nodeName(1): true, nodeName(2): true},
			map[string]int64{nodeName(0): 100, nodeName(1): 100, nodeName(2): 100}},
		{"Reject", 6 * time.Second, map[string]bool{nodeName(0): true}, map[string]int64{nodeName(0): 100}},
		{"Allow", 6 * time.Second, map[string]bool{nodeName(0): true, nodeName(1): true, nodeName(2): true},
			map[string]int64{nodeName(0): 100, nodeName(1): 0, nodeName(2): 50}},
	} {
		t.Run(fmt.Sprint(test.policy, test.silence), func(t *testing.T) {
			clock := newClock()
			c := newCluster(t, setup{nodes: 3, args: plugin.SpazioArgs{StalePolicy: test.policy},
				options: plugin.HubOptions{Now: clock.Now, Random: func() float64 { return 0 }}})
			client := c.dial()
			c.open(client, nodeName(1)).settle(agent.Report{Avail: 0})
			c.pass(clock, test.silence)
			c.open(client, nodeName(0)).settle(agent.Report{Avail: 3})
			state, nodes, _ := c.attempt(newPod(0), c.infos)
			got := make(map[string]bool)
			for _, info := range nodes {
				got[info.Node().Name] = true
			}
			if diff := cmp.Diff(test.feasible, got); diff != "" {
				t.Errorf("feasible (-want +got):\n%s", diff)
			}
			scores, err := c.scores(state, newPod(0), nodes)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.scores, scores); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithoutAgentsPlacementIsTheDefault(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 4, options: plugin.HubOptions{Now: clock.Now}})
	if _, feasible, _ := c.attempt(newPod(0), c.infos); len(feasible) != 0 {
		t.Fatal("a pod passed before the agents could connect")
	}
	c.pass(clock, reserve.DefaultMaxAge)
	c.eventually("the waiting pod is woken", func() bool { return c.peek()["pod-0"] || c.hub.Waiting() == 0 })
	state, feasible, status := c.attempt(newPod(0), c.infos)
	if len(feasible) != 4 {
		t.Fatalf("%d feasible nodes: %v", len(feasible), status)
	}
	scores, err := c.scores(state, newPod(0), feasible)
	if err != nil {
		t.Fatal(err)
	}
	for name, score := range scores {
		if score != 50 {
			t.Errorf("%s scores %d, want the same 50 for all", name, score)
		}
	}
}

func TestScoreFollowsFreeRoom(t *testing.T) {
	c := newCluster(t, setup{nodes: 3, options: plugin.HubOptions{Random: func() float64 { return 0 }}})
	client := c.dial()
	for i, avail := range []float64{2, 8, 4} {
		c.open(client, nodeName(i)).settle(agent.Report{Avail: avail})
	}
	state, feasible, _ := c.attempt(newPod(0), c.infos)
	got, err := c.scores(state, newPod(0), feasible)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{nodeName(0): 25, nodeName(1): 100, nodeName(2): 50}, got); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	if node, status := c.schedule(newPod(0), c.infos); node != nodeName(1) {
		t.Errorf("pod went to %q (%v), want the emptiest", node, status)
	}
}

// TestProfilesDifferInTheirOptions but share the nodes and the pods in flight.
func TestProfilesDifferInTheirOptions(t *testing.T) {
	c := newCluster(t, setup{nodes: 2, options: plugin.HubOptions{Random: func() float64 { return 0 }}})
	args := c.args
	args.CapacityWeight, args.OptOutAnnotation, args.OptOutToleration = 1, "other.example/annotation", "other.example/taint"
	byK := c.second("by-k", args)
	client := c.dial()
	c.open(client, nodeName(0)).settle(agent.Report{Avail: 8, K: 1})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 2, K: 4})
	if node, status := c.schedule(newPod(0), c.infos); node != nodeName(0) {
		t.Errorf("by room: got %q, %v", node, status)
	}
	if node, status := byK.schedule(newPod(1), c.infos); node != nodeName(1) {
		t.Errorf("by k: got %q, %v", node, status)
	}
	if node, status := byK.schedule(newPod(2), c.infos[1:]); node != nodeName(1) {
		t.Errorf("second slot of %s: got %q, %v", nodeName(1), node, status)
	}
	if _, status := c.schedule(newPod(3), c.infos[1:]); status.IsSuccess() {
		t.Error("a profile does not see the other's pods in flight")
	}
	exempt := newPod(4, func(p *v1.Pod) { p.Annotations = map[string]string{optOutKey: "true"} })
	if _, status := byK.schedule(exempt, c.infos[1:]); status.IsSuccess() {
		t.Error("the other profile's annotation exempts a pod")
	}
	if _, status := c.schedule(exempt, c.infos[1:]); !status.IsSuccess() {
		t.Errorf("the profile's own annotation exempts no pod: %v", status)
	}
}

// tiedTo sets what a DaemonSet's controller writes into its pods.
func tiedTo(node string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
				{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node}},
			}}},
		}}}
	}
}

func TestExemptPodsPass(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 0})
	controller := true
	for name, pod := range map[string]*v1.Pod{
		"DaemonSet": newPod(1, func(p *v1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: &controller}}
			tiedTo(nodeName(0))(p)
		}),
		"tolerating": newPod(4, func(p *v1.Pod) {
			p.Spec.Tolerations = []v1.Toleration{{Key: optOutKey, Operator: v1.TolerationOpExists}}
		}),
		"annotated": newPod(2, func(p *v1.Pod) { p.Annotations = map[string]string{optOutKey: "true"} }),
	} {
		t.Run(name, func(t *testing.T) {
			if node, status := c.schedule(pod, c.infos); node != nodeName(0) {
				t.Errorf("refused: %v", status)
			}
		})
	}
	if got := c.state(nodeName(0)).InFlight; got != 3 {
		t.Errorf("got %v pods in flight, want exempt pods to count", got)
	}
	anything := newPod(3, func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}} })
	if _, status := c.schedule(anything, c.infos); status.IsSuccess() {
		t.Error("a pod without a toleration passed")
	}
	if _, status := c.schedule(newPod(5), c.infos); status.IsSuccess() {
		t.Error("an ordinary pod passed")
	}
	claimed := newPod(6, func(p *v1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: &controller}}
	})
	if _, status := c.schedule(claimed, c.infos); status.IsSuccess() {
		t.Error("a pod passed that claims a DaemonSet as owner without node affinity")
	}
}

func TestReserveUsesTheCurrentState(t *testing.T) {
	var granted []float64
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{
		OnReserve: func(_ string, s reserve.Signal, f reserve.Flight) { granted = append(granted, s.Avail-f.Demand) },
	}})
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 3})
	ctx := context.Background()
	state, feasible, _ := c.attempt(newPod(0), c.infos)
	if len(feasible) != 1 {
		t.Fatal("no room at first")
	}
	s.settle(agent.Report{Avail: .5})
	status := c.Reserve(ctx, state, newPod(0), nodeName(0))
	if status.Code() != fwk.Unschedulable || !strings.Contains(status.Message(), "no room") {
		t.Errorf("Reserve after the signal fell: got %v %q", status.Code(), status.Message())
	}
	c.Unreserve(ctx, state, newPod(0), nodeName(0))
	if got := c.hub.Ledger(); got != (reserve.Census{}) {
		t.Errorf("ledger after the refused pod: got %+v", got)
	}
	s.settle(agent.Report{Avail: 1})
	if status := c.Reserve(ctx, state, newPod(0), nodeName(0)); !status.IsSuccess() {
		t.Errorf("Reserve with room: got %v", status)
	}
	if status := c.Reserve(ctx, state, newPod(1), nodeName(0)); status.IsSuccess() {
		t.Error("the same slot was granted twice")
	}
	if diff := cmp.Diff([]float64{1}, granted); diff != "" {
		t.Errorf("free room at each grant (-want +got):\n%s", diff)
	}
}

func TestSignPodSeparatesExemptPods(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	sign := func(pod *v1.Pod) any {
		fragments, status := c.SignPod(context.Background(), pod)
		if !status.IsSuccess() || len(fragments) != 1 {
			t.Fatalf("sign: %v %v", fragments, status)
		}
		return fragments[0]
	}
	optedOut := func(p *v1.Pod) { p.Annotations = map[string]string{optOutKey: "true"} }
	if sign(newPod(0)) != sign(newPod(1)) {
		t.Error("two ordinary pods differ")
	}
	if sign(newPod(0)) == sign(newPod(1, optedOut)) {
		t.Error("an exempt pod has the signature of an ordinary one")
	}
}

// TestEvents: a node with room may help. Deletions are handled by the waker.
func TestEvents(t *testing.T) {
	c := newCluster(t, setup{nodes: 2})
	client := c.dial()
	c.open(client, nodeName(0)).settle(agent.Report{Avail: 0})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 4})
	events, err := c.EventsToRegister(context.Background())
	if err != nil || len(events) == 0 {
		t.Fatalf("%v, %v", events, err)
	}
	logger := klogr()
	for _, e := range events {
		if e.Event.Resource != fwk.Node {
			t.Errorf("%s is an event", e.Event.Resource)
		}
		for _, test := range []struct {
			after any
			want  fwk.QueueingHint
		}{
			{c.infos[0].Node(), fwk.QueueSkip},
			{c.infos[1].Node(), fwk.Queue},
		} {
			got, err := e.QueueingHintFn(logger, newPod(0), nil, test.after)
			if err != nil || got != test.want {
				t.Errorf("%s: hint %v, %v, want %v", e.Event.Resource, got, err, test.want)
			}
		}
	}
}

// TestMarksWakeNoPods: the labels that the scheduler itself gives to nodes help no pod. Any other
// change of a node with room does, with such a label or without.
func TestMarksWakeNoPods(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 4})
	events, err := c.EventsToRegister(context.Background())
	if err != nil || len(events) != 1 {
		t.Fatalf("%v, %v", events, err)
	}
	full := func(n *v1.Node) { n.Labels = map[string]string{plugin.FullLabel: "true"} }
	for name, test := range map[string]struct {
		change []func(*v1.Node)
		want   fwk.QueueingHint
	}{
		"full":             {[]func(*v1.Node){full}, fwk.QueueSkip},
		"protected":        {[]func(*v1.Node){func(n *v1.Node) { n.Labels = map[string]string{plugin.ProtectedLabel: "true"} }}, fwk.QueueSkip},
		"another label":    {[]func(*v1.Node){func(n *v1.Node) { n.Labels = map[string]string{"disk": ""} }}, fwk.Queue},
		"with a label":     {[]func(*v1.Node){full, func(n *v1.Node) { n.Labels["disk"] = "" }}, fwk.Queue},
		"with a taint":     {[]func(*v1.Node){full, func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "gpu", Effect: v1.TaintEffectNoSchedule}} }}, fwk.Queue},
		"is schedulable":   {[]func(*v1.Node){full, func(n *v1.Node) { n.Spec.Unschedulable = true }}, fwk.Queue},
		"with allocatable": {[]func(*v1.Node){full, func(n *v1.Node) { n.Status.Allocatable = v1.ResourceList{"gpu": resource.MustParse("1")} }}, fwk.Queue},
	} {
		before := c.infos[0].Node()
		after := before.DeepCopy()
		for _, change := range test.change {
			change(after)
		}
		for _, nodes := range [][2]*v1.Node{{before, after}, {after, before}} {
			if got, err := events[0].QueueingHintFn(klogr(), newPod(0), nodes[0], nodes[1]); err != nil || got != test.want {
				t.Errorf("%s: hint %v, %v, want %v", name, got, err, test.want)
			}
		}
	}
}
