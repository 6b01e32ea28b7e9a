package plugin

import (
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/reserve"
)

// How a pod says that it is a ghost: it runs nothing, and holds room on its node for
// others to come, as the slots of a test bed do.
const (
	// GhostLabel is RoleGhost on a ghost.
	GhostLabel = "testbed.spazio-scheduler.github.io/role"
	RoleGhost  = "ghost"
	// UnitsAnnotation is how many pods of mean cost a ghost holds room for, a quantity;
	// one without it.
	UnitsAnnotation = "testbed.spazio-scheduler.github.io/units"
)

func isGhost(pod *v1.Pod) bool { return pod.Labels[GhostLabel] == RoleGhost }

// unitsOf is what a ghost holds, in pods.
func unitsOf(pod *v1.Pod) (float64, error) {
	text, told := pod.Annotations[UnitsAnnotation]
	if !told {
		return 1, nil
	}
	units, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("plugin: %s = %q: %w", UnitsAnnotation, text, err)
	}
	return units.AsApproximateFloat64(), nil
}

// ghosts knows which pods are ghosts on which nodes. Safe for concurrent use; the zero
// value is ready.
type ghosts struct {
	mu sync.Mutex
	// on keeps a node whose ghosts are all gone: its agent may have yet to hear it.
	on   map[string]map[reserve.PodKey]struct{}
	node map[reserve.PodKey]string
}

// add notes a ghost and says whether it is news.
func (g *ghosts) add(node string, pod reserve.PodKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, known := g.node[pod]; known {
		return false
	}
	if g.on == nil {
		g.on, g.node = make(map[string]map[reserve.PodKey]struct{}), make(map[reserve.PodKey]string)
	}
	if g.on[node] == nil {
		g.on[node] = make(map[reserve.PodKey]struct{})
	}
	g.on[node][pod], g.node[pod] = struct{}{}, node
	return true
}

// remove forgets a pod and returns the node on which it was a ghost, if it was one.
func (g *ghosts) remove(pod reserve.PodKey) (node string, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if node, known = g.node[pod]; known {
		delete(g.node, pod)
		delete(g.on[node], pod)
	}
	return node, known
}

// list returns a node's ghosts by key; known is false where there never were any.
func (g *ghosts) list(node string) (pods []reserve.PodKey, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	on, known := g.on[node]
	for pod := range on {
		pods = append(pods, pod)
	}
	slices.Sort(pods)
	return pods, known
}

// forget forgets a node that is gone, unless ghosts are left there.
func (g *ghosts) forget(node string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.on[node]) == 0 {
		delete(g.on, node)
	}
}

// ghostBound holds the room of a ghost that the API shows on a node.
func (h *Hub) ghostBound(logger klog.Logger, pod *v1.Pod) {
	key, name := reserve.KeyOf(string(pod.UID)), pod.Spec.NodeName
	h.waiting.drop(pod.UID)
	h.workloads.leave(pod.UID) // should it have been another pod before
	units, err := unitsOf(pod)
	if err == nil {
		err = h.hold(name, key, units)
	}
	if err != nil {
		logger.Error(err, "Ghost holds room for one pod", "pod", klog.KObj(pod))
		_ = h.hold(name, key, 1) // in range
	}
	if h.ghosts.add(name, key) {
		h.tellGhosts(name)
	}
}

// hold holds room for so many pods on a node.
func (h *Hub) hold(name string, key reserve.PodKey, pods float64) error {
	n := h.nodes.get(name)
	if n == nil { // its event is still to come, or it is gone
		_, err := h.ledger.Hold(name, key, pods)
		return err
	}
	n.mu.Lock()
	changed, err := h.ledger.Hold(name, key, pods)
	risen := changed && h.refreshLocked(n)
	n.mu.Unlock()
	if risen {
		h.waiting.rise(n)
	}
	return err
}

// ghostGone forgets a pod that is no ghost, or none any more. Its room is the ledger's
// to give back.
func (h *Hub) ghostGone(key reserve.PodKey) {
	if node, known := h.ghosts.remove(key); known {
		h.tellGhosts(node)
	}
}

// tellGhosts tells a node's agent which ghosts are there, once they are all known.
func (h *Hub) tellGhosts(name string) {
	n := h.nodes.get(name)
	if n == nil {
		h.ghosts.forget(name) // it went before its ghosts
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	h.tellGhostsLocked(n)
}

// tellGhostsLocked is tellGhosts for a caller that holds the node's mutex: the set is
// read under it, so that the newest goes out last.
func (h *Hub) tellGhostsLocked(n *node) {
	if n.stream == nil || !h.synced.Load() {
		return
	}
	if pods, known := h.ghosts.list(n.name); known {
		n.stream.offerGhosts(pods)
	}
}
