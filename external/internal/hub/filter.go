package hub

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// Filter is which objects a subscription is about. The zero value is none.
type Filter struct {
	kinds     kindSet
	namespace string
	names     []string // sorted
}

// NewFilter returns a Filter of objects of the kinds, in the namespace or, if it is empty, in
// all, and of the names or, if there are none, of any. A kind that is none is a *field.Error.
func NewFilter(of []wire.Kind, namespace string, names []string) (Filter, error) {
	f := Filter{namespace: namespace}
	for _, k := range of {
		r, ok := rank(k)
		if !ok {
			return Filter{}, refuse("Kind", k, "testbeds, slots, jobs or schedulings")
		}
		f.kinds |= 1 << r
	}
	f.names = slices.Compact(slices.Sorted(slices.Values(names)))
	return f, nil
}

func (f *Filter) matches(k *key) bool {
	if !f.kinds.has(k.rank) || f.namespace != "" && f.namespace != k.namespace {
		return false
	}
	if len(f.names) == 0 {
		return true
	}
	_, ok := slices.BinarySearch(f.names, k.name)
	return ok
}

// scope tells the cursors apart that a filter can't take from each other, but for their
// kinds: a cursor says for each of these alone.
func (h *Hub) scope(f *Filter) uint32 {
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, f.namespace) // a hash takes everything
	for _, name := range f.names {
		_, _ = io.WriteString(hash, "\x00"+name) // no name has it
	}
	if h.apart {
		_, _ = hash.Write(binary.BigEndian.AppendUint32([]byte{0xff}, h.config.ID)) // nor that
	}
	return hash.Sum32()
}
