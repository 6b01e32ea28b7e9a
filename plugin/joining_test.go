package plugin_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/agent"
)

// TestNodesJoinWhilePodsWait: whatever a pod waits for while nodes join and lose their taints, it is
// woken once they have room.
func TestNodesJoinWhilePodsWait(t *testing.T) {
	const joining = 3
	taint := v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule}
	for name, wait := range map[string]func(c *cluster, s *stream, pod *v1.Pod, change func()){
		"refused by all nodes": func(c *cluster, _ *stream, pod *v1.Pod, change func()) {
			c.attempt(pod, c.infos)
			change()
		},
		"in its cycle": func(c *cluster, _ *stream, pod *v1.Pod, change func()) {
			c.PreFilter(c.t.Context(), &interruptedState{during: change}, pod, c.infos)
		},
		"between PreFilter and Filter": func(c *cluster, _ *stream, pod *v1.Pod, change func()) {
			state := &cycleState{}
			c.PreFilter(c.t.Context(), state, pod, c.infos)
			change()
			c.Filter(c.t.Context(), state, pod, c.infos[0])
		},
		"its node lost in Reserve": func(c *cluster, s *stream, pod *v1.Pod, change func()) {
			s.settle(agent.Report{Avail: 1})
			state, feasible, status := c.attempt(pod, c.infos)
			if len(feasible) != 1 {
				c.t.Fatal(status)
			}
			s.settle(agent.Report{Avail: 0})
			if status := c.Reserve(c.t.Context(), state, pod, nodeName(0)); status.IsSuccess() {
				c.t.Fatal("reserved without room")
			}
			c.eventually("the pod is woken", func() bool { return c.woken()[pod.Name] })
			change()
			c.attempt(pod, c.infos)
			// The attempt saw none of the nodes that joined, so the pod waits for them only if they
			// change afterwards.
			c.taint(joining, taint)
			c.taint(joining)
		},
		"beyond the memory for sets of nodes": func(c *cluster, _ *stream, pod *v1.Pod, change func()) {
			c.hub.BoundWaitSets(0)
			c.attempt(pod, c.infos)
			change()
		},
	} {
		for kind, edit := range map[string]func(*v1.Pod){"plain": func(*v1.Pod) {}, "selective": selective} {
			t.Run(name+", "+kind, func(t *testing.T) {
				c := newCluster(t, withoutRetry(1))
				client := c.dial()
				s := c.open(client, nodeName(0))
				s.settle(agent.Report{Avail: 0})
				pod := newPod(0, edit)
				c.arrive(pod)
				wait(c, s, pod, func() {
					for i := 1; i <= joining; i++ {
						c.join(i, taint)
						c.taint(i)
					}
				})
				c.woken()
				c.open(client, nodeName(joining)).settle(agent.Report{Avail: 1})
				c.eventually("the pod is woken", func() bool { return c.peek()[pod.Name] })
			})
		}
	}
}

// interruptedState is a CycleState that runs a function during PreFilter.
type interruptedState struct {
	cycleState
	during func()
}

func (s *interruptedState) Write(key fwk.StateKey, data fwk.StateData) {
	s.cycleState.Write(key, data)
	s.during()
}

// join adds a node to the API and waits until the Hub has it.
func (c *cluster) join(i int, taints ...v1.Taint) {
	c.t.Helper()
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)}, Spec: v1.NodeSpec{Taints: taints}}
	if _, err := c.client.CoreV1().Nodes().Create(c.t.Context(), node, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	c.eventually("the node is known", func() bool { return c.state(nodeName(i)).Node != "" })
}

// taint replaces the taints of a node in the API.
func (c *cluster) taint(i int, taints ...v1.Taint) {
	c.t.Helper()
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)}, Spec: v1.NodeSpec{Taints: taints}}
	if _, err := c.client.CoreV1().Nodes().Update(c.t.Context(), node, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}
