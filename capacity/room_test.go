package capacity_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/capacity"
)

// TestRoomExplainsAvailable takes the least room of random channels: what
// Available starts from, and AvailableIn where another equation was chosen.
func TestRoomExplainsAvailable(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 2000 {
		channels := make([]capacity.Channel, 1+rng.IntN(4))
		for i := range channels {
			channels[i] = capacity.Channel{
				Usage: rng.Float64(), Capacity: rng.Float64(), Cost: .01 + rng.Float64(), CostSD: .1 * rng.Float64(),
				PodSD: .1 * float64(rng.IntN(3)), Reserve: .1 * float64(rng.IntN(3)),
				Slots: float64(rng.IntN(6)),
			}
		}
		p := capacity.Pods{Now: float64(rng.IntN(5)), Measured: float64(rng.IntN(5))}
		o := capacity.AvailOptions{Caution: 2 * rng.Float64(), Saturation: capacity.NeverSaturated, FloorBelow: capacity.NoFloor}
		var rooms []capacity.Room // nil for the lower of both
		if chosen := rng.IntN(3); chosen > 0 {
			for _, c := range channels {
				rooms = append(rooms, c.Room(p, o).By([]capacity.Mode{capacity.SignalMode, capacity.ModelMode}[chosen-1]))
			}
		}
		room := func(i int) capacity.Room {
			if rooms != nil {
				return rooms[i]
			}
			return channels[i].Room(p, o)
		}
		a, err := capacity.AvailableIn(channels, rooms, p, o)
		if err != nil {
			t.Fatal(err)
		}
		least := math.Inf(1)
		for i, c := range channels {
			r := room(i)
			least = min(least, r.Pods())
			if c.Slots > 0 && r.Pods() > c.Slots-p.Now || c.Slots == 0 && r.Mode == capacity.SlotsMode {
				t.Fatalf("%v pods beside %v in %v slots", r.Pods(), p.Now, c.Slots)
			}
			// What fits fills the room: u·c⁺ + √u·gσ, beside the n pods in that
			// of the model; pods too many take their c⁺ alone.
			fills := func(pods, more, room float64) bool {
				return math.Abs((pods+more)*r.Cost+math.Sqrt(max(more, 0))*r.Spread-room) < 1e-9
			}
			if u := r.Signal - p.Measured + p.Now; u < -1e-12 || !fills(0, u, max(1-c.Usage-c.Reserve, 0)) {
				t.Fatalf("%v pods by the signal of %+v", u, c)
			}
			if !fills(p.Now, r.Model, max(c.Capacity-c.Reserve, 0)) {
				t.Fatalf("%v pods by the model of %+v beside %v", r.Model, c, p.Now)
			}
		}
		if limiting := room(a.Limiting); least != a.Pods || limiting.Pods() != a.Pods || limiting.Mode != a.Mode {
			t.Fatalf("avail %+v, least room %v, that of its channel %+v", a, least, limiting)
		}
	}
}

// TestAvailableInTakesARoomAChannel: rooms that are not one a channel are refused.
func TestAvailableInTakesARoomAChannel(t *testing.T) {
	ch := []capacity.Channel{{Usage: .5, Capacity: 1, Cost: .25}}
	_, err := capacity.AvailableIn(ch, make([]capacity.Room, 2), capacity.Pods{}, capacity.AvailOptions{})
	if !errors.Is(err, capacity.ErrLength) {
		t.Errorf("two rooms of one channel: %v", err)
	}
}
