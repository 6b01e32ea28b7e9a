package slot

import (
	"iter"
	"math/bits"
)

// Positions is a set of positions on a node, 0 to MaxPerNode−1. The zero value is
// empty. It is a value: methods return another, and == compares.
type Positions struct {
	words [2]uint64
}

// First returns the positions 0 to n−1. n is held to 0 and MaxPerNode.
func First(n int) Positions {
	var p Positions
	for i := range min(n, MaxPerNode) {
		p = p.With(i)
	}
	return p
}

// Len returns how many there are.
func (p Positions) Len() int { return bits.OnesCount64(p.words[0]) + bits.OnesCount64(p.words[1]) }

// Has reports whether position i is in the set.
func (p Positions) Has(i int) bool {
	return i >= 0 && i < MaxPerNode && p.words[i/64]&(1<<(i%64)) != 0
}

// With returns the set with position i. What is no position is left out.
func (p Positions) With(i int) Positions {
	if i >= 0 && i < MaxPerNode {
		p.words[i/64] |= 1 << (i % 64)
	}
	return p
}

// Without returns the set without position i.
func (p Positions) Without(i int) Positions {
	if i >= 0 && i < MaxPerNode {
		p.words[i/64] &^= 1 << (i % 64)
	}
	return p
}

// All yields the positions, ascending.
func (p Positions) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for w, word := range p.words {
			for ; word != 0; word &= word - 1 {
				if !yield(64*w + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}
