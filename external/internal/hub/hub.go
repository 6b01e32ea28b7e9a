package hub

import (
	"bytes"
	"cmp"
	"errors"
	"sync"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// ErrNotSynced says that not everything has been told to the Hub yet.
var ErrNotSynced = errors.New("not everything has been read yet")

// Config bounds what a Hub keeps of objects that are gone. Zero fields have the defaults.
type Config struct {
	// Tombstones is how many (10,000), TombstoneBytes of how many bytes of JSON (16 MiB):
	// a job that has run often has ten kilobytes.
	Tombstones     int
	TombstoneBytes int
	// ID tells hubs apart, where cursors of others are of no use; see Synced.
	ID uint32
}

// Hub has the newest state of each object. Create it with New. It is safe for concurrent
// use.
type Hub struct {
	config Config

	ready chan struct{} // closed by Synced

	mu      sync.Mutex
	synced  bool
	apart   bool   // changes may come out of order
	seq     uint64 // of the latest change; 0 is before everything
	entries map[key]*entry
	all     entry // of the ring of entries, by seq: all.next is the first
	kinds   [len(kinds)]kindState
	graves  []*entry // the tombstones, oldest first
	buried  int      // bytes of them
	subs    map[*Subscription]struct{}
}

// entry is an object, or what is left of it.
type entry struct {
	key
	version uint64
	// seq is when it last changed. added is when it came, after addedVersion-1; both are 0
	// of what was there from the beginning.
	seq, added   uint64
	addedVersion uint64
	deleted      bool
	// late says that its last change came out of order, behind one of another namespace.
	late       bool
	raw        []byte     // of all but slots that are there
	slots      *slotTable // of those
	prev, next *entry
}

// kindState is what is known of a kind.
type kindState struct {
	newest uint64 // version of all that was told
	listed bool   // a bookmark said so
	// A cursor that is older than floor may have missed a deletion; while lost, any may.
	floor uint64
	lost  bool
	// trimmed is the seq of the newest tombstone that was given up.
	trimmed uint64
}

// New returns a Hub that knows nothing.
func New(c Config) *Hub {
	c.Tombstones = cmp.Or(c.Tombstones, 10_000)
	c.TombstoneBytes = cmp.Or(c.TombstoneBytes, 16<<20)
	h := &Hub{config: c, seq: 1, ready: make(chan struct{}), entries: map[key]*entry{}, subs: map[*Subscription]struct{}{}}
	h.all.prev, h.all.next = &h.all, &h.all
	return h
}

// Synced says that all there is has been told: from now on there are subscriptions. Without
// a bookmark of each kind but slots before it, changes may come out of order: a cursor of
// another Hub may then have passed by what was told in order here, and is of no use.
func (h *Hub) Synced() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.synced {
		return
	}
	h.synced = true
	close(h.ready)
	for r := range h.kinds {
		k := &h.kinds[r]
		k.floor = k.newest
		h.apart = h.apart || r != slotsRank && !k.listed
	}
}

// Ready is closed by Synced.
func (h *Hub) Ready() <-chan struct{} { return h.ready }

// Apply takes in a change and says whether it was news: what is not newer than what is
// known changes nothing. Its error is a *field.Error, and the Hub is as it was.
func (h *Hub) Apply(c Change) (bool, error) {
	u, err := c.check()
	if err != nil {
		return false, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if u.op == wire.Bookmark {
		h.advance(u)
		return true, nil
	}
	if !h.change(h.entries[u.key], u) {
		return false, nil
	}
	for s := range h.subs {
		if s.filter.matches(&u.key) {
			s.wake()
		}
	}
	return true, nil
}

// change says whether there is anything new in u, e being what is known, or nil.
func (h *Hub) change(e *entry, u update) bool {
	gone := u.op == wire.Deleted
	switch {
	case e != nil && e.deleted && (gone || u.version <= e.version):
		return false
	case e != nil && e.deleted:
		h.exhume(e)
		e = h.add(u)
	case e == nil:
		e = h.add(u)
		if gone {
			e.addedVersion = 0 // clients of another hub may know it
		}
	case gone:
		// Of a deletion that was missed, a Store has no version but the object's.
		u.version = max(u.version, e.version)
	case u.version < e.version:
		return false
	case u.version == e.version && u.slots == nil && bytes.Equal(u.raw, e.raw):
		return false // what comes out of order may have the version of what was told before it
	}
	e.late = h.synced && u.version <= h.kinds[u.key.rank].newest
	h.advance(u)
	e.version = u.version
	h.seq++
	switch {
	case gone:
		h.touch(e)
		h.bury(e, u)
		return true
	case u.slots == nil:
		e.raw = u.raw
	case e.slots == nil:
		e.slots = newSlotTable(u.slots, h.seq)
	case !e.slots.update(u.slots, h.seq):
		return false // the version alone
	}
	h.touch(e)
	return true
}

func (h *Hub) add(u update) *entry {
	e := &entry{key: u.key}
	if h.synced {
		e.added, e.addedVersion = h.seq+1, u.version
	}
	h.entries[u.key] = e
	h.link(e)
	return e
}

// advance moves a kind's newest version. A change behind it comes out of order: a cursor
// may have passed it by, so none is of use until one is known to be after it.
func (h *Hub) advance(u update) {
	k := &h.kinds[u.key.rank]
	bookmark := u.op == wire.Bookmark
	switch {
	case u.key.rank == slotsRank:
	case !h.synced:
		k.listed = k.listed || bookmark
	case u.version <= k.newest:
		k.lost = k.lost || !bookmark
	case k.lost:
		k.lost, k.floor = false, u.version
	}
	k.newest = max(k.newest, u.version)
}

// bury makes a tombstone of an entry.
func (h *Hub) bury(e *entry, u update) {
	e.deleted, e.raw = true, u.raw
	if u.slots != nil {
		e.raw, e.slots = tombstone(u.slots), nil
	}
	h.graves = append(h.graves, e)
	h.buried += len(e.raw)
	for len(h.graves) > h.config.Tombstones || h.buried > h.config.TombstoneBytes {
		oldest := h.graves[0]
		k := &h.kinds[oldest.rank]
		k.floor, k.trimmed = max(k.floor, oldest.version), max(k.trimmed, oldest.seq)
		h.forget(0)
	}
}

// exhume takes a tombstone away, for its object is there again.
func (h *Hub) exhume(e *entry) {
	for i, other := range h.graves {
		if other == e {
			h.forget(i)
			return
		}
	}
}

func (h *Hub) forget(i int) {
	e := h.graves[i]
	h.buried -= len(e.raw)
	if i == 0 {
		h.graves[0] = nil
		h.graves = h.graves[1:]
	} else {
		h.graves = append(h.graves[:i], h.graves[i+1:]...)
	}
	e.prev.next, e.next.prev = e.next, e.prev
	delete(h.entries, e.key)
}

func (h *Hub) link(e *entry) {
	last := h.all.prev
	e.prev, e.next = last, &h.all
	last.next, h.all.prev = e, e
}

// touch makes e the latest that has changed.
func (h *Hub) touch(e *entry) {
	e.seq = h.seq
	e.prev.next, e.next.prev = e.next, e.prev
	h.link(e)
}
