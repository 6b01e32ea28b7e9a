package placement

import (
	"math/bits"
	"slices"
)

// WaitSet is a set of nodes: those whose change can help a pod. The zero value has no node. A value
// that was given to a Queue must not be changed afterwards.
type WaitSet struct {
	words []uint64
	// rest is set if the nodes beyond words belong to the set.
	rest bool
}

const wordBits = 64

// EveryNode returns the set of all nodes, those included that join later.
func EveryNode() WaitSet { return WaitSet{rest: true} }

// Has reports whether a node belongs to the set.
func (s *WaitSet) Has(node int) bool {
	return node >= 0 && s.word(node/wordBits)>>(node%wordBits)&1 == 1
}

// Add puts a node into the set.
func (s *WaitSet) Add(node int) { s.set(node, true) }

// Remove takes a node out of the set.
func (s *WaitSet) Remove(node int) { s.set(node, false) }

func (s *WaitSet) set(node int, in bool) {
	if node < 0 || s.Has(node) == in {
		return
	}
	for len(s.words) <= node/wordBits {
		s.words = append(s.words, s.word(len(s.words)))
	}
	s.words[node/wordBits] ^= 1 << (node % wordBits)
}

// word returns the nodes from 64i on, one a bit.
func (s *WaitSet) word(i int) uint64 {
	switch {
	case i < len(s.words):
		return s.words[i]
	case s.rest:
		return ^uint64(0)
	}
	return 0
}

// isEvery reports whether all nodes belong to the set.
func (s *WaitSet) isEvery() bool { return s.rest && s.length() == 0 }

// length is the number of words before those that are as rest has it.
func (s *WaitSet) length() int {
	n := len(s.words)
	for past := s.word(n); n > 0 && s.words[n-1] == past; n-- {
	}
	return n
}

func (s *WaitSet) equal(o *WaitSet) bool {
	n := s.length()
	return s.rest == o.rest && n == o.length() && slices.Equal(s.words[:n], o.words[:n])
}

// hash is equal for equal sets.
func (s *WaitSet) hash() uint64 {
	const prime = 0x100000001b3 // of FNV-1a, here by words
	h := uint64(0xcbf29ce484222325)
	if s.rest {
		h = ^h
	}
	for _, word := range s.words[:s.length()] {
		h = (h ^ word) * prime
		h ^= h >> 29 // or the low bits would not depend on high ones
	}
	return h
}

// first returns the lowest node of both sets; words are the places of o's words that may have any.
func (s *WaitSet) first(o *WaitSet, words []int) (node int, found bool) {
	for _, i := range words {
		if both := s.word(i) & o.word(i); both != 0 {
			return i*wordBits + bits.TrailingZeros64(both), true
		}
	}
	return 0, false
}

// sharedSet is a set that groups wait for.
type sharedSet struct {
	WaitSet
	groups int
}

// setTable holds the sets that pods wait for. Pods that wait for the same nodes share one: there
// are about as many as kinds of pods by what keeps them from nodes.
type setTable struct {
	// every is that of the pods that wait for every node, unknown of those of which is not known
	// what they wait for.
	every, unknown sharedSet

	all map[*sharedSet]struct{}
	// byHash leads to one set of each hash. It is stale after a node was added to all sets.
	byHash map[uint64]*sharedSet
	stale  bool
	// words counts those of all sets. A pod whose set would exceed most waits for every node.
	words, most int
}

// maxSetBytes holds the sets of 50,000 pods that each wait for others of 5,000 nodes.
const maxSetBytes = 32 << 20

// SetBytes returns the memory of the sets of nodes that pods wait for.
func (q *Queue) SetBytes() int { return q.sets.words * wordBits / 8 }

// BoundSets bounds that memory, which is 32 MiB otherwise. A pod beyond it waits for every node.
func (q *Queue) BoundSets(bytes int) { q.sets.most = bytes * 8 / wordBits }

// share returns the set of a table that is equal to s, false where there is no memory for it.
func (t *setTable) share(s WaitSet) (shared *sharedSet, ok bool) {
	if s.isEvery() {
		return &t.every, true
	}
	if t.stale {
		t.stale = false
		clear(t.byHash)
		for other := range t.all {
			t.byHash[other.hash()] = other
		}
	}
	sum := s.hash()
	if same := t.byHash[sum]; same != nil && same.equal(&s) {
		return same, true
	}
	s.words = slices.Clone(s.words[:s.length()])
	if t.words+len(s.words) > t.most {
		return &t.unknown, false
	}
	shared = &sharedSet{WaitSet: s}
	t.all[shared], t.byHash[sum] = struct{}{}, shared
	t.words += len(s.words)
	return shared, true
}

// hold counts a group that waits for a set, release one that does so no longer.
func (t *setTable) hold(s *sharedSet) { s.groups++ }

func (t *setTable) release(s *sharedSet) {
	if s.groups--; s.groups > 0 || s == &t.every || s == &t.unknown {
		return
	}
	if !t.stale {
		if sum := s.hash(); t.byHash[sum] == s {
			delete(t.byHash, sum)
		}
	}
	delete(t.all, s)
	t.words -= len(s.words)
}

// add puts a node into all sets.
func (t *setTable) add(node int) {
	for s := range t.all {
		before := len(s.words)
		s.Add(node)
		t.words += len(s.words) - before
	}
	t.stale = true
}
