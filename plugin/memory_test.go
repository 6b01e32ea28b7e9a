package plugin_test

import (
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/agent"
)

// taintedNodes returns full nodes, of which the i-th has a taint of its own, and pods of which the i-th
// tolerates all taints except that one. So no two pods wait for the same nodes.
func taintedNodes(n int) (nodes []*v1.Node, pods []*v1.Pod) {
	key := func(i int) string { return "taint-" + strconv.Itoa(i) }
	for i := range n {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "tainted-" + strconv.Itoa(i)}}
		node.Spec.Taints = []v1.Taint{{Key: key(i), Effect: v1.TaintEffectNoSchedule}}
		nodes = append(nodes, node)
		pods = append(pods, newPod(i, func(p *v1.Pod) {
			for other := range n {
				if other != i {
					p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: key(other), Operator: v1.TolerationOpExists})
				}
			}
		}))
	}
	return nodes, pods
}

// TestWaitingPodsTakeBoundedMemory: pods over the memory limit of wait sets are woken for any node,
// even one whose taint they do not tolerate, until others have gone.
func TestWaitingPodsTakeBoundedMemory(t *testing.T) {
	const known, more = 8, 2
	s := withoutRetry(0)
	nodes, pods := taintedNodes(known + more)
	dedicated := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "dedicated"}}
	dedicated.Spec.Taints = []v1.Taint{{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}}
	s.objects = append(s.objects, dedicated)
	for i := range nodes {
		s.objects = append(s.objects, nodes[i], pods[i])
	}
	c := newCluster(t, s)
	c.eventually("all nodes are known", func() bool { return len(c.hub.Snapshot()) == len(nodes)+1 })
	c.infos = nil
	for _, node := range nodes {
		c.infos = append(c.infos, nodeInfo{node: node})
	}
	attempt := func(pod *v1.Pod) {
		t.Helper()
		if _, status := c.PreFilter(t.Context(), &cycleState{}, pod, c.infos); !status.IsRejected() {
			t.Fatalf("%s: %v", pod.Name, status)
		}
	}
	attempt(pods[0])
	c.hub.BoundWaitSets(known * c.hub.WaitSetBytes())
	for _, pod := range pods[1:] {
		attempt(pod)
	}
	for _, pod := range pods[:known] { // the set of nodes replaces the previous one
		attempt(pod)
	}
	// woken returns the number of the pod that one slot of the dedicated node wakes.
	stream := c.open(c.dial(), dedicated.Name)
	woken := func() int {
		t.Helper()
		stream.settle(agent.Report{Avail: 1})
		c.eventually("a pod is woken", func() bool { return len(c.peek()) > 0 })
		stream.settle(agent.Report{Avail: 0})
		for name := range c.woken() {
			i, err := strconv.Atoi(strings.TrimPrefix(name, "pod-"))
			if err != nil {
				t.Fatal(err)
			}
			return i
		}
		return -1
	}
	first := woken()
	if first < known {
		t.Errorf("pod %d was woken although its wait set excludes the node", first)
	}
	// A pod that leaves frees memory for it.
	c.delete(pods[7])
	c.eventually("a pod is forgotten", func() bool { return c.hub.Waiting() == len(pods)-1 })
	attempt(pods[first])
	stream.settle(agent.Report{Avail: 0})
	c.woken() // it may have been woken again before it was tried
	if second := woken(); second < known || second == first {
		t.Errorf("pod %d was woken after pod %d", second, first)
	}
}

// TestPodsShareWaitSets: pods that wait for the same nodes share one set, whether PreFilter or Filter
// found the set, and also after nodes have changed.
func TestPodsShareWaitSets(t *testing.T) {
	c := newCluster(t, withoutRetry(5))
	client := c.dial()
	for i := range 5 {
		c.open(client, nodeName(i)).settle(agent.Report{Avail: 0})
	}
	var plain, selecting []*v1.Pod
	for i := range 10 {
		plain, selecting = append(plain, newPod(i)), append(selecting, newPod(100+i, selective))
	}
	c.arrive(append(plain, selecting...)...)
	attempt := func(pods []*v1.Pod, nodes int) {
		t.Helper()
		for _, pod := range pods {
			if _, feasible, _ := c.attempt(pod, c.infos[:nodes]); len(feasible) > 0 {
				t.Fatalf("%s found room", pod.Name)
			}
		}
	}
	attempt(plain, 5)
	if got := c.hub.WaitSetBytes(); got != 0 {
		t.Errorf("got %d bytes for ten pods that wait for all nodes", got)
	}
	attempt(selecting[:1], 3)
	c.hub.Round()
	one := c.hub.WaitSetBytes()
	if one == 0 {
		t.Fatal("a pod that waits for three nodes takes no memory")
	}
	attempt(selecting, 3) // the last set is not known to be complete
	if got := c.hub.WaitSetBytes(); got > 3*one {
		t.Errorf("got %d bytes for ten more that wait for three nodes, want those of two sets", got-one)
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(5)}}
	if _, err := c.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the node is known", func() bool { return c.state(node.Name).Node != "" })
	attempt(plain[:5], 5)
	attempt(selecting[:5], 3)
	if got := c.hub.WaitSetBytes(); got > 5*one {
		t.Errorf("after a node joined: got %d bytes, want the %d of one set", got, one)
	}
}
