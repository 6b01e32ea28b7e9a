package plugin

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/reserve"
)

// podDemand is what every pod asks for.
var podDemand = reserve.TypicalPod()

// view is what one scheduling cycle sees of a node: the newest report and the
// pods in flight at the same moment. It is never changed, only replaced.
type view struct {
	validity reserve.Validity
	// free is the room beyond the pods in flight and what is held, rank what of it the node is
	// ranked by; both for typical pods.
	free, rank float64
	// verdict is asked for once when the view is made, not at every visit.
	verdict  reserve.Verdict
	refusals *refusals
	// report explains the signal; nil before the first.
	report *agent.Report
	// sampled is when the report's newest sample was taken, since the Hub's start.
	sampled time.Duration
	flight  reserve.Flight
	// known is what those of the flight ask for whose workloads are known. Where
	// profiles are but observed it is not in flight, on which decisions rest.
	known reserve.Known
	// signal is the report's, held to what the ledger has seen.
	signal reserve.Signal
	// power is the report's with the flight added; see withFlight.
	power energy.Power
	// brief is of signal and flight; it says nothing where profiles don't decide.
	brief reserve.Brief
}

// rankFor is the room that the node is ranked by for pods of a demand, in typical pods.
func (v *view) rankFor(d reserve.Demand) float64 {
	if d == podDemand {
		return v.rank
	}
	return reserve.RankFor(v.signal, v.flight, d)
}

// fresh says whether decisions at now rest on the signal.
func (v *view) fresh(now time.Duration) bool { return v.validity.Fresh(now) }

// node orders everything that changes what is known of one node: reports, the
// ledger's entries and the view made from both change under its mutex, so that
// Reserve decides on the state it changes. Reading the view takes no lock.
type node struct {
	name string
	// id is a small number that no other node of the directory has; it passes to
	// a later one when this is removed.
	id   int
	view atomic.Pointer[view]

	mu sync.Mutex
	// square, k and power are the node's in the newest directory; nil before the first.
	square  *square
	k       *atomic.Uint64
	power   *powerLine
	account *reserve.Account
	// inAPI says that the API has the node; only then do its slots count.
	inAPI atomic.Bool
	// cores are the API's, 0 if it does not say.
	cores atomic.Int32
	// removed says that this node is no longer in the directory, or about to be;
	// one of the same name may come after it.
	removed bool
	since   time.Duration
	report  *agent.Report
	// newest is the version of report or of what a heartbeat said of it.
	newest version
	// signal is the report's as it was capped when the report last counted.
	signal  reserve.Signal
	sampled time.Duration
	// vacant says that the report lists no pod of the node's own choice; see
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

// rules are the constants of all decisions of a Hub.
type rules struct {
	admit     reserve.Rules
	freshness reserve.Freshness
	trickle   reserve.Trickle
	// byDemand says that pods are counted as what they are known to take.
	byDemand bool
}

// admitView decides for a node as seen in v on a typical pod.
func (r *rules) admitView(v *view, at reserve.Moment) reserve.Reason {
	return r.freshness.Admit(v.validity, at, v.verdict)
}

// admitDemand is admitView for a pod of any demand.
func (r *rules) admitDemand(v *view, d reserve.Demand, at reserve.Moment) reserve.Reason {
	if d == podDemand {
		return r.admitView(v, at)
	}
	return r.freshness.Admit(v.validity, at, reserve.Judge(v.signal, v.flight, d, r.admit))
}

// slots counts the typical pods that admitView would let in.
func (r *rules) slots(v *view, at reserve.Moment) int {
	return r.freshness.Slots(v.validity, at, v.signal, v.flight, podDemand, r.admit)
}

// refresh makes a new view of n, whose mutex is held. clock is the time of at.
func (n *node) refresh(r *rules, at reserve.Moment, clock time.Time) {
	v := &view{
		flight: n.account.Flight(), report: n.report, sampled: n.sampled,
		validity: r.freshness.Awaited(n.since), refusals: refusalsFor(n.report),
	}
	if v.known = v.flight.Known; !r.byDemand {
		v.flight.Known = reserve.Known{}
	}
	if n.report != nil {
		v.validity = r.freshness.Reported(n.sampled)
		// A node that falls silent keeps the line that it had: pods that end there
		// don't lower it.
		if v.validity.Fresh(at.Now) {
			n.signal = n.account.Cap(n.report.Signal(), clock)
		}
		v.free, v.rank = reserve.Free(n.signal.Avail, v.flight), reserve.RankFor(n.signal, v.flight, podDemand)
		v.power = withFlight(n.report.Power, v.flight.Cores, n.vacant && v.flight.Demand == 0)
	}
	n.signal.Cores = float64(n.cores.Load())
	v.signal = n.signal
	if !v.validity.Fresh(at.Now) {
		v.signal.Pods = max(v.signal.Pods, n.account.Running())
	}
	v.verdict = reserve.Judge(v.signal, v.flight, podDemand, r.admit)
	if v.brief.Flags = reserve.BriefUnsure; r.byDemand {
		v.brief = reserve.MakeBrief(v.signal, v.flight, r.admit)
	}
	n.put(v) // first: what a view tells, cycles have seen
	n.view.Store(v)
}

// put writes a view to the newest directory; the mutex of n is held.
func (n *node) put(v *view) {
	if n.square == nil {
		return
	}
	n.square.put(v)
	n.k.Store(math.Float64bits(v.signal.K))
	n.power.put(&v.power)
}

// byProfile is what admitView would say of a pod of the demand if known pods were
// counted as what they take.
func (r *rules) byProfile(v *view, d reserve.Demand, at reserve.Moment) reserve.Reason {
	flight := v.flight
	flight.Known = v.known
	return r.freshness.Admit(v.validity, at, reserve.Judge(v.signal, flight, d, r.admit))
}

// nodes is the directory of all nodes. Safe for concurrent use.
type nodes struct {
	mu     sync.RWMutex
	byName map[string]*node
	// limit is the lowest id that was never used, spare are those given back.
	limit int
	spare []int
	// published is the directory as scheduling cycles read it; nil after a
	// change, so that many changes cost one copy.
	published atomic.Pointer[directory]
}

func (ns *nodes) get(name string) *node {
	ns.mu.RLock()
	defer ns.mu.RUnlock()
	return ns.byName[name]
}

// ensure returns the node, made by build if it is new.
func (ns *nodes) ensure(name string, build func() *node) (n *node, made bool) {
	if n := ns.get(name); n != nil {
		return n, false
	}
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if n := ns.byName[name]; n != nil {
		return n, false
	}
	if ns.byName == nil {
		ns.byName = make(map[string]*node)
	}
	n = build()
	if last := len(ns.spare) - 1; last >= 0 {
		n.id, ns.spare = ns.spare[last], ns.spare[:last]
	} else {
		n.id = ns.limit
		ns.limit++
	}
	ns.byName[name] = n
	ns.published.Store(nil)
	return n, true
}

// remove takes a node out, and reports whether it was there: another may have its name.
func (ns *nodes) remove(n *node) bool {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if ns.byName[n.name] != n {
		return false
	}
	ns.spare = append(ns.spare, n.id)
	delete(ns.byName, n.name)
	ns.published.Store(nil)
	return true
}

// list returns the current directory. The caller holds no node's mutex.
func (ns *nodes) list() *directory {
	if d := ns.published.Load(); d != nil {
		return d
	}
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if d := ns.published.Load(); d != nil {
		return d
	}
	d := newDirectory(ns.byName, ns.limit)
	ns.published.Store(d)
	return d
}
