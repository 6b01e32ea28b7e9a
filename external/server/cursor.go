package server

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// kinds are in the order of their bits in a kindSet.
var kinds = [...]wire.Kind{wire.Testbeds, wire.Slots, wire.Jobs, wire.Schedulings}

// kindSet is a set of kinds by their indices in kinds.
type kindSet uint8

func indexOf(kind wire.Kind) int { return slices.Index(kinds[:], kind) }

func (s kindSet) has(kind int) bool { return s&(1<<kind) != 0 }

// filter selects the objects of a subscription. The zero value selects none.
type filter struct {
	kinds     kindSet
	namespace string
	names     []string // sorted
}

// newFilter returns a filter of objects of the kinds, in the namespace or, if it is empty, in
// all, and of the names or, if there are none, of any.
func newFilter(of []wire.Kind, namespace string, names []string) filter {
	f := filter{namespace: namespace, names: slices.Sorted(slices.Values(names))}
	for i, kind := range kinds {
		if slices.Contains(of, kind) {
			f.kinds |= 1 << i
		}
	}
	return f
}

func (f *filter) matches(k *key) bool {
	if !f.kinds.has(k.kind) || f.namespace != "" && f.namespace != k.namespace {
		return false
	}
	if len(f.names) == 0 {
		return true
	}
	_, ok := slices.BinarySearch(f.names, k.name)
	return ok
}

// scope differs for filters that can't use each other's cursors. Kinds make no difference: a
// cursor has its own.
func (f *filter) scope() uint32 {
	return crc32.ChecksumIEEE([]byte(f.namespace + "/" + strings.Join(f.names, "/"))) // no name has a solidus
}

// cursor is how far a subscription has been sent changes.
type cursor struct {
	hub   uint64  // hub.id
	scope uint32  // filter.scope
	kinds kindSet // that it is about
	place uint64  // number of the latest change that was sent
}

func (c *cursor) encode() string {
	text := fmt.Sprintf("%x-%x-%x-%x", c.hub, c.scope, c.kinds, c.place)
	return fmt.Sprintf("%s-%x", text, crc32.ChecksumIEEE([]byte(text)))
}

// decodeCursor reads what encode wrote, and reports whether it is that.
func decodeCursor(text string) (c cursor, ok bool) {
	_, err := fmt.Sscanf(text, "%x-%x-%x-%x-", &c.hub, &c.scope, &c.kinds, &c.place)
	return c, err == nil && c.encode() == text
}
