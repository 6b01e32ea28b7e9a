package hub

import (
	"encoding/json"
	"hash/fnv"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// maxGone is how many slots that are no more a Testbed remembers: as many as it can have.
const maxGone = 5000

// slotTable is a Testbed's slots and when each changed, so that what is told of an event is
// that slot, not thousands.
type slotTable struct {
	meta  wire.Meta
	cells []cell
	seqs  []uint64 // when each changed
	// gone are those that are no more, in the order of going; before complete some have
	// been forgotten.
	gone     []goneSlot
	complete uint64
	hash     uint64 // of all but the version
	whole    []byte // the JSON of all of it; nil until it is wanted
}

type cell struct {
	slot wire.Slot
	raw  []byte
	hash uint64
}

type goneSlot struct {
	id  string
	seq uint64
}

func newSlotTable(all *wire.TestbedSlots, seq uint64) *slotTable {
	t := &slotTable{complete: seq}
	t.update(all, seq)
	return t
}

// update says whether anything but the version is new.
func (t *slotTable) update(all *wire.TestbedSlots, seq uint64) bool {
	before, lasted, positions := t.cells, 0, map[string]int(nil)
	cells, seqs := make([]cell, len(all.Slots)), make([]uint64, len(all.Slots))
	changed := false
	for i := range all.Slots {
		s := &all.Slots[i]
		at, known := i, i < len(before) && before[i].slot.ID == s.ID
		if !known { // mostly nothing has moved
			if positions == nil {
				positions = byID(before)
			}
			at, known = positions[s.ID], hasKey(positions, s.ID)
		}
		if known {
			lasted++
			if equalSlots(&before[at].slot, s) {
				cells[i], seqs[i] = before[at], t.seqs[at]
				continue
			}
		}
		cells[i], seqs[i], changed = newCell(s), seq, true
	}
	if lasted < len(before) {
		t.leave(before, cells, seq)
		changed = true
	}
	meta := all.Meta
	if hashMeta(meta) != hashMeta(t.meta) {
		changed = true
	}
	t.meta, t.cells, t.seqs, t.whole = meta, cells, seqs, nil
	if changed {
		t.hash = hashMeta(meta)
		for i := range cells {
			t.hash ^= cells[i].hash
		}
	}
	return changed
}

// leave remembers the slots that are no more.
func (t *slotTable) leave(before, now []cell, seq uint64) {
	still := byID(now)
	for i := range before {
		if id := before[i].slot.ID; !hasKey(still, id) {
			t.gone = append(t.gone, goneSlot{id, seq})
		}
	}
	if excess := len(t.gone) - maxGone; excess > 0 {
		t.complete = t.gone[excess-1].seq
		t.gone = slices.Clone(t.gone[excess:])
	}
}

// since returns the JSON of what has changed after seq, or of everything, if that is
// unknown, not less, or 0.
func (t *slotTable) since(seq uint64) []byte {
	var changed []int
	if seq >= t.complete && seq > 0 {
		for i, at := range t.seqs {
			if at > seq {
				changed = append(changed, i)
			}
		}
		if 2*len(changed) <= len(t.cells) {
			return t.partial(changed, t.goneSince(seq))
		}
	}
	if t.whole == nil {
		all := make([]int, len(t.cells))
		for i := range all {
			all[i] = i
		}
		t.whole = append(t.join(all), '}')
	}
	return t.whole
}

// goneSince returns the slots that went after seq and have not come again.
func (t *slotTable) goneSince(seq uint64) []string {
	from, _ := slices.BinarySearchFunc(t.gone, seq+1, func(g goneSlot, seq uint64) int {
		if g.seq < seq {
			return -1
		}
		return 1
	})
	if from == len(t.gone) {
		return nil
	}
	there, ids := byID(t.cells), []string(nil)
	for _, g := range t.gone[from:] {
		if !hasKey(there, g.id) && !slices.Contains(ids, g.id) {
			ids = append(ids, g.id)
		}
	}
	return ids
}

func (t *slotTable) partial(changed []int, gone []string) []byte {
	raw := append(t.join(changed), `,"partial":true`...)
	if len(gone) > 0 {
		list, _ := json.Marshal(gone) // strings always are JSON
		raw = append(append(raw, `,"gone":`...), list...)
	}
	return append(raw, '}')
}

// join returns the JSON of a wire.TestbedSlots of these cells, but for its last brace.
func (t *slotTable) join(cells []int) []byte {
	meta, _ := json.Marshal(t.meta)
	size := len(meta) + 64
	for _, i := range cells {
		size += len(t.cells[i].raw) + 1
	}
	raw := append(make([]byte, 0, size), meta[:len(meta)-1]...) // it has a name at least
	raw = append(raw, `,"slots":[`...)
	for n, i := range cells {
		if n > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, t.cells[i].raw...)
	}
	return append(raw, ']')
}

// tombstone returns the JSON of slots that are no more: there are none of them.
func tombstone(all *wire.TestbedSlots) []byte {
	raw, _ := json.Marshal(wire.TestbedSlots{Meta: all.Meta, Slots: []wire.Slot{}})
	return raw
}

func newCell(s *wire.Slot) cell {
	raw, _ := json.Marshal(s) // strings and numbers always are JSON
	return cell{slot: *s, raw: raw, hash: hash(raw)}
}

func hashMeta(m wire.Meta) uint64 {
	m.ResourceVersion = ""
	raw, _ := json.Marshal(m)
	return hash(raw)
}

func hash(data []byte) uint64 {
	h := fnv.New64a()
	h.Write(data)
	return h.Sum64()
}

func byID(cells []cell) map[string]int {
	m := make(map[string]int, len(cells))
	for i := range cells {
		m[cells[i].slot.ID] = i
	}
	return m
}

func hasKey[V any](m map[string]V, key string) bool {
	_, ok := m[key]
	return ok
}

func equalSlots(a, b *wire.Slot) bool {
	x, y := *a, *b
	same := x.NodeID == y.NodeID || x.NodeID != nil && y.NodeID != nil && *x.NodeID == *y.NodeID
	x.NodeID, y.NodeID = nil, nil
	return same && x == y
}
