package plugin

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/placement"
)

// directory is an index of all nodes, by name. All but known is immutable.
type directory struct {
	nodes []*node
	// ids are those of nodes, all below limit.
	ids   []int
	limit int
	// nowhere is what a pod waits for that found room on all of them: nodes that join later.
	nowhere placement.WaitSet
	// places are those of the names in nodes.
	places map[string]int
	// known is the last element of the newest slice of nodes that knows has looked up.
	known atomic.Pointer[fwk.NodeInfo]
}

func newDirectory(byName map[string]*node, limit int) *directory {
	d := &directory{limit: limit, nowhere: placement.EveryNode(), places: make(map[string]int, len(byName))}
	d.nodes = slices.SortedFunc(maps.Values(byName), func(a, b *node) int { return strings.Compare(a.name, b.name) })
	for i, n := range d.nodes {
		d.ids = append(d.ids, n.id)
		d.nowhere.Remove(n.id)
		d.places[n.name] = i
	}
	return d
}

// energy returns how a ranker compares the nodes for a pod of so many cores.
func (d *directory) energy(r *energy.Ranker, cores float64, now time.Duration) energy.Ranking {
	return r.For(cores, now, func(add func(*energy.Power, int, float64)) {
		for _, n := range d.nodes {
			if v := n.view.Load(); v.fresh(now) {
				add(&v.power, 0, 0)
			}
		}
	})
}

// knows reports whether all nodes are in the directory. Filter refuses one that is not, whose event
// is late. To look up every name takes longer than to decide for all nodes, and kube-scheduler passes
// the same slice until a node joins or leaves, so the names are looked up once a slice.
func (d *directory) knows(nodes []fwk.NodeInfo) bool {
	if len(nodes) == 0 {
		return true
	}
	last := &nodes[len(nodes)-1]
	if d.known.Load() == last {
		return true
	}
	for _, info := range nodes {
		if _, known := d.places[info.Node().Name]; !known {
			return false
		}
	}
	d.known.Store(last)
	return true
}

// nodes is the directory of all nodes. Safe for concurrent use.
type nodes struct {
	mu     sync.RWMutex
	byName map[string]*node
	ids    numbers
	// published is the directory as scheduling cycles read it; nil after a
	// change, so that many changes cost one copy.
	published atomic.Pointer[directory]
}

func (ns *nodes) get(name string) *node {
	ns.mu.RLock()
	defer ns.mu.RUnlock()
	return ns.byName[name]
}

// ensure returns the node, made by build if it is new.
func (ns *nodes) ensure(name string, build func() *node) (n *node, made bool) {
	if n := ns.get(name); n != nil {
		return n, false
	}
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if n := ns.byName[name]; n != nil {
		return n, false
	}
	n = build()
	n.id = ns.ids.take()
	ns.byName[name] = n
	ns.published.Store(nil)
	return n, true
}

// remove takes a node out, and reports whether it was there: another may have its name.
func (ns *nodes) remove(n *node) bool {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if ns.byName[n.name] != n {
		return false
	}
	ns.ids.release(n.id)
	delete(ns.byName, n.name)
	ns.published.Store(nil)
	return true
}

// list returns the current directory. The caller holds no node's mutex.
func (ns *nodes) list() *directory {
	if d := ns.published.Load(); d != nil {
		return d
	}
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if d := ns.published.Load(); d != nil {
		return d
	}
	d := newDirectory(ns.byName, ns.ids.limit)
	ns.published.Store(d)
	return d
}

// numbers gives small numbers to things that come and go. The zero value has given none.
type numbers struct {
	// limit is the lowest number that was never taken, spare are the released ones.
	limit int
	spare []int
}

// take returns an unused number, the last released one if there is any.
func (n *numbers) take() int {
	if last := len(n.spare) - 1; last >= 0 {
		number := n.spare[last]
		n.spare = n.spare[:last]
		return number
	}
	n.limit++
	return n.limit - 1
}

func (n *numbers) release(number int) { n.spare = append(n.spare, number) }

// grown returns a slice that has an element at i.
func grown[T any](s []T, i int) []T {
	return slices.Grow(s, max(i+1-len(s), 0))[:max(i+1, len(s))]
}

// isPlain reports whether the pod asks nothing of a node: no resources, no selector,
// no ports, no volume that is not everywhere. Only a taint keeps it from a node
// with room, except in rare cases (a node with its most pods, another pod's
// anti-affinity), which an attempt there finds out. What such a pod waits for is
// known without a visit of all nodes.
func isPlain(pod *v1.Pod) bool {
	s := &pod.Spec
	if len(s.NodeSelector) > 0 || s.Affinity != nil || len(s.TopologySpreadConstraints) > 0 ||
		len(s.ResourceClaims) > 0 || len(s.Overhead) > 0 || s.Resources != nil || s.NodeName != "" || isGrouped(s) {
		return false
	}
	return !slices.ContainsFunc(s.InitContainers, asksOfNode) && !slices.ContainsFunc(s.Containers, asksOfNode) &&
		!slices.ContainsFunc(s.Volumes, isElsewhere)
}

func asksOfNode(c v1.Container) bool {
	return len(c.Resources.Requests) > 0 || len(c.Resources.Limits) > 0 || len(c.Resources.Claims) > 0 ||
		slices.ContainsFunc(c.Ports, func(p v1.ContainerPort) bool { return p.HostPort > 0 })
}

// isElsewhere reports whether a volume may be out of some node's reach.
func isElsewhere(v v1.Volume) bool {
	return v.EmptyDir == nil && v.ConfigMap == nil && v.Secret == nil && v.Projected == nil && v.DownwardAPI == nil && v.HostPath == nil
}

// tolerates reports whether a pod may go to a node with a taint.
func tolerates(pod *v1.Pod, taint *v1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t v1.Toleration) bool {
		// Whether the cluster compares numbers is unknown: a pod that asks for it
		// is tried.
		return t.ToleratesTaint(klog.Background(), taint, true)
	})
}

// taintsOf returns the taints that keep pods from a node.
func taintsOf(object *v1.Node) []v1.Taint {
	var taints []v1.Taint
	for _, t := range object.Spec.Taints {
		if t.Effect != v1.TaintEffectPreferNoSchedule {
			taints = append(taints, v1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
		}
	}
	if object.Spec.Unschedulable {
		taints = append(taints, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	}
	return taints
}

// setTaints notes the node's taints, which are not changed any more, and reports whether it lost any.
func (n *node) setTaints(taints []v1.Taint) (lost bool) {
	before := n.taints.Swap(&taints)
	return before != nil && slices.ContainsFunc(*before, func(taint v1.Taint) bool { return !slices.Contains(taints, taint) })
}

// repels reports whether the node has a taint that the pod does not tolerate.
func (n *node) repels(pod *v1.Pod) bool {
	taints := n.taints.Load()
	return taints != nil && slices.ContainsFunc(*taints, func(taint v1.Taint) bool { return !tolerates(pod, &taint) })
}
