package sim

import (
	"iter"
	"math/bits"
)

// parking holds pods by number, of which there may be tens of thousands, while
// some of the first come and go all the time.
type parking struct {
	pods  []waiting // by number; those with a bit are there
	bits  []uint64  // a bit a pod
	first int       // no word of bits before this one has a bit
	count int
}

// add parks a pod that is not parked.
func (p *parking) add(w waiting) {
	word := int(w.pod) / 64
	for word >= len(p.bits) {
		p.bits = append(p.bits, 0)
		p.pods = append(p.pods, make([]waiting, 64)...)
	}
	p.pods[w.pod] = w
	p.bits[word] |= 1 << (w.pod % 64)
	p.first = min(p.first, word)
	p.count++
}

// remove takes a pod out that is parked.
func (p *parking) remove(pod int32) {
	p.bits[pod/64] &^= 1 << (pod % 64)
	p.count--
}

// all yields the pods by number. The loop may remove the pod that it is at.
func (p *parking) all() iter.Seq[*waiting] {
	return func(yield func(*waiting) bool) {
		for p.first < len(p.bits) && p.bits[p.first] == 0 {
			p.first++
		}
		for word := p.first; word < len(p.bits); word++ {
			for left := p.bits[word]; left != 0; left &= left - 1 {
				if !yield(&p.pods[64*word+bits.TrailingZeros64(left)]) {
					return
				}
			}
		}
	}
}
