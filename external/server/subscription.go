package server

import (
	"cmp"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// A page has at most so many objects, and ends with the one that makes it this long.
const (
	pageObjects = 500
	pageBytes   = 1 << 20
)

// feed is a reader's place in a hub. It is not safe for concurrent use, except for Close and
// the wake function that it was made with, which the hub calls.
type feed struct {
	hub    *hub
	filter filter
	wake   func()

	place uint64  // number of the latest change that has been taken
	known kindSet // kinds whose changes behind the place are taken; a snapshot has the others
	sent  cursor  // everything up to it has been sent

	reset            string       // why the client is reset, which is sent first
	snapshot, events []wire.Event // taken, and still to be sent
	snapshotting     bool         // the end of a snapshot is still to be sent
	resuming         bool         // the end of what a cursor brought is
}

// subscribe begins at a cursor or, if it is empty, with a snapshot; with one that is of no
// use, with a reset. wake is called whenever Next may have something new; it must not
// block nor call the hub. It returns errNotSynced until markSynced.
func (h *hub) subscribe(f filter, from string, wake func()) (*feed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.synced {
		return nil, errNotSynced
	}
	s := &feed{hub: h, filter: f, wake: wake}
	s.begin("")
	if from != "" {
		s.resume(from)
	}
	h.subs[s] = struct{}{}
	return s, nil
}

// cursor returns where to go on from once everything that the filter is about has been read
// from the Store that the changes come from. It is taken before reading.
func (h *hub) cursor(f filter) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := cursor{hub: h.id, scope: f.scope(), kinds: f.kinds, place: h.seq}
	return c.encode()
}

// close ends the subscription.
func (s *feed) close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subs, s)
}

// begin starts anew, for the reason, if there is one.
func (s *feed) begin(reason string) {
	s.place, s.known, s.sent = 0, 0, cursor{hub: s.hub.id, scope: s.filter.scope()}
	s.reset, s.snapshot, s.events, s.snapshotting, s.resuming = reason, nil, nil, false, false
}

// resume goes on from a cursor, or resets if it cannot. The hub is locked.
func (s *feed) resume(from string) {
	c, ok := decodeCursor(from)
	switch {
	case !ok:
		s.begin("malformed cursor")
	case c.hub != s.hub.id:
		s.begin("the cursor is of another replica, or of one that has ended")
	case c.scope != s.sent.scope:
		s.begin("the cursor is of another namespace or other names")
	default:
		c.kinds &= s.filter.kinds
		s.place, s.known, s.sent, s.resuming = c.place, c.kinds, c, true
	}
}

// next returns what is to be sent next, false if there is nothing. The message has no ID.
func (s *feed) next() (wire.Message, bool) {
	if !s.snapshotting && len(s.events) == 0 {
		s.hub.mu.Lock()
		s.take()
		s.hub.mu.Unlock()
	}
	var m wire.Message
	switch {
	case s.reset != "":
		m.Type, m.Reason = wire.Reset, s.reset
		s.reset = ""
	case s.snapshotting:
		m.Type = wire.Snapshot
		for _, e := range cut(&s.snapshot) {
			m.Objects = append(m.Objects, e.Object)
		}
		m.More = len(s.snapshot) > 0
		if s.snapshotting = m.More; !m.More {
			m.Cursor = s.cursor()
		}
	case len(s.events) > 0:
		m.Type, m.Events = wire.EventsMessage, cut(&s.events)
		m.Cursor = s.cursor()
	case s.resuming:
		return s.bookmark(), true
	default:
		return m, false
	}
	return m, true
}

// bookmark is a message of how far the subscription has come; it is to be asked for once Next has
// nothing.
func (s *feed) bookmark() wire.Message {
	s.resuming = false
	return wire.Message{Type: wire.Bookmark, Cursor: s.cursor()}
}

// cursor returns where to go on from. It moves once all that was taken has been sent: an object
// is sent once, for its latest change, so that no place in between describes what was sent.
func (s *feed) cursor() string {
	if !s.snapshotting && len(s.events) == 0 && s.known == s.filter.kinds {
		s.sent.kinds, s.sent.place = s.known, s.place
	}
	return s.sent.encode()
}

// take moves the place to the latest change, and what lies between into snapshot and events.
// The hub is locked.
func (s *feed) take() {
	h := s.hub
	if s.known != 0 && (s.place < h.forgotten || s.place > h.seq) {
		s.begin("more has changed meanwhile than is remembered")
	}
	if s.known != 0 {
		for n := s.place + 1; n <= h.seq; n++ {
			if e := *h.at(n); e.changed == n && s.known.has(e.kind) && s.filter.matches(&e.key) {
				s.pick(e)
			}
		}
	}
	if s.known != s.filter.kinds {
		s.takeAll()
	}
	s.place, s.known = h.seq, s.filter.kinds
}

// takeAll takes all objects of the kinds of which the client knows nothing.
func (s *feed) takeAll() {
	var all []*entry
	for _, e := range s.hub.objects {
		if !s.known.has(e.kind) && s.filter.matches(&e.key) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int { return cmp.Compare(a.changed, b.changed) })
	for _, e := range all {
		s.snapshot = append(s.snapshot, e.event(wire.Added, 0))
	}
	s.snapshotting = true
}

// pick takes an object that has changed since the place, if the client is to be sent anything.
func (s *feed) pick(e *entry) {
	op, since := wire.Added, uint64(0)
	switch known := e.added <= s.place; {
	case e.deleted && !known:
		return
	case e.deleted:
		op = wire.Deleted
	case known:
		op = wire.Modified
		if !s.resuming { // who comes again gets all slots of a Testbed first
			since = s.place
		}
	}
	s.events = append(s.events, e.event(op, since))
}

// event has the object as it is now, of slots what has changed after a change.
func (e *entry) event(op string, since uint64) wire.Event {
	raw := e.raw
	if e.slots != nil {
		raw = e.slots.since(since)
	}
	return wire.Event{Type: op, Object: wire.Object{Kind: kinds[e.kind], Object: raw}}
}

// cut takes a page off a list.
func cut(events *[]wire.Event) []wire.Event {
	n, size := 0, 0
	for n < len(*events) && n < pageObjects && size < pageBytes {
		size += len((*events)[n].Object.Object)
		n++
	}
	page := (*events)[:n:n]
	if *events = (*events)[n:]; len(*events) == 0 {
		*events = nil // frees what has been sent
	}
	return page
}
