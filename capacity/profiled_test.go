package capacity_test

import (
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/capacity"
)

// TestProfiledPodsTakeTheirOwn: a node with pods that have profiles offers what one offers
// that is smaller by what they take.
func TestProfiledPodsTakeTheirOwn(t *testing.T) {
	pods := capacity.Pods{Now: 5, Measured: 4}
	known := capacity.Channel{
		Usage: .6, Capacity: .9, Cost: .1, PodSD: .05, Slots: 6,
		Profiled: capacity.Profiled{Now: 2, Measured: 1, Usage: .3, PendingUsage: .1},
	}
	plain := capacity.Channel{Usage: .7, Capacity: .6, Cost: .1, PodSD: .05, Slots: 6}
	got, want := known.Room(pods, capacity.AvailOptions{}), plain.Room(capacity.Pods{Now: 3, Measured: 3}, capacity.AvailOptions{})
	if math.Abs(got.Signal-want.Signal) > 1e-12 || math.Abs(got.Model-want.Model) > 1e-12 || got.Slots != want.Slots {
		t.Errorf("room %+v, want %+v", got, want)
	}
	full := known
	full.Profiled.PendingUsage = .9
	a, err := capacity.Available([]capacity.Channel{full}, pods, capacity.AvailOptions{})
	if err != nil || a.Saturated {
		t.Errorf("what is to come saturates a node: %+v, %v", a, err)
	}
	for _, k := range []capacity.Profiled{{Now: -1}, {Measured: math.NaN()}, {Usage: math.Inf(1)}, {PendingUsage: math.Inf(-1)}, {PendingUsage: math.NaN()}} {
		bad := known
		bad.Profiled = k
		if _, err := capacity.Available([]capacity.Channel{bad}, pods, capacity.AvailOptions{}); err == nil {
			t.Errorf("%+v is accepted", k)
		}
	}
}
