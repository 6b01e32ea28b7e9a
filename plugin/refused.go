package plugin

import (
	"math/bits"
	"sync/atomic"

	"github.com/spazio-scheduler/spazio/placement"
)

// refusedNodes are the nodes that the plugin alone refuses a pod while its attempt goes on. Any other
// node either refused the pod for a reason of its own, in which case the queueing hints of the plugin
// that did so wake it, or was tried in vain. The plugin's Filter runs after those of the default
// plugins, so a node that it is asked about has passed them all. Safe for concurrent use.
type refusedNodes struct {
	words []atomic.Uint64 // one bit a node, by its id
	added atomic.Int64    // how many
}

const wordBits = 64

// newRefusedNodes returns an empty set of nodes whose ids are below limit.
func newRefusedNodes(limit int) *refusedNodes {
	return &refusedNodes{words: make([]atomic.Uint64, (limit+wordBits-1)/wordBits)}
}

// add puts a node into the set. Nodes that joined after the attempt began belong to it anyway.
func (r *refusedNodes) add(id int) {
	if id/wordBits >= len(r.words) {
		return
	}
	bit := uint64(1) << (id % wordBits)
	if r.words[id/wordBits].Or(bit)&bit == 0 {
		r.added.Add(1)
	}
}

// waitSet returns the set as it is now, with the nodes whose ids are beyond it.
func (r *refusedNodes) waitSet() placement.WaitSet {
	set := placement.EveryNode()
	for i := range r.words {
		for out := ^r.words[i].Load(); out != 0; out &= out - 1 {
			set.Remove(i*wordBits + bits.TrailingZeros64(out))
		}
	}
	return set
}
