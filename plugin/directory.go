package plugin

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
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
	// board has a square for each of nodes, in their order.
	board []square
	// ks are the capacities of nodes in typical loads, in their order, as the bits of a float64:
	// apart from the squares, for only profiles with a kWeight read them.
	ks []atomic.Uint64
	// power has a line for each of nodes, in their order.
	power []powerLine
	// table is an open hash table of the nodes. It knows names by their 64-bit
	// hashes alone, in which no two nodes agree: to compare the names, too, takes
	// as long again. The seed is random; a stranger's name has the hash of one of
	// 10,000 nodes with probability 10⁻¹⁵.
	table []place
	seed  maphash.Seed
	// byObject spares the names of the API's objects that were asked for before.
	byObject *acquaintance
}

// place is where a node is in nodes, counted from 1; 0 is an empty place.
type place struct {
	hash uint64
	at   int
}

// newDirectory gives each node a square. The caller holds no node's mutex.
func newDirectory(byName map[string]*node, limit int) *directory {
	d := &directory{
		nodes: make([]*node, 0, len(byName)),
		ids:   make([]int, 0, len(byName)),
		limit: limit, nowhere: placement.EveryNode(),
		board: make([]square, len(byName)),
		ks:    make([]atomic.Uint64, len(byName)),
		power: make([]powerLine, len(byName)),
		// At most half full, so that a search is short and ends.
		table:    make([]place, 1<<bits.Len(uint(2*len(byName)))),
		byObject: newAcquaintance(len(byName)),
	}
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		n := byName[name]
		n.mu.Lock()
		n.square, n.k, n.power = &d.board[i], &d.ks[i], &d.power[i]
		n.put(n.view.Load())
		n.mu.Unlock()
		d.nodes = append(d.nodes, n)
		d.ids = append(d.ids, n.id)
		d.nowhere.Remove(n.id)
	}
	for !d.fill() {
		clear(d.table)
	}
	return d
}

// fill makes the table with a new seed, and says whether all hashes differ.
func (d *directory) fill() bool {
	d.seed = maphash.MakeSeed()
	for i, n := range d.nodes {
		hash := maphash.String(d.seed, n.name)
		slot := d.slot(hash)
		for ; d.table[slot].at != 0; slot = d.slot(slot + 1) {
			if d.table[slot].hash == hash {
				return false
			}
		}
		d.table[slot] = place{hash: hash, at: i + 1}
	}
	return true
}

func (d *directory) slot(i uint64) uint64 { return i & uint64(len(d.table)-1) }

// find returns the place of a node.
func (d *directory) find(object *v1.Node) (int, bool) {
	if i, ok := d.byObject.find(object); ok {
		return i, true
	}
	i, ok := d.named(object.Name)
	if ok {
		d.byObject.add(object, i)
	}
	return i, ok
}

// knows reports whether all nodes are in the directory. Filter refuses one that is not,
// whose event is late.
func (d *directory) knows(nodes []fwk.NodeInfo) bool {
	for _, info := range nodes {
		if _, known := d.find(info.Node()); !known {
			return false
		}
	}
	return true
}

func (d *directory) named(name string) (int, bool) {
	hash := maphash.String(d.seed, name)
	for slot := d.slot(hash); ; slot = d.slot(slot + 1) {
		switch p := d.table[slot]; {
		case p.at == 0:
			return 0, false
		case p.hash == hash:
			return p.at - 1, true
		}
	}
}
