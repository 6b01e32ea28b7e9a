package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// Errors of a hub.
var (
	// errChange refuses an inconsistent change.
	errChange = errors.New("invalid change")
	// errNotSynced is returned until markSynced is called.
	errNotSynced = errors.New("not everything has been read yet")
)

const (
	// remembered is how many changes a server remembers: those of a busy test bed's slots, of
	// which up to 40 come a second, for half an hour. Each takes a pointer.
	remembered = 1 << 16
	// mostGone bounds the JSON in bytes of objects that are gone but remembered: a job that has
	// run often has ten kilobytes, a scheduling of a long queue hundreds.
	mostGone = 16 << 20
)

// hub keeps the newest state of each object and sends subscribers what has changed.
//
// The hub numbers the changes and remembers, of the latest ones, which object each was of. A
// feed is a place in that sequence. It is sent each object that has changed behind the place, as
// the object is now: a slow reader gets the newest states, not all of them, and costs no more than
// there are objects. A reader whose place is no longer remembered is reset, and begins anew with a
// snapshot.
//
// A cursor is a place, with a random number that identifies the hub: other processes receive the
// changes in an order of their own. A cursor of another hub resets, too.
//
// A hub knows no clock and starts nothing. It is safe for concurrent use; a feed is one goroutine's
// at a time.
type hub struct {
	id    uint64        // of this hub among all processes' ones
	ready chan struct{} // closed by markSynced

	mu      sync.Mutex
	synced  bool
	seq     uint64 // number of the latest change; the first is 1
	objects map[key]*entry
	// recent is a ring: the object of change n is at n modulo its length, from the change after
	// forgotten to the latest.
	recent    []*entry
	forgotten uint64
	gone      int // bytes of the objects in recent that are gone
	subs      map[*feed]struct{}
}

// key is what an object is known by: another UID is another object.
type key struct {
	kind                 int // index of kinds
	namespace, name, uid string
}

// entry is an object, or what is left of it.
type entry struct {
	key
	added, changed uint64 // the numbers of its first and of its latest change
	deleted        bool
	raw            json.RawMessage // of all but slots that are there
	slots          *slotTable      // of those
}

// newHub returns a hub that knows nothing and will remember so many changes.
func newHub(remembered int) *hub {
	return &hub{
		id: rand.Uint64(), ready: make(chan struct{}), objects: map[key]*entry{},
		recent: make([]*entry, remembered), subs: map[*feed]struct{}{},
	}
}

// markSynced marks that Apply has had all objects that exist: from then on subscriptions are possible.
func (h *hub) markSynced() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.synced {
		h.synced = true
		close(h.ready)
	}
}

// apply records that an object was added, modified or deleted, and reports whether that changed
// anything. Its error wraps errChange, and the hub is unchanged.
func (h *hub) apply(op string, object wire.Resource) (bool, error) {
	meta := object.Common()
	all, isSlots := object.(wire.TestbedSlots)
	switch {
	case op != wire.Added && op != wire.Modified && op != wire.Deleted, meta.Name == "", all.Partial:
		return false, fmt.Errorf("%w: it is %q of %q, of all slots %t", errChange, op, meta.Name, !all.Partial)
	case isSlots: // of a deletion there are none, else the entry's table encodes them
		object = wire.TestbedSlots{Meta: meta, Slots: []wire.Slot{}}
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errChange, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	of := key{indexOf(object.ObjectKind()), meta.Namespace, meta.Name, meta.UID}
	e := h.objects[of]
	switch next := h.seq + 1; {
	case op == wire.Deleted && e == nil:
		return false, nil
	case op == wire.Deleted:
		delete(h.objects, of)
		e.deleted, e.raw, e.slots = true, raw, nil
		h.gone += len(raw)
	case e == nil:
		e = &entry{key: of, added: next, raw: raw}
		if isSlots {
			e.slots = new(slotTable)
			e.slots.update(&all, next)
		}
		h.objects[of] = e
	case isSlots:
		if !e.slots.update(&all, next) {
			return false, nil
		}
	case bytes.Equal(e.raw, raw):
		return false, nil
	default:
		e.raw = raw
	}
	h.remember(e)
	for s := range h.subs {
		if s.filter.matches(&of) {
			s.wake()
		}
	}
	return true, nil
}

// remember numbers a change of e and puts it into the ring.
func (h *hub) remember(e *entry) {
	e.changed = 0 // else forgetting its change before would count a deletion as forgotten
	if h.seq-h.forgotten == uint64(len(h.recent)) {
		h.forget()
	}
	h.seq++
	e.changed = h.seq
	*h.at(h.seq) = e
	for h.gone > mostGone {
		h.forget()
	}
}

// forget takes the oldest change out of the ring.
func (h *hub) forget() {
	h.forgotten++
	at := h.at(h.forgotten)
	if e := *at; e.deleted && e.changed == h.forgotten {
		h.gone -= len(e.raw)
	}
	*at = nil
}

// at returns the place in the ring of a change that is remembered.
func (h *hub) at(n uint64) **entry { return &h.recent[n%uint64(len(h.recent))] }

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
