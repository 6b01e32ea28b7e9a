package plugin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// TestSilentNodeIsFilledToSlowStart: nine nodes report that they are full, the tenth stops reporting,
// and 500 pods wait.
func TestSilentNodeIsFilledToSlowStart(t *testing.T) {
	const nodes, waiting = 10, 500
	for _, test := range []struct {
		name    string
		last    *agent.Report
		silence time.Duration
		want    int
	}{
		{"saturated, seconds ago", &agent.Report{Avail: 5, Saturated: true}, 6 * time.Second, 0},
		{"saturated, an hour ago", &agent.Report{Avail: 5, Saturated: true}, time.Hour, 2},
		{"with room, seconds ago", &agent.Report{Avail: 5}, 6 * time.Second, 2},
		{"with room for one", &agent.Report{Avail: 1}, 6 * time.Second, 1},
		{"with pods and an allowance unknown to the API", &agent.Report{Avail: 500, Allowance: 400, Pods: keys(900, 1300)}, 6 * time.Second, 2},
		{"never reported", nil, time.Hour, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := newClock()
			c := newCluster(t, setup{nodes: nodes, options: plugin.HubOptions{Now: clock.Now}})
			client := c.dial()
			var full []*stream
			for i := range nodes - 1 {
				full = append(full, c.open(client, nodeName(i)))
			}
			silent := nodeName(nodes - 1)
			if test.last != nil {
				c.open(client, silent).settle(*test.last)
			}
			c.pass(clock, test.silence)
			for _, s := range full {
				s.settle(agent.Report{Avail: 0})
			}
			for i := range waiting {
				if node, status := c.schedule(newPod(i), c.infos); status.IsSuccess() && node != silent {
					t.Fatalf("%s got a pod without room", node)
				}
			}
			if got := int(c.state(silent).InFlight); got != test.want {
				t.Errorf("silent node: got %d of %d pods, want %d", got, waiting, test.want)
			}
			if got := c.state(silent).Slots; got != 0 {
				t.Errorf("got %d free slots, for which pods would be woken", got)
			}
			// Filter sees it, and Reserve refuses no pod.
			if _, feasible, _ := c.attempt(newPod(waiting), c.infos); len(feasible) != 0 {
				t.Errorf("got %d nodes that pass Filter, want none", len(feasible))
			}
		})
	}
}

// TestSlowStartByCores: the first step on a node is one pod per core of the API's capacity, and follows
// changes of it.
func TestSlowStartByCores(t *testing.T) {
	clock := newClock()
	c, streams := busyCluster(t, clock, maxWait, []int64{2, 4, 16, 64})
	fill := func(node int) float64 {
		t.Helper()
		for i := range 100 {
			c.schedule(newPod(1000*node+i), c.infos[node:node+1])
		}
		return c.state(nodeName(node)).InFlight
	}
	for i, want := range []float64{2, 4, 16, 64} {
		streams[i].settle(agent.Report{Avail: 1000})
		if got := fill(i); got != want {
			t.Errorf("got %v pods in flight on %s, want %v", got, nodeName(i), want)
		}
	}
	grown := c.infos[0].Node().DeepCopy()
	grown.Status.Capacity[v1.ResourceCPU] = resource.MustParse("32")
	if _, err := c.client.CoreV1().Nodes().Update(t.Context(), grown, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the node has slots for its new cores", func() bool { return c.state(nodeName(0)).Slots == 30 })
}

// TestSilentNodeKeepsItsLimitAsPodsEnd: a node still bears what it has borne before.
func TestSilentNodeKeepsItsLimitAsPodsEnd(t *testing.T) {
	const running = 6
	clock := newClock()
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Now: clock.Now}})
	var pods []*v1.Pod
	for i := range running {
		pods = append(pods, newPod(i, onNode(nodeName(0))))
	}
	c.arrive(pods...)
	c.eventually("all are in flight", func() bool { return c.hub.Ledger().Bound == running })
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 9, Pods: keys(0, running)})
	c.pass(clock, time.Hour)
	for _, pod := range pods {
		c.delete(pod)
	}
	c.eventually("the pods are forgotten", func() bool { return c.hub.Ledger().Confirmed == 0 })
	for i := range 50 {
		c.schedule(newPod(100+i), c.infos)
	}
	if got := c.state(nodeName(0)).InFlight; got != 2+running/2 {
		t.Errorf("got %v pods in flight, want %d", got, 2+running/2)
	}
}

// TestSchedulerThatStoodStill received no reports meanwhile: it must not count nodes as silent.
func TestSchedulerThatStoodStill(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 2, options: plugin.HubOptions{Now: clock.Now}})
	client := c.dial()
	s := c.open(client, nodeName(0))
	s.settle(agent.Report{Avail: 3})
	c.open(client, nodeName(1)).settle(agent.Report{Avail: 3})
	clock.advance(time.Hour)
	if node, status := c.schedule(newPod(0), c.infos); status.IsSuccess() || !strings.Contains(status.Message(), "without a current") {
		t.Fatalf("got node %q before any node could report: %v", node, status)
	}
	s.settle(agent.Report{Avail: 1})
	if node, status := c.schedule(newPod(0), c.infos); node != nodeName(0) {
		t.Errorf("got node %q, want the node that has reported: %v", node, status)
	}
	if node, status := c.schedule(newPod(1), c.infos); status.IsSuccess() {
		t.Errorf("got node %q, which is still waited for or full", node)
	}
	c.pass(clock, reserve.DefaultMaxAge)
	if node, status := c.schedule(newPod(1), c.infos); node != nodeName(1) {
		t.Errorf("got node %q after the grace, want the silent node: %v", node, status)
	}
}

// waitingFor returns an edit that makes a container of the pod wait for a reason, or its init container
// if init is set.
func waitingFor(reason string, init bool) func(*v1.Pod) {
	return func(p *v1.Pod) {
		waits := v1.ContainerStatus{Name: "c", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}}
		p.Status.ContainerStatuses = []v1.ContainerStatus{waits}
		if init {
			p.Spec.InitContainers = []v1.Container{{Name: "i"}}
			p.Status.InitContainerStatuses = p.Status.ContainerStatuses
			p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", State: v1.ContainerState{
				Waiting: &v1.ContainerStateWaiting{Reason: "PodInitializing"}}}}
		}
	}
}

// TestPodsThatNeverStart do not block other pods: not at all if kubelet reports the reason, and not for
// long otherwise. Their room stays reserved.
func TestPodsThatNeverStart(t *testing.T) {
	const nodes, each, room = 8, 5, 7
	for _, test := range []struct {
		reason string
		init   bool
		known  bool // at once, by kubelet's reason
	}{
		{"ImagePullBackOff", false, true}, {"ErrImagePull", false, true}, {"InvalidImageName", false, true},
		{"ErrImageNeverPull", true, true}, {"RegistryUnavailable", false, true}, {"CreateContainerConfigError", false, true},
		{"CreateContainerError", true, true}, {"RunContainerError", false, true}, {"CrashLoopBackOff", true, true},
		{"ImagePullBackOff", true, true}, {"ContainerCreating", false, false}, {"PodInitializing", true, false}, {"", false, false},
	} {
		t.Run(fmt.Sprintf("%s/init=%v", test.reason, test.init), func(t *testing.T) {
			clock := newClock()
			c := newCluster(t, setup{nodes: nodes, options: plugin.HubOptions{Now: clock.Now}})
			client := c.dial()
			var streams []*stream
			for i := range nodes {
				streams = append(streams, c.open(client, nodeName(i)))
			}
			report := func() {
				t.Helper()
				for _, s := range streams {
					s.settle(agent.Report{Avail: room})
				}
			}
			report()
			for i := range nodes * each {
				c.create(newPod(i, onNode(nodeName(i%nodes)), waitingFor(test.reason, test.init)))
			}
			c.eventually("all are in flight", func() bool { return c.hub.Ledger().Bound == nodes*each })
			c.eventually("their state is known", func() bool {
				return !test.known || c.state(nodeName(0)).Stalled == each && c.state(nodeName(nodes-1)).Stalled == each
			})
			next := 1000
			good := func() bool {
				next++
				_, status := c.schedule(newPod(next), c.infos)
				return status.IsSuccess()
			}
			if got := good(); got != test.known {
				t.Errorf("at first: a good pod placed %v, want %v", got, test.known)
			}
			for range 3 * 60 {
				c.pass(clock, time.Minute)
			}
			report()
			c.eventually("three hours later a good pod finds a slot", func() bool { return c.state(nodeName(1)).Slots > 0 })
			if !good() {
				t.Error("three hours later: a good pod is refused")
			}
			if got := c.state(nodeName(7)); got.InFlight < each || got.Free > room-each {
				t.Errorf("got %+v, want the room of %d pods reserved", got, each)
			}
		})
	}
}

// TestStalledPodStarts: its image appears, so it counts as starting again.
func TestStalledPodStarts(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 9})
	pod := newPod(0, onNode(nodeName(0)), waitingFor("ErrImagePull", false))
	c.create(pod)
	c.eventually("the pod is stalled", func() bool { return c.state(nodeName(0)).Stalled == 1 })
	pod = newPod(0, onNode(nodeName(0)))
	pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}
	c.update(pod)
	c.eventually("the pod starts", func() bool { return c.state(nodeName(0)).Stalled == 0 })
	if got := c.state(nodeName(0)); got.InFlight != 1 || got.Slots != 1 {
		t.Errorf("got %+v, want the pod in flight and one of two slots free", got)
	}
}

// TestPodBetweenInitContainers is in flight again, unless only the API's event of its end is late.
func TestPodBetweenInitContainers(t *testing.T) {
	for init, want := range map[bool]float64{true: 1, false: 0} {
		c := newCluster(t, setup{nodes: 1})
		s := c.open(c.dial(), nodeName(0))
		pod := newPod(0, onNode(nodeName(0)), waitingFor("PodInitializing", init))
		c.create(pod)
		c.eventually("the pod is in flight", func() bool { return c.hub.Ledger().Bound == 1 })
		s.settle(agent.Report{Avail: 3, Pods: keys(0, 1)})
		s.settle(agent.Report{Avail: 4})
		if got := c.state(nodeName(0)).InFlight; got != want {
			t.Errorf("init containers %v: got %v in flight after it is no longer listed, want %v", init, got, want)
		}
	}
}

// TestUnknownNodesLeaveNoState: a bind to a node that does not exist must not affect a later node of
// that name.
func TestUnknownNodesLeaveNoState(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	pod := newPod(0, onNode("nowhere"))
	c.create(pod)
	c.eventually("the pod is known", func() bool { return c.hub.Ledger().Bound == 1 })
	c.delete(pod)
	c.eventually("the pod is forgotten", func() bool { return c.hub.Ledger().Bound == 0 })
	if _, ok := c.hub.Node("nowhere"); ok {
		t.Error("a pod created a node")
	}
}
