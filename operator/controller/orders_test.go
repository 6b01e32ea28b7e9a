package controller

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// An order is made once for the same nodes, and another one of others; one that can't be
// made is not remembered, nor is one that many others have come after.
func TestOrders(t *testing.T) {
	var o orders
	nodes := func(slots ...int) []slot.Node {
		var all []slot.Node
		for i, n := range slots {
			all = append(all, slot.Node{Name: string(rune('a' + i)), Label: "1", Positions: slot.First(n)})
		}
		return all
	}
	of := func(most int, nodes []slot.Node) *slot.Order {
		t.Helper()
		order, err := o.of(nodes, most)
		if err != nil {
			t.Fatal(err)
		}
		return order
	}
	first := of(10, nodes(2, 1))
	want := []slot.ID{{Node: "a"}, {Node: "b"}, {Node: "a", Position: 1}}
	if diff := cmp.Diff(want, first.Slots()); diff != "" {
		t.Error(diff)
	}
	if of(10, nodes(2, 1)) != first {
		t.Error("of the same nodes another is made")
	}
	if got := of(2, nodes(2, 1)).Len(); got != 2 {
		t.Errorf("of 2 slots at most there are %d", got)
	}
	if got := of(10, nodes(2, 2)).Len(); got != 4 {
		t.Errorf("of other nodes there are %d slots, want 4", got)
	}
	for range 2 {
		if order, err := o.of([]slot.Node{{}}, 10); order != nil || !errors.Is(err, testbed.ErrInvalid) {
			t.Errorf("of a node without a name: %v, %v", order, err)
		}
	}
	if of(10, nodes(2, 1)) != first {
		t.Error("it is forgotten too soon")
	}
	for n := range maxOrders {
		of(100+n, nodes(1))
	}
	if n := len(o.last); n != maxOrders || of(10, nodes(2, 1)) == first {
		t.Errorf("%d are remembered", n)
	}
}
