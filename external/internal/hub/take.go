package hub

import (
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// take moves the place to the end of the list, and what lies between into snapshot and
// events. The Hub is locked.
func (s *Subscription) take() {
	h := s.hub
	for r := range kinds {
		if s.seq > 0 && s.filter.kinds.has(r) && h.kinds[r].trimmed > s.seq {
			s.begin("more has been deleted meanwhile than is remembered")
			break
		}
	}
	for e := h.all.prev; e != &h.all && e.seq > s.seq; e = e.prev {
		if s.filter.matches(&e.key) {
			s.pick(e)
		}
	}
	slices.Reverse(s.snapshot)
	slices.Reverse(s.events)
	s.reach()
	if len(s.events) == 0 && !s.snapshotting {
		s.arrive()
	}
}

// reach moves the place to the end of the list. The Hub is locked.
func (s *Subscription) reach() {
	s.seq = s.hub.seq
	s.ahead = s.ahead[:0]
	for r := range kinds {
		s.ahead = append(s.ahead, s.hub.kinds[r].newest)
	}
}

// pick takes an object that has changed since the place, if there is anything to be told.
func (s *Subscription) pick(e *entry) {
	i := item{key: e.key, version: e.version, raw: e.raw}
	if s.unseen.has(e.rank) {
		if !e.deleted {
			i.encode(e, 0)
			s.snapshot = append(s.snapshot, i)
		}
		return
	}
	known := e.added <= s.seq || s.resumed[e.rank] > 0 && e.addedVersion <= s.resumed[e.rank]
	since := s.seq
	if e.rank == slotsRank {
		told, own := s.marks[e.key]
		if known = own; !own {
			told, known = s.foreign[e.hash()]
			since = 0
		}
		if known && !e.deleted && (e.version < told.version || e.slots.hash == told.hash) {
			return // older than what was told, or the same once more
		}
	} else if e.version <= s.resumed[e.rank] && !e.late {
		return // by another hub; but what comes late here may have come late there
	}
	switch {
	case !known && e.deleted:
		return
	case e.deleted:
		i.op = wire.Deleted
	case known:
		i.op = wire.Modified
	default:
		i.op = wire.Added
	}
	i.encode(e, since)
	s.events = append(s.events, i)
}

// encode takes the object as it is now, of slots what has changed after seq.
func (i *item) encode(e *entry, seq uint64) {
	if e.rank != slotsRank {
		return
	}
	i.mark = mark{object: e.hash(), version: e.version}
	if e.deleted {
		return
	}
	i.mark.hash = e.slots.hash
	i.raw = e.slots.since(seq)
}
