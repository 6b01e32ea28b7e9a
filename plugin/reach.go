package plugin

import "sync/atomic"

// reach is the set of nodes that a waiting pod waits for: those that the plugin
// alone refused it. Any other node either refused the pod for a reason of its
// own, in which case the queueing hints of the plugin that did so wake it, or
// was tried in vain.
//
// The plugin's Filter runs after those of the default plugins, so a node that
// it is asked about has passed them all. A node that was made after the
// attempt is in the set: nothing is known of it.
//
// One bit a node, by its id. Safe for concurrent use; there is always a set, and
// that of all nodes is everyNode.
type reach struct {
	// limit is the first id that the attempt did not know.
	limit int
	// complement says that the bits are of the nodes outside the set.
	complement bool
	bits       []atomic.Uint64
}

// everyNode is the set of all nodes, also of those to come. Nodes are neither
// added to it nor removed from it.
var everyNode = new(reach)

// newReach returns an empty set or, with complement, that of all nodes.
func newReach(limit int, complement bool) *reach {
	return &reach{limit: limit, complement: complement, bits: make([]atomic.Uint64, (limit+wordBits-1)/wordBits)}
}

// newNowhere returns an empty set that stays so.
func newNowhere(limit int) *reach { return &reach{limit: limit} }

const wordBits = 64

// bytes is the memory that the set takes, but for a constant.
func (r *reach) bytes() int { return wordBits / 8 * len(r.bits) }

// add puts a node into the set, remove takes it out. Ids from limit on are
// always in it.
func (r *reach) add(id int)    { r.set(id, !r.complement) }
func (r *reach) remove(id int) { r.set(id, r.complement) }

func (r *reach) set(id int, bit bool) {
	switch {
	case id/wordBits >= len(r.bits) || id >= r.limit:
	case bit:
		r.bits[id/wordBits].Or(1 << (id % wordBits))
	default:
		r.bits[id/wordBits].And(^uint64(1 << (id % wordBits)))
	}
}

// word returns the set's nodes of ids [64i, 64i+64), the lowest first.
func (r *reach) word(i int) uint64 {
	if i*wordBits >= r.limit {
		return ^uint64(0)
	}
	word := uint64(0)
	if i < len(r.bits) {
		word = r.bits[i].Load()
	}
	if r.complement {
		word = ^word
	}
	if past := r.limit - i*wordBits; past < wordBits {
		word |= ^uint64(0) << past
	}
	return word
}

// empty says that the set has none of the nodes that the attempt knew.
func (r *reach) empty() bool {
	if r == everyNode {
		return false
	}
	for i := range r.bits {
		word := r.word(i)
		if past := r.limit - i*wordBits; past < wordBits {
			word &^= ^uint64(0) << past
		}
		if word != 0 {
			return false
		}
	}
	return true
}
