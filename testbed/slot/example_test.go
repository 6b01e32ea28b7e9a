package slot_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Two nodes, labelled 2 and 10, of two slots each.
func Example() {
	order, _ := slot.NewOrder([]slot.Node{
		{Name: "big", Label: "10", Positions: slot.First(2)},
		{Name: "small", Label: "2", Positions: slot.First(2)},
	}, 0)
	now := time.Unix(0, 0)
	table := slot.NewTable()
	_ = table.Configure(slot.Config{UID: "590f6f41-4acd-4b6d", Order: order, Size: "cpu=700m"}, now)
	_ = table.Observe(slot.Pod{
		UID: "g", Name: "ghost", Slot: slot.ID{Node: "big"}, Node: "big", Size: "cpu=700m", Created: now,
	}, now)
	_ = table.Observe(slot.Pod{
		UID: "p", Name: "crawler-1", Role: slot.Occupant, Slot: slot.ID{Node: "small"}, Node: "small", Created: now,
	}, now)
	for _, s := range table.SlotsTo(nil) {
		fmt.Println(s.Index, s.ID, s.State)
	}
	actions, _ := table.DiffTo(nil, now)
	for _, a := range actions {
		fmt.Println(a.Op, a.Name)
	}
	// Output:
	// 0 small/0 occupied
	// 1 big/0 free
	// 2 small/1 pending
	// 3 big/1 pending
	// create ghost ghost-590f6f41-a2c4f48c-1
	// create ghost ghost-590f6f41-53cacdb9-1
}

// What a scheduling names, by index or by identity.
func ExampleOrder_ResolveTo() {
	order, _ := slot.NewOrder([]slot.Node{{Name: "a", Positions: slot.First(2)}, {Name: "b", Positions: slot.First(2)}}, 0)
	ids, err := order.ResolveTo(nil, []slot.Ref{{Index: 1}, {ID: slot.ID{Node: "a", Position: 1}}})
	fmt.Println(ids, err)
	_, err = order.ResolveTo(nil, []slot.Ref{{Index: 4}})
	fmt.Println(err)
	// Output:
	// [b/0 a/1] <nil>
	// testbed: Ref = 4: invalid configuration or input: must be an index below 4
}

// A node with room for four pods gets a slot after half a minute.
func ExampleAuto_Step() {
	now := time.Unix(0, 0)
	var node slot.Scale
	room := slot.Room{Free: 4.2, Known: true}
	node, again := slot.Auto{}.Step(node, room, slot.Positions{}, now)
	fmt.Println(node.Have.Len(), again.Sub(now))
	node, _ = slot.Auto{}.Step(node, room, slot.Positions{}, again)
	fmt.Println(node.Have.Len())
	// Output:
	// 0 30s
	// 1
}

// Two testbeds want n2; the older one gets it.
func ExampleShare() {
	old := slot.Tenant{Name: testbed.Name{Namespace: "lab", Name: "old"}, Created: time.Unix(0, 0), Nodes: []string{"n1", "n2"}}
	young := slot.Tenant{Name: testbed.Name{Namespace: "lab", Name: "young"}, Created: time.Unix(9, 0), Nodes: []string{"n2", "n3"}}
	for _, a := range slot.Share([]slot.Tenant{old, young}) {
		fmt.Println(a.Nodes, a.Lost)
	}
	// Output:
	// [n1 n2] []
	// [n3] [{n2 lab/old}]
}
