package api_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

func rooms() api.Rooms {
	return api.Rooms{
		Full: true, More: true, Gone: []string{"node-7"},
		Rooms: []api.Room{
			{Node: "node-1", Avail: -2.5, InFlight: 1.5, Held: 4, Fresh: true, CostKnown: true, Saturated: true},
			{Node: "node-2", Avail: 1e6},
		},
	}
}

func TestRoomsRoundTrip(t *testing.T) {
	for _, want := range []api.Rooms{{}, rooms(), {More: true, Gone: []string{"a", "b"}}} {
		got, err := api.ToRooms(wire(t, api.FromRooms(want), &spaziov1.Rooms{}))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-sent +received:\n%s", d)
		}
	}
}

// TestLargestRoomsFit in one message of a client's maximum size.
func TestLargestRoomsFit(t *testing.T) {
	long := strings.Repeat("x", api.MaxName)
	r := api.Rooms{Full: true, More: true}
	for range api.MaxRooms {
		r.Rooms = append(r.Rooms, api.Room{Node: long, Avail: -1e-9, InFlight: 1e-9, Held: 1e-9, Fresh: true, CostKnown: true, Saturated: true})
		r.Gone = append(r.Gone, long)
	}
	m := api.FromRooms(r)
	if _, err := api.ToRooms(m); err != nil || proto.Size(m) > 256<<10 {
		t.Errorf("%d bytes, %v", proto.Size(m), err)
	}
}

func TestToRoomsRefuses(t *testing.T) {
	for _, tt := range []struct {
		field string
		cause error
		spoil func(*spaziov1.Rooms)
	}{
		{"rooms[1].node", api.ErrMissing, func(m *spaziov1.Rooms) { m.Rooms[1] = nil }},
		{"rooms[0].node", api.ErrText, func(m *spaziov1.Rooms) { m.Rooms[0].Node = "a\nb" }},
		{"rooms[1].avail", api.ErrRange, func(m *spaziov1.Rooms) { m.Rooms[1].Avail = math.NaN() }},
		{"rooms[1].avail", api.ErrRange, func(m *spaziov1.Rooms) { m.Rooms[1].Avail = -2e6 }},
		{"rooms[0].in_flight", api.ErrRange, func(m *spaziov1.Rooms) { m.Rooms[0].InFlight = -1 }},
		{"rooms[0].held", api.ErrRange, func(m *spaziov1.Rooms) { m.Rooms[0].Held = math.Inf(1) }},
		{"gone[0].name", api.ErrMissing, func(m *spaziov1.Rooms) { m.Gone[0] = "" }},
		{"rooms", api.ErrLength, func(m *spaziov1.Rooms) { m.Rooms = make([]*spaziov1.NodeRoom, api.MaxRooms+1) }},
		{"gone", api.ErrLength, func(m *spaziov1.Rooms) { m.Gone = make([]string, api.MaxRooms+1) }},
	} {
		m := api.FromRooms(rooms())
		tt.spoil(m)
		_, err := api.ToRooms(m)
		refused(t, err, tt.field, tt.cause)
	}
	if got, err := api.ToRooms(nil); err != nil || got.Full || len(got.Rooms) > 0 {
		t.Errorf("nil message: got %+v, %v", got, err)
	}
}

func FuzzToRooms(f *testing.F) {
	fuzz(f, api.FromRooms(rooms()), func() *spaziov1.Rooms { return &spaziov1.Rooms{} }, api.ToRooms, api.FromRooms)
}
