package slot_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Two nodes are labelled 2 and 10, with two slots each.
func Example() {
	order, _ := slot.NewOrder([]slot.Node{
		{Name: "big", Label: "10", Positions: slot.First(2)},
		{Name: "small", Label: "2", Positions: slot.First(2)},
	}, 0)
	now := time.Unix(0, 0)
	table := slot.NewTable()
	table.Configure(slot.Config{UID: "590f6f41-4acd-4b6d", Order: order, Size: "cpu=700m"}, now)
	_ = table.Observe(slot.Pod{
		UID: "g", Name: "placeholder", Slot: slot.ID{Node: "big"}, Node: "big", Size: "cpu=700m", Created: now,
	}, now)
	_ = table.Observe(slot.Pod{
		UID: "p", Name: "crawler-1", Role: slot.Occupant, Slot: slot.ID{Node: "small"}, Node: "small", Created: now,
	}, now)
	for _, s := range table.Slots() {
		fmt.Println(s.Index, s.ID, s.State)
	}
	actions, _ := table.Diff(now)
	for _, a := range actions {
		fmt.Println(a.Op, a.Name)
	}
	// Output:
	// 0 small/0 occupied
	// 1 big/0 free
	// 2 small/1 pending
	// 3 big/1 pending
	// create placeholder placeholder-590f6f41-a2c4f48c-1
	// create placeholder placeholder-590f6f41-53cacdb9-1
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
	for _, lost := range slot.Share([]slot.Tenant{old, young}) {
		fmt.Println(lost)
	}
	// Output:
	// map[]
	// map[n2:lab/old]
}
