package plugin

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/reserve"
)

// stateKey finds a cycle in a CycleState.
const stateKey fwk.StateKey = Name

// cycle is what was decided for all nodes when a scheduling cycle began. Clones share
// it: after PreFilter only the statuses change, each once.
type cycle struct {
	directory *directory
	attempt   *attempt
	// waitSet gets the nodes that Filter refuses; nil where Filter is left out or
	// sees only a few nodes. rises gets the nodes that rose before they were in it.
	waitSet *refusedNodes
	rises   func(*node)
	at      reserve.Moment
	// asks is the demand that the pod is decided on by.
	asks reserve.Demand
	// refused are the directory's nodes that were refused, the zero value for an admitted one;
	// there are none where all are admitted. open counts the admitted.
	refused  []refusedNode
	open     int
	refusals refusalCounts
	// marked is set if the API has the pod's condition waits-for-room.
	marked bool
	// overdue reports whether the pod is admitted to nodes without room; admittedOverdue whether it
	// was reserved on one of them, and short is what was lacking there. lowest is the least
	// rank of those nodes, 0 where none is admitted.
	overdue         bool
	lowest          float64
	admittedOverdue bool
	short           reserve.Reason
	// energy compares the nodes by their energy, where the profile ranks by it.
	energy energy.Ranking
	// statuses has a place for each refused node, given counts those given away. They are made
	// together, so that a visited node costs no allocation, and are not shared, because the
	// framework writes the plugin's name into each status that it gets.
	statuses func() []fwk.Status
	given    atomic.Int64
}

// refusedNode is a node that a cycle refused: the view by which it did, nil if it is admitted, and
// the message's place in the refusals.
type refusedNode struct {
	view    *view
	message int
}

// Clone implements fwk.StateData.
func (c *cycle) Clone() fwk.StateData { return c }

// judge decides for all nodes as they are now on a pod of a demand and counts the
// refused. Energy refuses none.
func (p *spazio) judge(a *attempt, pod *v1.Pod, asks reserve.Demand) (*cycle, *refusalCounts) {
	h := p.hub
	d, at := h.nodes.list(), h.moment()
	c := &cycle{directory: d, attempt: a, at: at, asks: asks}
	c.statuses = sync.OnceValue(func() []fwk.Status { return make([]fwk.Status, len(c.directory.nodes)-c.open) })
	if p.ranking.Energy > 0 {
		c.energy = d.energy(&p.energy, h.cores(pod), at.Now)
	}
	for i, n := range d.nodes {
		v := n.view.Load()
		reason := h.rules.decide(v, asks, at)
		if reason == reserve.Admitted {
			continue
		}
		if c.refused == nil {
			c.refused = make([]refusedNode, len(d.nodes))
		}
		c.refused[i] = refusedNode{v, c.refusals.find(v, reason)}
		c.refusals.add(c.refused[i].message, 1)
	}
	c.open = len(d.nodes) - c.refusals.nodes
	return c, &c.refusals
}

// admits reports whether the cycle saw room on the i-th node.
func (c *cycle) admits(i int) bool { return c.refused == nil || c.refused[i].view == nil }

// admitsNode reports whether the cycle saw room on a node.
func (c *cycle) admitsNode(n *node) bool {
	i, known := c.directory.places[n.name]
	return known && c.admits(i)
}

// admitOverdue admits the pod to the i-th node, which has no room.
func (c *cycle) admitOverdue(i int, v *view) {
	c.refusals.add(c.refused[i].message, -1)
	c.refused[i] = refusedNode{}
	c.open++
	c.overdue, c.lowest = true, min(c.lowest, v.rankFor(c.asks))
}

// learn notes that the plugin alone refuses the pod the i-th node. If the node
// has risen since the cycle looked at it, the waker may have passed over the
// pod.
func (c *cycle) learn(i int, r *rules) {
	c.waitSet.add(c.directory.ids[i])
	n := c.directory.nodes[i]
	if v := n.view.Load(); v != c.refused[i].view && r.decide(v, c.asks, c.at) == reserve.Admitted {
		c.rises(n)
	}
}

// refuse returns the status of the i-th node, which was refused.
func (c *cycle) refuse(i int) *fwk.Status {
	text := c.refusals.byMessage[c.refused[i].message].text
	// Preemption's dry run may visit a node again, and then takes more than there are places.
	if all, next := c.statuses(), c.given.Add(1); next <= int64(len(all)) {
		all[next-1] = *fwk.NewStatus(fwk.UnschedulableAndUnresolvable, text...)
		return &all[next-1]
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, text...)
}

// score returns the raw score of a node as seen in v, NaN if it is not ranked.
func (c *cycle) score(v *view, u float64, by *rules, r reserve.Ranking) float64 {
	if !by.freshness.Ranked(v.validity, c.at.Now) {
		return math.NaN()
	}
	goodness := math.NaN()
	if r.Energy > 0 {
		goodness = v.goodness(&c.energy, c.at.Now)
	}
	return reserve.Score(v.rankFor(c.asks)-c.lowest, v.Signal.K, goodness, u, r)
}

// scoreOnly has nodes without room ranked, too: by how much they lack of it.
func (c *cycle) scoreOnly(r *rules) {
	for _, n := range c.directory.nodes {
		if v := n.view.Load(); r.freshness.Ranked(v.validity, c.at.Now) {
			c.lowest = min(c.lowest, v.rankFor(c.asks))
		}
	}
}

// names returns the admitted nodes.
func (c *cycle) names() sets.Set[string] {
	set := make(sets.Set[string], c.open)
	for i, n := range c.directory.nodes {
		if c.admits(i) {
			set.Insert(n.name)
		}
	}
	return set
}

// cycle returns the state's cycle.
func (p *spazio) cycle(state fwk.CycleState) (*cycle, error) {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil, fmt.Errorf("plugin: read %s: %w (is PreFilter enabled?)", stateKey, err)
	}
	c, ok := data.(*cycle)
	if !ok {
		return nil, fmt.Errorf("plugin: %s holds a %T", stateKey, data)
	}
	return c, nil
}
