package plugin

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
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

const (
	// scoreUnit turns a raw score into an integer for NormalizeScore; scoreMost
	// keeps that in range.
	scoreUnit = 1 << 20
	scoreMost = 1 << 40
	// neutralScore marks a node without a signal.
	neutralScore = -1
)

// scratch holds the slices that NormalizeScore works on, to be reused.
type scratch struct {
	raw        []float64
	normalised []int64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Score returns the raw score in units of 2⁻²⁰, or neutralScore.
func (p *spazio) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, info fwk.NodeInfo) (int64, *fwk.Status) {
	c, err := p.cycle(state)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	i, known := c.directory.places[info.Node().Name]
	if !known {
		return neutralScore, nil
	}
	raw := c.score(c.directory.nodes[i].view.Load(), p.hub.options.Random(), &p.hub.rules, p.ranking)
	if math.IsNaN(raw) {
		return neutralScore, nil
	}
	return int64(min(raw, scoreMost) * scoreUnit), nil
}

// ScoreExtensions returns the plugin itself, which normalises.
func (p *spazio) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore brings the raw scores to 0..100.
func (*spazio) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	w := scratches.Get().(*scratch)
	defer scratches.Put(w)
	w.raw = slices.Grow(w.raw[:0], len(scores))[:len(scores)]
	for i, s := range scores {
		w.raw[i] = float64(s.Score)
		if s.Score == neutralScore {
			w.raw[i] = math.NaN()
		}
	}
	w.normalised = reserve.NormalizeTo(w.normalised, w.raw)
	for i := range scores {
		scores[i].Score = w.normalised[i]
	}
	return nil
}

// Refusal counts the nodes that took no pod for the same reason.
type Refusal struct {
	Nodes   int    `json:"nodes"`
	Message string `json:"message"`
}

// inWords returns the refusals as the scheduler itself would count them in an event.
func inWords(list []Refusal) string {
	parts := make([]string, len(list))
	for i, r := range list {
		parts[i] = fmt.Sprint(r.Nodes, " ", r.Message)
	}
	return strings.Join(parts, ", ")
}

// messages are the status messages of refusals by reason.
var messages = [...]string{
	reserve.Stale:     "node(s) without a current capacity report",
	reserve.Saturated: "node(s) saturated",
	reserve.NoRoom:    "node(s) without room for another pod",
	reserve.SlowStart: "node(s) with too many pods still starting",
	reserve.NoCPU:     "node(s) without enough CPU for what the pod is expected to take",
	reserve.NoMemory:  "node(s) without enough memory for what the pod is expected to take",
}

// refusalCounts counts refused nodes by the message of their status.
type refusalCounts struct {
	nodes     int
	byReason  [reserve.NoMemory + 1]int
	byMessage []messageCount
}

// messageCount counts the nodes that are refused for a reason, those that are saturated or have no
// room by their shortest resource.
type messageCount struct {
	reason   reserve.Reason
	shortest string
	nodes    int
	// text is the status message. All statuses of the count share it.
	text []string
}

// maxShortest bounds how many messages name a resource, because a report may carry any name.
const maxShortest = 64

// find returns the place in byMessage of a node that is refused as seen in v.
func (t *refusalCounts) find(v *view, reason reserve.Reason) int {
	shortest := ""
	if reason == reserve.Saturated || reason == reserve.NoRoom {
		shortest = v.shortest
	}
	for i := range t.byMessage {
		if c := &t.byMessage[i]; c.reason == reason && (c.shortest == shortest || i >= maxShortest && c.shortest == "") {
			return i
		}
	}
	message := messages[reason]
	if len(t.byMessage) >= maxShortest {
		shortest = ""
	}
	if shortest != "" {
		message += ", shortest in " + shortest
	}
	t.byMessage = append(t.byMessage, messageCount{reason: reason, shortest: shortest, text: []string{message}})
	return len(t.byMessage) - 1
}

// add counts so many nodes more, or fewer, that are refused with the message at a place.
func (t *refusalCounts) add(message, nodes int) {
	c := &t.byMessage[message]
	c.nodes += nodes
	t.nodes += nodes
	t.byReason[c.reason] += nodes
}

// refusals returns the counts by message, in the messages' order.
func (t *refusalCounts) refusals() []Refusal {
	var list []Refusal
	for _, c := range t.byMessage {
		if c.nodes > 0 {
			list = append(list, Refusal{Nodes: c.nodes, Message: c.text[0]})
		}
	}
	slices.SortFunc(list, func(a, b Refusal) int { return strings.Compare(a.Message, b.Message) })
	return list
}
