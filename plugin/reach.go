package plugin

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"sync/atomic"
)

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
	// twin is an equal set that is kept in the place of this one: what is added to one
	// belongs to both.
	twin atomic.Pointer[reach]
	// groups counts those that wait for the set, complete is set once its attempt adds no more to
	// it, and sum is its place among the complete ones; the mutex of waiting guards them.
	groups   int
	complete bool
	sum      uint64
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
func (r *reach) add(id int) {
	r.set(id, !r.complement)
	if twin := r.twin.Load(); twin != nil {
		twin.add(id)
	}
}

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

// include adds the nodes of another set.
func (r *reach) include(other *reach) {
	for i := range r.words() {
		for more := other.word(i) &^ r.word(i); more != 0; more &= more - 1 {
			r.add(i*wordBits + bits.TrailingZeros64(more))
		}
	}
}

// words returns how many words there are before those with all nodes.
func (r *reach) words() int {
	n := (r.limit + wordBits - 1) / wordBits
	for n > 0 && r.word(n-1) == ^uint64(0) {
		n--
	}
	return n
}

// hash returns the same for sets of the same nodes.
func (r *reach) hash(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	var word [wordBits / 8]byte
	for i := range r.words() {
		binary.LittleEndian.PutUint64(word[:], r.word(i))
		_, _ = h.Write(word[:])
	}
	return h.Sum64()
}

// equal reports whether two sets have the same nodes.
func (r *reach) equal(other *reach) bool {
	n := r.words()
	if n != other.words() {
		return false
	}
	for i := range n {
		if r.word(i) != other.word(i) {
			return false
		}
	}
	return true
}

// reaches are the sets that pods wait for. Pods that wait for the same nodes share one: there
// are about as many as kinds of pods by what keeps them from nodes. The mutex of waiting
// guards them.
type reaches struct {
	// all are those with a group but for that of all nodes, bytes is their memory, at most
	// most.
	all         map[*reach]struct{}
	bytes, most int
	// complete are those to which nothing is added any more but nodes that change, by their
	// hash. They are out of date if such a node was added to them.
	complete  map[uint64]*reach
	outOfDate bool
	seed      maphash.Seed
}

func newReaches() reaches {
	return reaches{all: make(map[*reach]struct{}), complete: make(map[uint64]*reach), most: maxReachBytes, seed: maphash.MakeSeed()}
}

// admit puts a node of which something has changed into all sets.
func (s *reaches) admit(id int) {
	for r := range s.all {
		r.add(id)
	}
	s.outOfDate = true
}

// share returns the set that is kept in the place of r, to which its attempt adds no more:
// r itself if there is no equal one.
func (s *reaches) share(r *reach) *reach {
	if r.complete || len(r.bits) == 0 {
		return r
	}
	if s.outOfDate {
		s.outOfDate = false
		clear(s.complete)
		for other := range s.all {
			if other.complete {
				other.sum = other.hash(s.seed)
				s.complete[other.sum] = other
			}
		}
	}
	sum := r.hash(s.seed)
	if same := s.complete[sum]; same != nil && same.equal(r) {
		return same
	}
	r.complete, r.sum = true, sum
	return r
}

// fits reports whether there is memory for a set.
func (s *reaches) fits(r *reach) bool {
	return r.groups > 0 || r.bytes() == 0 || s.bytes+r.bytes() <= s.most
}

// hold counts a group that waits for a set, letGo one that does so no longer.
func (s *reaches) hold(r *reach) {
	if r == everyNode {
		return
	}
	if r.groups++; r.groups > 1 {
		return
	}
	s.all[r] = struct{}{}
	s.bytes += r.bytes()
	if r.complete && len(r.bits) > 0 {
		s.complete[r.sum] = r
	}
}

func (s *reaches) letGo(r *reach) {
	if r == everyNode {
		return
	}
	if r.groups--; r.groups > 0 {
		return
	}
	delete(s.all, r)
	s.bytes -= r.bytes()
	if s.complete[r.sum] == r {
		delete(s.complete, r.sum)
	}
}
