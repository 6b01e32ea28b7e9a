package plugin

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

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
	for _, n := range byName {
		d.nodes = append(d.nodes, n)
	}
	slices.SortFunc(d.nodes, func(a, b *node) int { return strings.Compare(a.name, b.name) })
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
