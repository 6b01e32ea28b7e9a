package plugin

import (
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/placement"
)

// directory is an immutable index of all nodes, by name.
type directory struct {
	nodes []*node
	// ids are those of nodes, all below limit.
	ids   []int
	limit int
	// nowhere is what a pod waits for that found room on all of them: nodes that join later.
	nowhere placement.WaitSet
	// places are those of the names in nodes.
	places map[string]int
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

// covers reports whether the directory has as many nodes as the scheduler passes. Where it has not,
// a node's event is late, and Filter refuses that node. To look up each name would take longer than
// everything else that a cycle does.
func (d *directory) covers(nodes []fwk.NodeInfo) bool { return len(nodes) <= len(d.nodes) }
