package wire_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// A client that combines whole and partial slots gets the present ones.
func TestSlotsApply(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	there := map[string]wire.Slot{}
	var client wire.TestbedSlots
	for step := range 2000 {
		next := wire.TestbedSlots{Meta: wire.Meta{Name: "bed", ResourceVersion: fmt.Sprint(step + 1)}, Partial: true}
		for i := range 12 {
			id := fmt.Sprintf("node/%d", i)
			switch _, known := there[id]; {
			case random.IntN(4) > 0:
			case known && random.IntN(3) == 0:
				delete(there, id)
				next.Gone = append(next.Gone, id)
			default:
				s := wire.Slot{ID: id, Index: i, State: slot.State(random.IntN(2)), Pod: fmt.Sprint(step)}
				there[id] = s
				next.Slots = append(next.Slots, s)
			}
		}
		want := wire.TestbedSlots{Meta: next.Meta, Slots: []wire.Slot{}}
		for i := range 12 {
			if s, ok := there[fmt.Sprintf("node/%d", i)]; ok {
				want.Slots = append(want.Slots, s)
			}
		}
		if random.IntN(10) == 0 {
			next = want
		}
		client = client.Apply(next)
		if diff := cmp.Diff(want, client); diff != "" {
			t.Fatalf("step %d (-want +got):\n%s", step, diff)
		}
	}
}
