package plugin

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/placement"
	"github.com/spazio-scheduler/spazio/reserve"
)

// cycle is what was decided for all nodes when a scheduling cycle began. Clones share
// it: after PreFilter only the statuses change, each once.
type cycle struct {
	directory *directory
	attempt   *attempt
	// waitSet gets the nodes that Filter refuses; nil where Filter is left out or
	// sees only a few nodes.
	waitSet *refusedNodes
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
	// granted is the node that a pod was tentatively reserved on with its gang.
	granted string
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
func (c *cycle) learn(i int, h *Hub) {
	c.waitSet.add(c.directory.ids[i])
	n := c.directory.nodes[i]
	if v := n.view.Load(); v != c.refused[i].view && h.rules.decide(v, c.asks, c.at) == reserve.Admitted {
		h.waiting.recheck(n)
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

// refusedNodes are the nodes that the plugin alone refuses a pod while its attempt goes on. Any other
// node either refused the pod for a reason of its own, in which case the queueing hints of the plugin
// that did so wake it, or was tried without success. The plugin's Filter runs after those of the default
// plugins, so a node that it is asked about has passed them all. Safe for concurrent use.
type refusedNodes struct {
	words []atomic.Uint64 // one bit a node, by its id
	added atomic.Int64    // how many
}

const wordBits = 64

// newRefusedNodes returns an empty set of nodes whose ids are below limit.
func newRefusedNodes(limit int) *refusedNodes {
	return &refusedNodes{words: make([]atomic.Uint64, (limit+wordBits-1)/wordBits)}
}

// add puts a node into the set. Nodes that joined after the attempt began belong to it anyway.
func (r *refusedNodes) add(id int) {
	if id/wordBits >= len(r.words) {
		return
	}
	bit := uint64(1) << (id % wordBits)
	if r.words[id/wordBits].Or(bit)&bit == 0 {
		r.added.Add(1)
	}
}

// waitSet returns the set as it is now, with the nodes whose ids are beyond it.
func (r *refusedNodes) waitSet() placement.WaitSet {
	set := placement.EveryNode()
	for i := range r.words {
		for out := ^r.words[i].Load(); out != 0; out &= out - 1 {
			set.Remove(i*wordBits + bits.TrailingZeros64(out))
		}
	}
	return set
}

// attempt is what is remembered about a pod's last scheduling attempt. It keeps none of the
// cycle's state alive. Safe for concurrent use.
type attempt struct {
	// summary is how the attempt found the nodes; it is never changed.
	summary atomic.Pointer[Attempt]
	// refused is set once the plugin alone has refused the pod a node.
	refused atomic.Bool
	// changes is waiting.changes when the attempt began; the mutex of waiting guards it.
	changes int
}

// refuse records that the plugin alone refused the pod a node, and reports whether that is the
// first such node. Many nodes are refused at a time.
func (a *attempt) refuse() (first bool) {
	return !a.refused.Load() && a.refused.CompareAndSwap(false, true)
}

// This file is about gangs, whose pods start together or not at all: those of a PodGroup. The
// scheduler tries a gang by reserving its pods one after the other, so that each counts for the next,
// and then takes all of that back. Only if enough of them fit, it reserves these for good, without a
// look for nodes. What was found for them stands then, or a report in between would break the gang up.
//
// That a reservation was only tentative must not be news to pods that wait, the gang's own among
// them, or each attempt would cause the next. While nodes have such reservations, the waiting pods
// see them as they were before. And what helps a pod of a gang is not room on the nodes that it was
// refused, which its own gang may have taken, but more room than there was: it waits for every node.

// tentativeNode is a node as it was before pods were tentatively reserved on it.
type tentativeNode struct {
	view *view
	pods map[types.UID]struct{}
}

// hold has waiting pods see a node as it is in v as long as it has tentative reservations.
func (w *waiting) hold(n *node, v *view, pod types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.tentative[n]
	if t == nil {
		t = &tentativeNode{v, make(map[types.UID]struct{})}
		w.tentative[n] = t
	}
	t.pods[pod] = struct{}{}
}

// unhold ends hold for a pod, and wakes pods if the node has changed meanwhile.
func (w *waiting) unhold(n *node, pod types.UID) {
	w.lock()
	defer w.unlock()
	t := w.tentative[n]
	if t == nil {
		return
	}
	if delete(t.pods, pod); len(t.pods) > 0 {
		return
	}
	delete(w.tentative, n)
	if w.has(n) { // what reports have changed meanwhile is news now
		w.queue.NotifyNode(n.id, w.at.Now)
	}
}

// viewOf returns a node as waiting pods see it.
func (w *waiting) viewOf(n *node) *view {
	if t := w.tentative[n]; t != nil {
		return t.view
	}
	return n.view.Load()
}

// unreserveTentative takes back the tentative reservation of a pod, which goes on waiting.
func (p *spazio) unreserveTentative(state fwk.CycleState, pod *v1.Pod, name string) {
	h, key := p.hub, reserve.KeyOf(string(pod.UID))
	n := h.nodes.get(name)
	if h.ledger.Unreserve(name, key) {
		h.workloads.leave(key)
		h.refresh(name)
	}
	if n != nil {
		h.waiting.unhold(n, pod.UID)
	}
	if c, err := p.cycle(state); err == nil && c.admittedOverdue {
		h.waiting.failed(pod) // the place is free again and would wake it
	}
}
