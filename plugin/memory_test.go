package plugin_test

import (
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/agent"
)

// TestWaitingPodsTakeBoundedMemory: 2¹⁴ pods may each know which of 2¹⁴ nodes they
// wait for, which takes 32 MiB. Those beyond are woken for any node, one whose
// taint they do not tolerate included, until others have gone.
func TestWaitingPodsTakeBoundedMemory(t *testing.T) {
	if testing.Short() {
		return // so many objects take the race detector a minute
	}
	const nodes, known, more, left = 1 << 14, 1 << 14, 2, 64
	s := patient(nodes - 1)
	tainted := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "tainted"}}
	tainted.Spec.Taints = []v1.Taint{{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}}
	s.objects = append(s.objects, tainted)
	pods := make([]*v1.Pod, known+more)
	for i := range pods {
		pods[i] = newPod(i)
		s.objects = append(s.objects, pods[i])
	}
	c := newCluster(t, s)
	c.eventually("all nodes are known", func() bool { return len(c.hub.Snapshot()) == nodes })
	// A set has room for all nodes that ever were; with most of them gone it is made
	// in a fraction of the time.
	for i := left; i < nodes-1; i++ {
		if err := c.client.CoreV1().Nodes().Delete(t.Context(), nodeName(i), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.eventually("most nodes are gone", func() bool { return len(c.hub.Snapshot()) == left+1 })
	attempt := func(pod *v1.Pod) {
		t.Helper()
		if _, status := c.PreFilter(t.Context(), &cycleState{}, pod, c.infos[:left]); !status.IsRejected() {
			t.Fatalf("%s: %v", pod.Name, status)
		}
	}
	for _, pod := range pods {
		attempt(pod)
	}
	for _, pod := range pods[:10] { // the set of nodes takes the place of the one before
		attempt(pod)
	}
	// woken returns the number of the pod that one slot of the tainted node wakes.
	stream := c.open(c.dial(), tainted.Name)
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
		t.Errorf("pod %d is woken, that knows what it waits for", first)
	}
	// One that goes makes room for it.
	c.delete(pods[7])
	c.eventually("a pod is forgotten", func() bool { return c.hub.Waiting() == len(pods)-1 })
	attempt(pods[first])
	stream.settle(agent.Report{Avail: 0})
	c.woken() // before it was tried again it may have been reminded
	if second := woken(); second < known || second == first {
		t.Errorf("pod %d is woken after pod %d", second, first)
	}
}
