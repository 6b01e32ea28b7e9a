package controller

import (
	"slices"
	"sync"

	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// orders remembers the orders of slots that were made last: one of thousands of slots takes
// longer than all else that a Scheduling's step does, and it is another one only when nodes
// have changed. Safe for concurrent use; the zero value remembers none yet.
type orders struct {
	mu   sync.Mutex
	last []madeOrder // the one that was made last at the end
}

// madeOrder is an order, and what it was made of.
type madeOrder struct {
	nodes []slot.Node
	most  int
	order *slot.Order
}

// maxOrders are as many as there are Testbeds in use at once, as a rule.
const maxOrders = 16

// of is slot.NewOrder. The nodes must not change any more.
func (o *orders) of(nodes []slot.Node, most int) (*slot.Order, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.last {
		if made := &o.last[i]; made.most == most && slices.Equal(made.nodes, nodes) {
			return made.order, nil
		}
	}
	order, err := slot.NewOrder(nodes, most)
	if err != nil {
		return nil, err
	}
	o.last = append(o.last[max(0, len(o.last)-maxOrders+1):], madeOrder{nodes, most, order})
	return order, nil
}
