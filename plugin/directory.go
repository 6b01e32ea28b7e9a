package plugin

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// directory is an immutable index of all nodes, by name.
type directory struct {
	nodes []*node
	// table is an open hash table of the nodes. It knows names by their 64-bit
	// hashes alone, in which no two nodes agree: a cycle looks every node up
	// twice, and to compare the names, too, takes as long again. The seed is
	// random; a stranger's name has the hash of one of 10,000 nodes with
	// probability 10⁻¹⁵.
	table []place
	seed  maphash.Seed
}

// place is where a node is in nodes, counted from 1; 0 is an empty place.
type place struct {
	hash uint64
	at   int
}

func newDirectory(byName map[string]*node) *directory {
	d := &directory{
		nodes: make([]*node, 0, len(byName)),
		// At most half full, so that a search is short and ends.
		table: make([]place, 1<<bits.Len(uint(2*len(byName)))),
	}
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		d.nodes = append(d.nodes, byName[name])
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
func (d *directory) find(name string) (int, bool) {
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
