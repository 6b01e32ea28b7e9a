package plugin

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/placement"
	"github.com/spazio-scheduler/spazio/plugin/internal/podstate"
)

// tainted knows the nodes that have taints. Safe for concurrent use; the zero
// value is ready.
type tainted struct {
	mu     sync.Mutex
	byNode map[*node][]v1.Taint
}

// set notes a node's taints and reports whether it lost any.
func (t *tainted) set(n *node, taints []v1.Taint) (lost bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.byNode[n]
	if slices.Equal(before, taints) {
		return false
	}
	if t.byNode == nil {
		t.byNode = make(map[*node][]v1.Taint)
	}
	if t.byNode[n] = taints; len(taints) == 0 {
		delete(t.byNode, n)
	}
	return slices.ContainsFunc(before, func(taint v1.Taint) bool { return !slices.Contains(taints, taint) })
}

// exclude takes the nodes out of a set whose taints the pod does not tolerate.
func (t *tainted) exclude(set *placement.WaitSet, pod *v1.Pod) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n, taints := range t.byNode {
		if slices.ContainsFunc(taints, func(taint v1.Taint) bool { return !podstate.Tolerates(pod, &taint) }) {
			set.Remove(n.id)
		}
	}
}
