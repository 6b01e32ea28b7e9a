package plugin

import (
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/reserve"
)

// places returns how many overdue pods of a demand a node as seen in v takes, in addition to pods
// that have room.
func (r *rules) places(n *node, v *view, d reserve.Demand, at reserve.Moment) int {
	if !v.fresh(at.Now) {
		return 0
	}
	return r.overdue.Places(v.Signal, v.Flight, d, n.account.Overdue(), int(n.cores.Load()), r.admit)
}

// admitOverdue admits the cycle's pod, which is overdue, to the nodes that have places for overdue
// pods.
func (p *spazio) admitOverdue(c *cycle) {
	for i, n := range c.directory.nodes {
		if c.admits(i) {
			continue
		}
		if v := n.view.Load(); p.hub.rules.places(n, v, c.asks, c.at) > 0 {
			c.admitOverdue(i, v)
		}
	}
}

// admitsOverdue reports whether a cycle's pod may go to a node without room, whose mutex is held.
func (p *spazio) admitsOverdue(state fwk.CycleState, n *node, v *view, asks reserve.Demand, at reserve.Moment) bool {
	c, err := p.cycle(state)
	return err == nil && c.overdue && p.hub.rules.places(n, v, asks, at) > 0
}

// reservedOverdue records that a pod was reserved on a node without room, whose mutex is held, so
// that the check of the next such pod counts it.
func (p *spazio) reservedOverdue(state fwk.CycleState, key reserve.PodKey, short reserve.Reason) {
	p.hub.ledger.MarkOverdue(key)
	if c, err := p.cycle(state); err == nil {
		c.admittedOverdue, c.short = true, short
	}
}
