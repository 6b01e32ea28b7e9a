package api

import (
	"cmp"
	"slices"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// MaxRooms is the largest number of nodes in a message of rooms, and of those that
// are gone: one message of the longest names takes less than 256 KiB.
const MaxRooms = 400

// Room is what a scheduler knows of a node, in pods of mean cost. It is a plain value.
type Room struct {
	Node string
	// Avail, InFlight and Held are those of package reserve.
	Avail, InFlight, Held float64
	// Fresh is set if Avail is current, CostKnown if the node has seen enough pods to
	// estimate how many fit, Saturated if a channel is full.
	Fresh, CostKnown, Saturated bool
}

// Rooms is a part of an update: all nodes if it is Full, and otherwise those that have
// changed. More is set if the next part belongs to the same update. Gone are nodes that
// the cluster no longer has.
type Rooms struct {
	Full, More bool
	Rooms      []Room
	Gone       []string
}

// FromRooms converts a part of an update for the wire.
func FromRooms(r Rooms) *spaziov1.Rooms {
	m := &spaziov1.Rooms{Full: r.Full, More: r.More, Gone: slices.Clone(r.Gone), Rooms: make([]*spaziov1.NodeRoom, len(r.Rooms))}
	for i, room := range r.Rooms {
		m.Rooms[i] = &spaziov1.NodeRoom{
			Node: room.Node, Avail: room.Avail, InFlight: room.InFlight, Held: room.Held,
			Fresh: room.Fresh, CostKnown: room.CostKnown, Saturated: room.Saturated,
		}
	}
	return m
}

// ToRooms converts and checks a part of an update from the wire. Errors are
// *field.Error.
func ToRooms(m *spaziov1.Rooms) (Rooms, error) {
	r := Rooms{Full: m.GetFull(), More: m.GetMore()}
	if n := len(m.GetRooms()); n > MaxRooms {
		return Rooms{}, refuseLength("rooms", n, MaxRooms)
	}
	if n := len(m.GetGone()); n > MaxRooms {
		return Rooms{}, refuseLength("gone", n, MaxRooms)
	}
	for i, room := range m.GetRooms() {
		if err := checkRoom(room); err != nil {
			return Rooms{}, element("rooms", i, err)
		}
		r.Rooms = append(r.Rooms, Room{
			Node: room.GetNode(), Avail: room.GetAvail(), InFlight: room.GetInFlight(), Held: room.GetHeld(),
			Fresh: room.GetFresh(), CostKnown: room.GetCostKnown(), Saturated: room.GetSaturated(),
		})
	}
	for i, name := range m.GetGone() {
		if err := checkName("name", name, false); err != nil {
			return Rooms{}, element("gone", i, err)
		}
	}
	r.Gone = slices.Clone(m.GetGone())
	return r, nil
}

// maxSum bounds what the pods of a node sum up to.
const maxSum = MaxAbsorbed * MaxPods

func checkRoom(m *spaziov1.NodeRoom) error {
	return cmp.Or(checkName("node", m.GetNode(), false), checkRanges([]ranged{
		{"avail", m.GetAvail(), -MaxPods, MaxPods},
		{"in_flight", m.GetInFlight(), 0, maxSum},
		{"held", m.GetHeld(), 0, maxSum},
	}))
}
