package hub

import (
	"encoding/json"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// maxGone is how many slots that are no more a Testbed remembers: as many as it can have.
const maxGone = 5000

// slotTable is a Testbed's slots and when each changed, so that an event has the slots that
// changed, not thousands.
type slotTable struct {
	meta  wire.Meta
	cells []cell
	// gone are the slots that are no more, in the order of going; before the change complete
	// some have been forgotten.
	gone     []goneSlot
	complete uint64
	whole    json.RawMessage // all of it; nil until it is wanted
}

type cell struct {
	slot    wire.Slot
	changed uint64 // number of the change
}

type goneSlot struct {
	id   string
	went uint64 // number of the change
}

// update takes the slots in and reports whether anything but the version is new.
func (t *slotTable) update(all *wire.TestbedSlots, change uint64) bool {
	was, lasted, positions := t.cells, 0, map[string]int(nil)
	news := t.meta.Deleting != all.Deleting
	t.meta, t.cells, t.whole = all.Meta, make([]cell, len(all.Slots)), nil
	for i, s := range all.Slots {
		at, known := i, i < len(was) && was[i].slot.ID == s.ID
		if !known { // mostly nothing has moved
			if positions == nil {
				positions = byID(was)
			}
			at, known = positions[s.ID]
		}
		if known {
			lasted++
		}
		if known && equalSlots(was[at].slot, s) {
			t.cells[i] = was[at]
			continue
		}
		t.cells[i], news = cell{s, change}, true
	}
	if lasted == len(was) {
		return news
	}
	now := byID(t.cells)
	for _, c := range was {
		if _, still := now[c.slot.ID]; !still {
			t.gone = append(t.gone, goneSlot{c.slot.ID, change})
		}
	}
	if excess := len(t.gone) - maxGone; excess > 0 {
		t.complete = t.gone[excess-1].went
		t.gone = slices.Clone(t.gone[excess:])
	}
	return true
}

// since returns the JSON of what has changed after a change, or of everything if that is
// unknown or not less.
func (t *slotTable) since(change uint64) json.RawMessage {
	if change >= t.complete {
		part := wire.TestbedSlots{Meta: t.meta, Slots: []wire.Slot{}, Partial: true}
		for _, c := range t.cells {
			if c.changed > change {
				part.Slots = append(part.Slots, c.slot)
			}
		}
		if 2*len(part.Slots) <= len(t.cells) {
			part.Gone = t.goneSince(change)
			return encode(&part)
		}
	}
	if t.whole == nil {
		all := wire.TestbedSlots{Meta: t.meta, Slots: make([]wire.Slot, len(t.cells))}
		for i, c := range t.cells {
			all.Slots[i] = c.slot
		}
		t.whole = encode(&all)
	}
	return t.whole
}

// goneSince returns the slots that went after a change and have not come again.
func (t *slotTable) goneSince(change uint64) (ids []string) {
	if len(t.gone) == 0 || t.gone[len(t.gone)-1].went <= change {
		return nil
	}
	there := byID(t.cells)
	for _, g := range t.gone {
		if _, again := there[g.id]; g.went > change && !again {
			ids = append(ids, g.id)
			there[g.id] = 0 // that it went is said once
		}
	}
	return ids
}

func encode(slots *wire.TestbedSlots) json.RawMessage {
	raw, _ := json.Marshal(slots) // strings, numbers and times always are JSON
	return raw
}

func byID(cells []cell) map[string]int {
	m := make(map[string]int, len(cells))
	for i := range cells {
		m[cells[i].slot.ID] = i
	}
	return m
}

func equalSlots(a, b wire.Slot) bool {
	same := a.NodeID == b.NodeID || a.NodeID != nil && b.NodeID != nil && *a.NodeID == *b.NodeID
	a.NodeID, b.NodeID = nil, nil
	return same && a == b
}
