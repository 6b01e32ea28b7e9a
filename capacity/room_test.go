package capacity_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/capacity"
)

var allRules = []capacity.Rule{capacity.LeastOfBoth, capacity.Switched}

// TestRoomExplainsAvailable takes the least room of random channels: what
// Available starts from.
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
		p := capacity.Pods{Now: float64(rng.IntN(5)), Measured: float64(rng.IntN(5)), Churn: rng.IntN(2) == 0}
		o := capacity.AvailOptions{Rule: allRules[rng.IntN(len(allRules))], Caution: 2 * rng.Float64(), NeverSaturated: true, NoFloor: true}
		a, err := capacity.Available(channels, p, o)
		if err != nil {
			t.Fatal(err)
		}
		least := math.Inf(1)
		for _, c := range channels {
			r := c.Room(p, o)
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
		if limiting := channels[a.Limiting].Room(p, o); least != a.Pods || limiting.Pods() != a.Pods || limiting.Mode != a.Mode {
			t.Fatalf("avail %+v, least room %v, that of its channel %+v", a, least, limiting)
		}
	}
}

func TestRuleText(t *testing.T) {
	for _, r := range allRules {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got capacity.Rule
		if err := json.Unmarshal(text, &got); err != nil || got != r || string(text) != `"`+r.String()+`"` {
			t.Errorf("%v: %s, %v, %v", r, text, got, err)
		}
	}
	var r capacity.Rule
	if err := r.UnmarshalText([]byte("most")); err == nil {
		t.Error("a rule that does not exist was read")
	}
	var fe *capacity.FieldError
	if _, err := capacity.Rule(99).MarshalText(); !errors.As(err, &fe) {
		t.Errorf("a rule that does not exist was written: %v", err)
	}
}
