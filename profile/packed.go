package profile

import (
	"math"
	"slices"
)

// The nodes of a slot of the day that is over are kept as bytes: a third of their size
// where each has shown one pod, as in the first day, and three quarters later. They say the
// same to the last bit. What is looked at in most windows, the day and the slot that it is,
// is never packed.

// Flags of what a node's ended pods have shown of a resource, by half a byte each.
const (
	packedNothing = 1 << iota // and no more follows
	packedSame                // as many pods as the one before, or one
	packedWhole               // the mean is a whole number
	packedEven                // the variance is 0
	packedFlags   = 4         // bits
)

// mostPacked is how many bytes a node takes at most.
const mostPacked = 8 + 1 + int(resources)*(10+3*8)

// pack keeps the nodes as bytes.
func (s *scope) pack() {
	if len(s.nodes) == 0 {
		return
	}
	var few [mostNodes * mostPacked]byte
	e := encoder{few[:0]}
	before := kept{pods: 1}
	for i := range s.nodes {
		n := &s.nodes[i]
		e.key(n.key)
		flags := byte(0)
		last := before
		for r, k := range n.ended {
			flags |= k.flags(last) << (r * packedFlags)
			if !k.none() {
				last = k
			}
		}
		e.b = append(e.b, flags)
		for r, k := range n.ended {
			if !k.none() {
				e.kept(k, before, flags>>(r*packedFlags))
				before = k
			}
		}
	}
	s.packed, s.count, s.nodes = slices.Clone(e.b), len(s.nodes), nil
}

// open is for who will change the nodes.
func (s *scope) open() {
	if s.packed != nil {
		s.nodes = s.unpackTo(make([]ofNode, 0, s.count))
		s.packed, s.count = nil, 0
	}
}

// all are the nodes, which are not to be changed, in dst where they are packed.
func (s *scope) all(dst []ofNode) []ofNode {
	if s.packed == nil {
		return s.nodes
	}
	return s.unpackTo(dst[:0])
}

// size is how many nodes there are.
func (s *scope) size() int { return len(s.nodes) + s.count }

func (s *scope) unpackTo(dst []ofNode) []ofNode {
	d := decoder{b: s.packed}
	before := kept{pods: 1}
	for range s.count {
		n := ofNode{key: d.key()}
		flags := d.take(1)[0]
		for r := range n.ended {
			of := flags >> (r * packedFlags)
			if of&packedNothing == 0 {
				before = d.kept(before, of)
				n.ended[r] = before
			}
		}
		dst = append(dst, n)
	}
	return dst
}

func (k kept) flags(before kept) (flags byte) {
	if k.none() {
		return packedNothing
	}
	if same(k.pods, before.pods) {
		flags |= packedSame
	}
	if k.mean >= 0 && k.mean < 1<<53 && same(k.mean, float64(uint64(k.mean))) {
		flags |= packedWhole
	}
	if same(k.variance, 0) {
		flags |= packedEven
	}
	return flags
}

func (k kept) none() bool {
	return k.at == 0 && same(k.pods, 0) && same(k.mean, 0) && same(k.variance, 0)
}

// same distinguishes 0 from −0.
func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

func (e *encoder) kept(k, before kept, flags byte) {
	if flags&packedSame == 0 {
		e.float(k.pods)
	}
	if flags&packedWhole != 0 {
		e.uint(uint64(k.mean))
	} else {
		e.float(k.mean)
	}
	if flags&packedEven == 0 {
		e.float(k.variance)
	}
	e.int(k.at - before.at)
}

func (d *decoder) kept(before kept, flags byte) (k kept) {
	k = kept{pods: before.pods}
	if flags&packedSame == 0 {
		k.pods = math.Float64frombits(d.key())
	}
	if flags&packedWhole != 0 {
		k.mean = float64(d.uint())
	} else {
		k.mean = math.Float64frombits(d.key())
	}
	if flags&packedEven == 0 {
		k.variance = math.Float64frombits(d.key())
	}
	k.at = before.at + d.int()
	return k
}
