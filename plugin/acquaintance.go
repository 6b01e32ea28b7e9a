package plugin

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
)

// acquaintance finds the place of a node by the identity of its API object,
// which the scheduler passes with each visit and which changes only with an
// update of the node. To read the name takes longer: it lies in memory that
// nothing else has touched in the cycle.
//
// It is a cache: entries may be lost or out of date, and what find returns is
// right nevertheless, since objects has the last word. Safe for concurrent use.
type acquaintance struct {
	// objects holds the object that was last seen of each place, and so keeps its
	// address from being used for another.
	objects []atomic.Pointer[v1.Node]
	// slots hold the upper bits of an object's hash and, in the lower ones, its
	// place counted from 1; 0 is an empty slot.
	slots []atomic.Uint64
	seed  maphash.Seed
}

const (
	placeBits = 24
	placeMask = 1<<placeBits - 1
	// probes is how many slots in a row an object may be in.
	probes = 8
)

func newAcquaintance(places int) *acquaintance {
	return &acquaintance{
		objects: make([]atomic.Pointer[v1.Node], places),
		slots:   make([]atomic.Uint64, 1<<bits.Len(uint(2*places))),
		seed:    maphash.MakeSeed(),
	}
}

func (a *acquaintance) slot(i uint64) *atomic.Uint64 { return &a.slots[i&uint64(len(a.slots)-1)] }

func (a *acquaintance) find(object *v1.Node) (int, bool) {
	hash := maphash.Comparable(a.seed, object)
	for i := range uint64(probes) {
		entry := a.slot(hash + i).Load()
		if entry == 0 { // it would have been added here
			return 0, false
		}
		if (entry^hash)>>placeBits != 0 {
			continue
		}
		if at := int(entry&placeMask) - 1; a.objects[at].Load() == object {
			return at, true
		}
	}
	return 0, false
}

// add remembers the object of a place instead of the one before it.
func (a *acquaintance) add(object *v1.Node, at int) {
	if at+1 > placeMask {
		return
	}
	a.objects[at].Store(object)
	hash := maphash.Comparable(a.seed, object)
	into := a.slot(hash)
	for i := range uint64(probes) {
		if slot := a.slot(hash + i); a.vacant(slot.Load()) {
			into = slot
			break
		}
	}
	into.Store(hash&^placeMask | uint64(at+1))
}

// vacant says that an entry leads to no object any more.
func (a *acquaintance) vacant(entry uint64) bool {
	if entry == 0 {
		return true
	}
	object := a.objects[entry&placeMask-1].Load()
	return object == nil || (maphash.Comparable(a.seed, object)^entry)>>placeBits != 0
}
