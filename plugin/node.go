package plugin

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/plugin/internal/podstate"
	"github.com/spazio-scheduler/spazio/reserve"
)

// podDemand is what every pod asks for.
var podDemand = reserve.TypicalPod()

// view is what scheduling cycles see of a node: the newest report, the pods in flight at the same
// moment, and the terms of the inequality that both make. It is never changed, only replaced.
type view struct {
	// The signal is the report's, held to what the ledger has seen.
	reserve.View
	validity reserve.Validity
	// report explains the signal; nil before the first.
	report *agent.Report
	// sampled is when the report's newest sample was taken, since the Hub's start.
	sampled time.Duration
	// typical is the verdict on a typical pod and rank the room that the node is ranked by for one,
	// and shortest the name of the resource that limits the node, empty if none is known: most cycles
	// read no more of most nodes.
	typical  reserve.Verdict
	rank     float64
	shortest string
	// known is what the pods in flight of known workloads ask for. Where
	// profiles are only observed it is not in Flight, on which decisions rest.
	known reserve.Known
	// power is the report's with the flight added; see withFlight.
	power energy.Power
}

// free returns the room beyond the pods in flight and what is held, in typical pods.
func (v *view) free() float64 { return reserve.Free(v.Signal.Avail, v.Flight) }

// rankFor returns the room that the node is ranked by for pods of a demand, in typical pods.
func (v *view) rankFor(d reserve.Demand) float64 {
	if d == podDemand {
		return v.rank
	}
	return v.Rank(d)
}

// fresh reports whether decisions at now rest on the signal.
func (v *view) fresh(now time.Duration) bool { return v.validity.Fresh(now) }

// goodness returns how good a node as seen in v is by a ranking, NaN if no node's power is known.
func (v *view) goodness(r *energy.Ranking, now time.Duration) float64 {
	if !v.fresh(now) {
		return r.Relative(&energy.Power{}, 0, 0)
	}
	return r.Relative(&v.power, 0, 0)
}

// profiled returns v with known pods in flight counted as what they take.
func (v *view) profiled(r *rules) reserve.View {
	flight := v.Flight
	flight.Known = v.known
	return reserve.NewView(v.Signal, flight, r.admit)
}

// node orders everything that changes what is known of one node: reports, the
// ledger's entries and the view made from both change under its mutex, so that
// Reserve decides on the state it changes. Reading the view takes no lock.
type node struct {
	name string
	// id is a small number that no other node of the directory has; it passes to
	// a later one when this is removed.
	id   int
	view atomic.Pointer[view]

	mu      sync.Mutex
	account *reserve.Account
	// inAPI reports whether the API has the node; only then do its slots count.
	inAPI atomic.Bool
	// cores are the API's, 0 if it names none.
	cores atomic.Int32
	// removed reports whether this node is no longer in the directory, or about to be;
	// one of the same name may come after it.
	removed bool
	since   time.Duration
	report  *agent.Report
	// newest is the version of report or of what a heartbeat said of it.
	newest version
	// signal is the report's as it was capped when the report last counted.
	signal  reserve.Signal
	sampled time.Duration
	// vacant reports whether the report lists no pod of the node's own choice; see
	// Hub.vacant. consumed is when the newest sample was taken of what pods took.
	vacant   bool
	consumed time.Duration
	stream   *subscriber
	bucket   bucket
	// held is the newest report that came too early, nil for none; an arrival is
	// never changed, only replaced.
	held atomic.Pointer[arrival]
	// refused is the last report that did not count, nil for none.
	refused atomic.Pointer[RefusedReport]
}

// withFlight is a node's power as it will be with its pods in flight. Idle remains where
// no pod is there or on its way: what waking the node costs, if it sleeps.
func withFlight(p energy.Power, cores float64, vacant bool) energy.Power {
	p.Watts += p.Marginal * cores
	p.Busy += cores
	if !vacant {
		p.Idle = 0
	}
	return p
}

// rules are the constants of all decisions of a Hub.
type rules struct {
	admit     reserve.Rules
	freshness reserve.Freshness
	overdue   reserve.OverdueAdmission
	// byDemand reports whether pods are counted as what they are known to take.
	byDemand bool
}

// decide returns why a node as seen in v takes no pod of a demand, or that it is admitted.
func (r *rules) decide(v *view, d reserve.Demand, at reserve.Moment) reserve.Reason {
	if d == podDemand {
		return r.freshness.Admit(v.validity, at, v.typical)
	}
	return r.freshness.Admit(v.validity, at, v.Judge(d))
}

// byProfile returns what decide would if known pods were counted as what they take.
func (r *rules) byProfile(v *view, d reserve.Demand, at reserve.Moment) reserve.Reason {
	profiled := v.profiled(r)
	return r.freshness.Admit(v.validity, at, profiled.Judge(d))
}

// places returns how many overdue pods of a demand a node as seen in v takes, in addition to pods
// that have room.
func (r *rules) places(n *node, v *view, d reserve.Demand, at reserve.Moment) int {
	if !v.fresh(at.Now) {
		return 0
	}
	return r.overdue.Places(v.Signal, v.Flight, d, n.account.Overdue(), int(n.cores.Load()), r.admit)
}

// slotsBeside counts the pods of a demand that a node as seen in v takes beside a flight.
func (r *rules) slotsBeside(v *view, f reserve.Flight, d reserve.Demand, admit reserve.Rules, at reserve.Moment) int {
	return r.freshness.Slots(v.validity, at, v.Signal, f, d, admit)
}

// refresh makes a new view of n, whose mutex is held. clock is the time of at.
func (n *node) refresh(r *rules, at reserve.Moment, clock time.Time) {
	flight := n.account.Flight()
	v := &view{report: n.report, sampled: n.sampled, validity: r.freshness.Awaited(n.since), known: flight.Known}
	if !r.byDemand {
		flight.Known = reserve.Known{}
	}
	if n.report != nil {
		v.validity = r.freshness.Reported(n.sampled)
		// A node that falls silent keeps the line that it had: pods that end there
		// don't lower it.
		if v.validity.Fresh(at.Now) {
			n.signal = n.account.Cap(n.report.Signal(), clock)
		}
		v.shortest = n.report.Limiting
		v.power = withFlight(n.report.Power, flight.Cores, n.vacant && flight.Demand == 0)
	}
	n.signal.Cores = float64(n.cores.Load())
	signal := n.signal
	if !v.validity.Fresh(at.Now) {
		signal.Pods = max(signal.Pods, n.account.Running())
	}
	v.View = reserve.NewView(signal, flight, r.admit)
	v.typical, v.rank = v.Judge(podDemand), v.Rank(podDemand)
	n.view.Store(v)
}

// node returns the named node, which it creates if it is new.
func (h *Hub) node(name string) *node {
	n, made := h.nodes.ensure(name, func() *node {
		n := &node{name: name, account: h.ledger.Account(name), since: h.now()}
		n.refresh(&h.rules, h.moment(), h.clock())
		return n
	})
	if made {
		h.waiting.admit(n)
	}
	return n
}

// change calls f, which reports whether it changed the ledger's entries of a node, with the node's
// mutex held, so that a decision sees all of the change or nothing. The node is unknown while its own
// event is still to come, or once it is gone: then there are no decisions to keep consistent.
func (h *Hub) change(node string, f func() (changed bool)) {
	n := h.nodes.get(node)
	if n == nil {
		f()
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if f() {
		h.refreshLocked(n)
	}
}

// refresh makes a node's state visible and wakes pods if it gained slots.
func (h *Hub) refresh(node string) { h.change(node, func() bool { return true }) }

// refreshLocked is refresh for a caller that holds the node's mutex.
func (h *Hub) refreshLocked(n *node) {
	at := h.moment()
	if !n.view.Load().fresh(at.Now) {
		h.waiting.notify(n) // pods may have been refused since it turned stale: against then it rises
	}
	if n.report != nil && h.rules.freshness.Reported(n.sampled).Fresh(at.Now) {
		h.ledger.ConfirmRunning(n.account)
	}
	n.refresh(&h.rules, at, h.clock())
	h.waiting.notify(n)
}

// inventory runs when the informers have delivered all existing objects. It drops nodes that are
// known only from reports, and wakes pods that were tried too early.
func (h *Hub) inventory() {
	for _, n := range h.nodes.list().nodes {
		n.mu.Lock()
		n.removed = !n.inAPI.Load()
		remove := n.removed
		n.mu.Unlock()
		if remove {
			h.dropNode(n)
		}
	}
	h.synced.Store(true)
	for _, n := range h.nodes.list().nodes {
		h.sendPlaceholders(n.name)
		h.waiting.recheck(n)
	}
}

// nodeSeen takes in a node as the API has it.
func (h *Hub) nodeSeen(object *v1.Node) {
	n := h.node(object.Name)
	n.mu.Lock()
	for n.removed {
		// The inventory has just found the node missing in the API.
		n.mu.Unlock()
		h.dropNode(n)
		n = h.node(object.Name)
		n.mu.Lock()
	}
	wasInAPI, cores := n.inAPI.Swap(true), coresOf(object)
	if n.cores.Swap(cores) != cores || !wasInAPI { // slow start's line has moved, or its slots count now
		h.refreshLocked(n)
	}
	n.mu.Unlock()
	if h.tainted.set(n, podstate.Taints(object)) {
		h.waiting.admit(n) // pods that a taint kept from it may go there now
	}
}

// coresOf returns the node's cores, or 0 if it states none.
func coresOf(object *v1.Node) int32 {
	return int32(min(object.Status.Capacity.Cpu().Value(), math.MaxInt32))
}

// nodeGone forgets a node that the API no longer has. The ledger keeps its
// account until the last of its pods is gone.
func (h *Hub) nodeGone(object *v1.Node) {
	if n := h.nodes.get(object.Name); n != nil {
		h.dropNode(n)
	}
}

// dropNode removes a node that may already have been removed.
func (h *Hub) dropNode(n *node) {
	if !h.nodes.remove(n) {
		return
	}
	n.mu.Lock()
	n.removed = true
	n.inAPI.Store(false)
	n.mu.Unlock()
	h.waiting.remove(n)
	h.tainted.set(n, nil)
	h.placeholders.forget(n.name)
	h.ledger.Release(n.account)
}
