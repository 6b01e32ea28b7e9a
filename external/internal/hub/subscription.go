package hub

import (
	"maps"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// A page has at most so many objects, and ends with the one that makes it this long.
const (
	pageObjects = 500
	pageBytes   = 1 << 20
)

// Subscription is a reader's place in a Hub. It is not safe for concurrent use, but for the
// wake function that it was made with, which the Hub calls.
type Subscription struct {
	hub    *Hub
	filter Filter
	wake   func()

	seq    uint64 // everything up to it has been taken
	reset  string // why the client must be reset; it is told next
	told   cursor
	marks  map[key]mark // of told
	unseen kindSet      // kinds of which everything is still to be told

	// resumed are the versions that another hub told: this one may be behind, and must not
	// tell again.
	resumed [len(kinds)]uint64
	// foreign are marks of another hub, by object; an object that is told is no more there.
	foreign map[uint64]mark

	snapshot, events []item   // taken, and still to be told
	ahead            []uint64 // versions that are told with the last of them, by rank
	snapshotting     bool     // the end of a snapshot is still to be told
	resuming         bool     // the end of what a cursor brought is
}

// item is an object as it is told.
type item struct {
	key     key
	op      string
	version uint64
	raw     []byte
	mark    mark // of slots
}

// Subscribe begins at a cursor or, if it is empty, with a snapshot; with one that is of no
// use, with a reset. wake is called whenever Next may have something new; it must not
// block nor call the Hub. It returns ErrNotSynced until Synced.
func (h *Hub) Subscribe(f Filter, from string, wake func()) (*Subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.synced {
		return nil, ErrNotSynced
	}
	s := &Subscription{hub: h, filter: f, wake: wake}
	s.begin("")
	if from != "" {
		if reason := s.resume(from); reason != "" {
			s.begin(reason)
		}
	}
	s.take() // now: a tombstone that is given up later must not be missed
	h.subs[s] = struct{}{}
	return s, nil
}

// SubscribeNow begins with what changes from now on.
func (h *Hub) SubscribeNow(f Filter, wake func()) (*Subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.synced {
		return nil, ErrNotSynced
	}
	s := &Subscription{hub: h, filter: f, wake: wake}
	s.begin("")
	s.snapshotting, s.unseen = false, 0
	s.reach()
	h.subs[s] = struct{}{}
	return s, nil
}

// Cursor returns where to go on from once everything that the filter is about, but slots,
// has been read from the Store that tells the Hub. It is taken before reading.
func (h *Hub) Cursor(f Filter) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := cursor{filter: h.scope(&f), kinds: f.kinds &^ (1 << slotsRank)}
	for r := range kinds {
		if c.kinds.has(r) {
			c.versions[r] = h.kinds[r].newest
		}
	}
	return c.encode()
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subs, s)
}

// begin starts anew, for the reason, if there is one.
func (s *Subscription) begin(reason string) {
	*s = Subscription{
		hub: s.hub, filter: s.filter, wake: s.wake,
		reset: reason, unseen: s.filter.kinds, snapshotting: true,
		told: cursor{filter: s.hub.scope(&s.filter)}, marks: map[key]mark{},
	}
}

// resume goes on from a cursor, or says why it cannot. The Hub is locked.
func (s *Subscription) resume(from string) string {
	c, err := decodeCursor(from)
	switch {
	case err != nil:
		return "malformed cursor"
	case c.filter != s.told.filter && s.hub.apart:
		return "the cursor is of another replica, another namespace or other names"
	case c.filter != s.told.filter:
		return "the cursor is of another namespace or other names"
	case c.kinds&lostSlots != 0 && s.filter.kinds.has(slotsRank):
		return "too many testbeds' slots for a cursor"
	}
	covered := c.kinds & s.filter.kinds
	for r := range kinds {
		state := &s.hub.kinds[r]
		if covered.has(r) && r != slotsRank && (state.lost || c.versions[r] < state.floor) {
			return "too old a cursor"
		}
	}
	if covered.has(slotsRank) {
		s.foreign = make(map[uint64]mark, len(c.marks))
		for _, m := range c.marks {
			s.foreign[m.object] = m
		}
		if !s.hub.hasAll(s.foreign) {
			return "a testbed of the cursor is unknown"
		}
	}
	s.told.kinds, s.told.versions, s.resumed = covered, c.versions, c.versions
	s.unseen, s.snapshotting, s.resuming = s.filter.kinds&^covered, s.filter.kinds != covered, true
	return ""
}

// hasAll says whether the slots of all these objects are, or were, known.
func (h *Hub) hasAll(marks map[uint64]mark) bool {
	found := 0
	for k := range h.entries {
		if k.rank == slotsRank {
			if _, ok := marks[k.hash()]; ok {
				found++
			}
		}
	}
	return found == len(marks)
}

func (k key) hash() uint64 { return hash([]byte(k.namespace + "\x00" + k.name + "\x00" + k.uid)) }

// Next returns what is to be told next, false if there is nothing. The message has no ID.
func (s *Subscription) Next() (wire.Message, bool) {
	if s.idle() {
		s.hub.mu.Lock()
		s.take()
		s.hub.mu.Unlock()
	}
	switch {
	case s.reset != "":
		m := wire.Message{Type: wire.Reset, Reason: s.reset}
		s.reset = ""
		return m, true
	case s.snapshotting:
		return s.nextSnapshot(), true
	case len(s.events) > 0:
		return s.nextEvents(), true
	case s.resuming:
		return s.Bookmark(), true
	}
	return wire.Message{}, false
}

// Bookmark says how far the subscription has been told; it is to be asked for once Next has
// nothing.
func (s *Subscription) Bookmark() wire.Message {
	s.resuming = false
	return wire.Message{Type: wire.Bookmark, Cursor: s.cursor()}
}

func (s *Subscription) idle() bool {
	return len(s.snapshot) == 0 && len(s.events) == 0 && !s.snapshotting
}

func (s *Subscription) nextSnapshot() wire.Message {
	m := wire.Message{Type: wire.Snapshot}
	page := cut(&s.snapshot)
	m.Objects = make([]wire.Object, len(page))
	for i := range page {
		m.Objects[i] = wire.Object{Kind: kinds[page[i].key.rank], Object: page[i].raw}
		s.note(&page[i])
	}
	if m.More = len(s.snapshot) > 0; m.More {
		return m
	}
	s.snapshotting = false
	for r := range kinds {
		if s.unseen.has(r) {
			s.told.versions[r] = max(s.told.versions[r], s.ahead[r])
		}
	}
	s.told.kinds, s.unseen = s.told.kinds|s.unseen, 0
	s.arrive()
	m.Cursor = s.cursor()
	return m
}

func (s *Subscription) nextEvents() wire.Message {
	m := wire.Message{Type: wire.EventsMessage}
	page := cut(&s.events)
	m.Events = make([]wire.Event, len(page))
	for i := range page {
		p := &page[i]
		m.Events[i] = wire.Event{Type: p.op, Object: wire.Object{Kind: kinds[p.key.rank], Object: p.raw}}
		s.note(p)
	}
	s.arrive()
	m.Cursor = s.cursor()
	return m
}

// cut takes a page off a list.
func cut(items *[]item) []item {
	n, size := 0, 0
	for n < len(*items) && n < pageObjects && size < pageBytes {
		size += len((*items)[n].raw)
		n++
	}
	page := (*items)[:n:n]
	if *items = (*items)[n:]; len(*items) == 0 {
		*items = nil // lets go of what has been told
	}
	return page
}

// note takes down what is told.
func (s *Subscription) note(i *item) {
	if r := i.key.rank; r != slotsRank {
		if !s.unseen.has(r) { // a snapshot counts as a whole
			s.told.versions[r] = max(s.told.versions[r], i.version)
		}
		return
	}
	delete(s.foreign, i.mark.object)
	if i.op == wire.Deleted {
		delete(s.marks, i.key)
		return
	}
	s.marks[i.key] = i.mark
}

// arrive moves the cursor to the place, once everything up to that has been told.
func (s *Subscription) arrive() {
	if len(s.snapshot) > 0 || len(s.events) > 0 {
		return
	}
	for r := range kinds {
		if s.told.kinds.has(r) {
			s.told.versions[r] = max(s.told.versions[r], s.ahead[r])
		}
	}
}

func (s *Subscription) cursor() string {
	c := s.told
	c.versions[slotsRank] = 0
	if c.kinds.has(slotsRank) {
		if len(s.marks)+len(s.foreign) > maxMarks {
			c.kinds = c.kinds&^(1<<slotsRank) | lostSlots
			return c.encode()
		}
		c.marks = slices.Collect(maps.Values(s.marks))
		c.marks = slices.AppendSeq(c.marks, maps.Values(s.foreign))
		slices.SortFunc(c.marks, compareMarks)
	}
	return c.encode()
}
