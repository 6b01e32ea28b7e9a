package thesis_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
	"github.com/spazio-scheduler/spazio/sim/thesis"
)

// available is the availability of a node with one channel, by the options' rule.
func available(c capacity.Channel, p capacity.Pods, churn bool, o pipeline.AvailConfig) (capacity.Avail, error) {
	room := o.Rule.Room(c.Room(p, o.AvailOptions), churn)
	return capacity.AvailableIn([]capacity.Channel{c}, []capacity.Room{room}, p, o.AvailOptions)
}

func TestSwitched(t *testing.T) {
	switched := pipeline.AvailConfig{Rule: thesis.Switched}
	full := capacity.Channel{Usage: 1, Capacity: 1, Cost: .1, CostSD: .1}
	for _, tt := range []struct {
		name  string
		ch    capacity.Channel
		churn bool
		opt   pipeline.AvailConfig
		want  capacity.Avail
	}{
		{"signal above model", capacity.Channel{Usage: .5, Capacity: .75, Cost: .25}, false, switched, capacity.Avail{Pods: 2}},
		{"quiet", capacity.Channel{Usage: .75, Capacity: 5, Cost: .25}, false, switched, capacity.Avail{Pods: 1}},
		{"churn", capacity.Channel{Usage: .75, Capacity: 5, Cost: .25}, true, switched, capacity.Avail{Pods: 18, Mode: capacity.ModelMode}},
		{"slots", capacity.Channel{Usage: .75, Capacity: 5, Cost: .25, Slots: 5}, true, switched, capacity.Avail{Pods: 3, Mode: capacity.SlotsMode}},
		{"the thesis offers room on a full node in churn", full, true, thesis.Avail(), capacity.Avail{Pods: 8, Mode: capacity.ModelMode}},
		{"the default does not", full, true, pipeline.AvailConfig{}, capacity.Avail{Saturated: true}},
	} {
		got, err := available(tt.ch, capacity.Pods{Now: 2, Measured: 2}, tt.churn, tt.opt)
		if d := cmp.Diff(tt.want, got); err != nil || d != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", tt.name, err, d)
		}
	}
}

func TestRuleText(t *testing.T) {
	for r, name := range map[pipeline.Rule]string{"": "least-of-both", thesis.Switched: "switched"} {
		text, err := r.MarshalText()
		got := pipeline.Rule("?")
		if err != nil || string(text) != name || got.UnmarshalText(text) != nil || got != r {
			t.Errorf("%v: %s, %v, %v", r, text, got, err)
		}
	}
	r := thesis.Switched
	if err := r.UnmarshalText([]byte("most")); !errors.Is(err, pipeline.ErrUnknown) || r != thesis.Switched {
		t.Errorf("a rule that does not exist was read as %v: %v", r, err)
	}
	if err := (pipeline.AvailConfig{Rule: "most"}).Validate(); !errors.Is(err, pipeline.ErrUnknown) {
		t.Errorf("a rule that does not exist is valid: %v", err)
	}
}

// On a full node in constant churn, the thesis's switch trusts the model, which has not noticed
// that other processes took the room.
func ExampleAvail() {
	cpu := capacity.Channel{Usage: 1, Capacity: 1, Cost: .125}
	for _, o := range []pipeline.AvailConfig{thesis.Avail(), {}} {
		a, err := available(cpu, capacity.Pods{Now: 3, Measured: 3}, true, o)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %.0f pods, saturated: %v\n", o.Rule, a.Pods, a.Saturated)
	}
	// Output:
	// switched: 5 pods, saturated: false
	// least-of-both: 0 pods, saturated: true
}
