package server

import (
	"encoding/json"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// maxGone is how many removed slots a Testbed remembers: as many as it can have.
const maxGone = 5000

// slotTable is a Testbed's slots and when each changed, so that an event has the slots that
// changed, not thousands.
type slotTable struct {
	meta     wire.Meta
	cells    []cell
	gone     map[string]uint64 // the change by which each removed slot went
	complete uint64            // removals up to this change may be forgotten
	whole    json.RawMessage   // all of it; nil until it is wanted
}

type cell struct {
	slot    wire.Slot
	changed uint64 // number of the change
}

// update takes the slots in and reports whether anything except the version is new.
func (t *slotTable) update(all *wire.TestbedSlots, change uint64) bool {
	before := make(map[string]int, len(t.cells))
	for i := range t.cells {
		before[t.cells[i].slot.ID] = i
	}
	news, cells := t.meta.Deleting != all.Deleting, make([]cell, len(all.Slots))
	for i, s := range all.Slots {
		if at, known := before[s.ID]; known && s.Equal(t.cells[at].slot) {
			cells[i] = t.cells[at]
		} else {
			cells[i], news = cell{s, change}, true
		}
		delete(before, s.ID)
		delete(t.gone, s.ID)
	}
	if t.gone == nil || len(t.gone)+len(before) > maxGone {
		t.gone, t.complete = map[string]uint64{}, change
	}
	for id := range before {
		t.gone[id] = change
	}
	news = news || len(before) > 0
	t.meta, t.cells, t.whole = all.Meta, cells, nil
	return news
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
	for id, went := range t.gone {
		if went > change {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func encode(slots *wire.TestbedSlots) json.RawMessage {
	raw, _ := json.Marshal(slots) // strings, numbers and times always are JSON
	return raw
}
