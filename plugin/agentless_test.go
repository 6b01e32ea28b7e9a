package plugin_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
)

// kubelets are nodes without agents, as the API shows them: a pod's container runs a second after the
// bind, and some crash once, five seconds later.
type kubelets struct {
	*cluster
	clock *clock
	cores int
	// crash is n if the container of one pod in n crashes once; 0 is none.
	crash int
	pods  map[string][]*kubeletPod
	count int
}

type kubeletPod struct {
	pod *v1.Pod
	// bound is the time of its bind, runs the start of its running container, zero if none runs.
	bound, runs time.Time
	crashes     bool
}

func newKubelets(t *testing.T, nodes, cores, running int) *kubelets {
	t.Helper()
	k := &kubelets{clock: newClock(), cores: cores, pods: make(map[string][]*kubeletPod)}
	var objects []runtime.Object
	var infos []fwk.NodeInfo
	for i := range nodes {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)}}
		node.Status.Capacity = v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(int64(cores), resource.DecimalSI)}
		objects, infos = append(objects, node), append(infos, nodeInfo{node: node})
		for range running {
			p := &kubeletPod{pod: newPod(k.count, onNode(node.Name)), runs: k.clock.Now()}
			p.show(p.runs.Add(-24*time.Hour), 0)
			objects, k.count = append(objects, p.pod), k.count+1
			k.pods[node.Name] = append(k.pods[node.Name], p)
		}
	}
	k.cluster = newCluster(t, setup{objects: objects, options: plugin.HubOptions{Now: k.clock.Now}})
	k.infos = infos
	k.eventually("all nodes are known", func() bool { return len(k.hub.Snapshot()) == nodes })
	return k
}

// show makes the API show the container as running. kubelet's clock is not reliable.
func (p *kubeletPod) show(started time.Time, restarts int32) {
	p.pod = p.pod.DeepCopy()
	p.pod.Status.Phase = v1.PodRunning
	p.pod.Status.ContainerStatuses = []v1.ContainerStatus{{
		RestartCount: restarts, State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}},
	}}
}

// starting counts a node's pods that were shown running for less than ten seconds, and the others.
func (k *kubelets) starting(node string) (starting, running int) {
	for _, p := range k.pods[node] {
		if !p.runs.IsZero() && k.clock.Now().Sub(p.runs) >= 10*time.Second {
			running++
		}
	}
	return len(k.pods[node]) - running, running
}

// second advances all nodes by a second.
func (k *kubelets) second() {
	k.clock.advance(time.Second)
	now := k.clock.Now()
	for i, info := range k.infos {
		for _, p := range k.pods[info.Node().Name] {
			age := now.Sub(p.bound)
			switch {
			case p.bound.IsZero():
				continue
			case p.runs.IsZero() && age >= time.Second:
				p.runs = now
				p.show(now.Add(time.Duration(i-10)*time.Hour), 0)
			case p.crashes && age >= 6*time.Second:
				p.runs, p.crashes = now, false
				p.show(now, 1)
			default:
				continue
			}
			k.hub.Seen(p.pod)
		}
	}
	k.hub.Expire()
}

// place schedules as many pods as there is room for, each to the node with the fewest pods, as
// kube-scheduler does for pods without requests.
func (k *kubelets) place(waiting int) (left int) {
	k.t.Helper()
	for ; waiting > 0; waiting-- {
		pod := newPod(k.count)
		state, feasible, _ := k.attempt(pod, k.infos)
		if len(feasible) == 0 {
			return waiting
		}
		best := feasible[0].Node().Name
		for _, info := range feasible {
			if len(k.pods[info.Node().Name]) < len(k.pods[best]) {
				best = info.Node().Name
			}
		}
		if status := k.Reserve(k.t.Context(), state, pod, best); !status.IsSuccess() {
			k.t.Fatalf("refused after Filter let it pass: %v", status)
		}
		k.PostBind(k.t.Context(), state, pod, best)
		pod = pod.DeepCopy()
		pod.Spec.NodeName = best
		k.hub.Seen(pod)
		k.pods[best] = append(k.pods[best], &kubeletPod{pod: pod, bound: k.clock.Now(), crashes: k.crash > 0 && k.count%k.crash == 0})
		k.count++
		starting, running := k.starting(best)
		if most := float64(max(2, k.cores)) + float64(running)/2; float64(starting-1) >= most {
			k.t.Fatalf("%s: got %d starting pods beside %d running ones, want at most %v", best, starting, running, math.Ceil(most))
		}
	}
	return 0
}

// TestNodesWithoutAgentsAreFilled as by kube-scheduler, at the rate of slow start.
func TestNodesWithoutAgentsAreFilled(t *testing.T) {
	const nodes = 20
	for _, cores := range []int{1, 4, 64} {
		for _, test := range []struct {
			name    string
			running int
			before  func(*kubelets)
		}{
			{"no agent at all", 0, func(*kubelets) {}},
			{"a scheduler that starts while agents are down", 7, func(*kubelets) {}},
			{"agents that reported and died", 0, func(k *kubelets) {
				client := k.dial()
				for i := range nodes {
					k.open(client, nodeName(i)).settle(agent.Report{Avail: 9})
				}
				for range 6 { // longer than a report counts
					k.second()
				}
			}},
		} {
			for _, crash := range []int{0, 7} {
				for pods, within := range map[int]time.Duration{150: time.Minute, 1500: 3 * time.Minute} {
					t.Run(fmt.Sprintf("%s/%d cores/%d pods/crashing 1 of %d", test.name, cores, pods, crash), func(t *testing.T) {
						k := newKubelets(t, nodes, cores, test.running)
						k.crash = crash
						test.before(k)
						start, left := k.clock.Now(), pods
						for left = k.place(left); left > 0 && k.clock.Now().Sub(start) < time.Hour; left = k.place(left) {
							k.second()
						}
						if took := k.clock.Now().Sub(start); left > 0 || cores == 4 && took > within {
							t.Errorf("got %d of %d unbound pods after %v, want none after %v", left, pods, took, within)
						}
						if crash > 0 {
							return // if more pods crash, others finish first
						}
						for _, info := range k.infos {
							want := float64(pods)/nodes + float64(test.running)
							if got := len(k.pods[info.Node().Name]); math.Abs(float64(got)-want) > 2 {
								t.Errorf("got %d pods on %s, want %v as by kube-scheduler", got, info.Node().Name, want)
							}
						}
					})
				}
			}
		}
	}
}

func containers(states ...v1.ContainerState) (all []v1.ContainerStatus) {
	for _, s := range states {
		all = append(all, v1.ContainerStatus{State: s})
	}
	return all
}

var (
	running  = v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	ended    = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}
	creating = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	noImage  = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	crashed  = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
)

// TestPodLeavesSlowStartOfASilentNode once the API has shown its containers running for ten seconds,
// whatever kubelet's clock, or stalled as long, and not earlier. A first step of two pods leaves one
// slot beside a starting pod, two beside a stalled one, and three beside a running one, which the node
// has borne.
func TestPodLeavesSlowStartOfASilentNode(t *testing.T) {
	const inLine, heldUp, runs = 1, 2, 3
	const always = v1.ContainerRestartPolicyAlways
	for name, test := range map[string]struct {
		inits, containers int
		sidecar           bool
		init, main        []v1.ContainerStatus
		want              int
	}{
		"running":                          {0, 1, false, nil, containers(running), runs},
		"two running":                      {0, 2, false, nil, containers(running, running), runs},
		"one running, one done":            {0, 2, false, nil, containers(running, ended), runs},
		"nothing shown":                    {0, 1, false, nil, nil, inLine},
		"one of two shown":                 {0, 2, false, nil, containers(running), inLine},
		"one of two still being created":   {0, 2, false, nil, containers(running, creating), inLine},
		"being created":                    {0, 1, false, nil, containers(creating), inLine},
		"without an image":                 {0, 1, false, nil, containers(noImage), heldUp},
		"one of two without an image":      {0, 2, false, nil, containers(running, noImage), heldUp},
		"its init container runs":          {1, 1, false, containers(running), containers(creating), inLine},
		"its init container has no image":  {1, 1, false, containers(noImage), containers(creating), heldUp},
		"its init container crashes":       {1, 1, false, containers(crashed), containers(creating), heldUp},
		"after its init container":         {1, 1, false, containers(ended), containers(running), runs},
		"its sidecar alone runs":           {1, 1, true, containers(running), containers(creating), inLine},
		"beside its sidecar":               {1, 1, true, containers(running), containers(running), runs},
		"crashed at once, and is to again": {0, 1, false, nil, containers(crashed), heldUp},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Now: clock.Now}})
			c.pass(clock, time.Minute) // the grace for a first report is over
			pod := newPod(0, onNode(nodeName(0)), withInits(test.inits))
			pod.Spec.Containers = make([]v1.Container, test.containers)
			if test.sidecar {
				policy := always
				pod.Spec.InitContainers[0].RestartPolicy = &policy
			}
			slots := func(when string, want int) {
				t.Helper()
				c.hub.Expire()
				if got := c.state(nodeName(0)).Slots; got != want {
					t.Errorf("%s: %d slots, want %d", when, got, want)
				}
			}
			c.hub.Seen(pod)
			slots("bound", inLine)
			pod = pod.DeepCopy()
			pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = test.init, test.main
			c.pass(clock, time.Minute)
			c.hub.Seen(pod)
			slots("shown", inLine)
			c.pass(clock, 10*time.Second-1)
			c.hub.Seen(pod.DeepCopy()) // another field of it has changed
			slots("just before ten seconds", inLine)
			clock.advance(1)
			slots("after ten seconds", test.want)
			if test.want == heldUp { // it gets what it lacked
				pod = pod.DeepCopy()
				pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = nil, containers(creating)
				c.hub.Seen(pod)
				slots("going on", inLine)
			}
			pod = pod.DeepCopy()
			pod.Status.Phase = v1.PodSucceeded
			c.hub.Seen(pod)
			slots("ended", 2)
		})
	}
}

// TestPodsAreWokenWhenSlowStartMoves on a node without an agent, and not before.
func TestPodsAreWokenWhenSlowStartMoves(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{
		nodes: 1, options: plugin.HubOptions{Now: clock.Now}, args: plugin.SpazioArgs{RetryPeriod: metav1.Duration{Duration: time.Hour}},
	})
	c.pass(clock, time.Minute)
	for i := range 2 {
		pod := newPod(i, onNode(nodeName(0)))
		pod.Status.ContainerStatuses = containers(running)
		c.arrive(pod)
		c.hub.Seen(pod)
	}
	waiting := newPod(2)
	c.refuse(waiting)
	c.woken()
	c.pass(clock, 10*time.Second-1)
	c.hub.Expire()
	if c.peek()[waiting.Name] {
		t.Error("woken before slow start admitted more")
	}
	clock.advance(1)
	c.eventually("it is woken", func() bool { return c.peek()[waiting.Name] }) // by the inspection
	if node, status := c.schedule(waiting, c.infos); node != nodeName(0) {
		t.Errorf("woken without room: %v", status)
	}
}

// TestPodThatItsAgentCannotIdentify is confirmed once the API has shown it running for ten seconds: by
// then its usage is measured and must not be reserved in addition.
func TestPodThatItsAgentCannotIdentify(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Now: clock.Now}})
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 10})
	hidden, starts := newPod(0, onNode(nodeName(0))), newPod(1, onNode(nodeName(0)))
	hidden.Status.ContainerStatuses, starts.Status.ContainerStatuses = containers(running), containers(creating)
	c.hub.Seen(hidden)
	c.hub.Seen(starts)
	expect := func(avail, inFlight float64) {
		t.Helper()
		s.settle(agent.Report{Avail: avail})
		c.hub.Expire()
		if got := c.state(nodeName(0)); got.InFlight != inFlight || got.Free != avail-inFlight {
			t.Errorf("got %v in flight, %v free of %v; want %v and %v", got.InFlight, got.Free, avail, inFlight, avail-inFlight)
		}
	}
	expect(10, 2)
	c.pass(clock, 9*time.Second)
	expect(9, 2)
	clock.advance(time.Second)
	expect(9, 1)
	// Without a report the pod stays in flight, since no report has its usage.
	late := newPod(2, onNode(nodeName(0)))
	late.Status.ContainerStatuses = containers(running)
	c.hub.Seen(late)
	c.pass(clock, time.Minute)
	c.hub.Expire()
	if got := c.state(nodeName(0)).InFlight; got != 2 {
		t.Errorf("got %v in flight on a silent node, want 2", got)
	}
	expect(8, 1)
}
