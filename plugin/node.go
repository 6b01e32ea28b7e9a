package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/energy"
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
	// cores are the API's, 0 if it names none, taints those that keep pods from it, nil before the
	// API's first.
	cores  atomic.Int32
	taints atomic.Pointer[[]v1.Taint]
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
	// limiter bounds the rate of its reports.
	limiter *rate.Limiter
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

// arrival is a report with the times, since the Hub's start, at which it came and at which its
// newest sample was taken. The age of a delayed report counts from the sample.
type arrival struct {
	report      *agent.Report
	at, sampled time.Duration
}

// outdated reports whether the node, whose mutex is held, has a fresh report that is at least as
// new.
func (n *node) outdated(a arrival) bool {
	return n.report != nil && !versionOf(a.report).after(n.newest) && n.view.Load().fresh(a.at)
}

// version orders the reports of a node.
type version struct{ incarnation, sequence uint64 }

func versionOf(r *agent.Report) version { return version{r.Incarnation, r.Sequence} }

func (v version) after(w version) bool {
	if v.incarnation != w.incarnation {
		return v.incarnation > w.incarnation
	}
	return v.sequence > w.sequence
}

func (v *view) state(now time.Duration) string {
	switch {
	case v.report == nil:
		return signalMissing
	case v.fresh(now):
		return signalFresh
	}
	return signalStale
}

// spare is what is left of a resource, nil where the node does not count in it.
func (v *view) spare(i reserve.Resource) *float64 {
	if !(v.Signal.Rooms[i].Unit > 0) {
		return nil
	}
	left := v.Spare(i)
	return &left
}

// energy returns the power in the node's report, or nil if it has none.
func (v *view) energy() *NodeEnergy {
	if v.report == nil || !v.report.Power.Known() {
		return nil
	}
	p := &v.report.Power
	return &NodeEnergy{
		Quality: p.Quality.String(), Watts: p.Watts, SD: p.SD, Max: p.Max, Idle: p.Idle, Marginal: p.Marginal, Busy: p.Busy,
		InFlightCores: v.Flight.Cores, Joules: p.Joules, Flags: p.Flags.String(),
	}
}

// receive takes what the agent sends until the stream ends.
func (s *signalServer) receive(stream publishStream, sub *subscriber) error {
	defer func() {
		if sub.leave != nil {
			sub.leave()
		}
	}()
	takes := &spaziov1.Notice{Event: &spaziov1.Notice_TakesHeartbeats{TakesHeartbeats: true}}
	if err := stream.Send(takes); err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.hub.receive(message, sub); err != nil {
			return err
		}
	}
}

// receive takes one report or heartbeat. An error is a status that ends the
// stream.
func (h *Hub) receive(message *spaziov1.Report, sub *subscriber) error {
	if api.IsHeartbeat(message) {
		return h.heartbeat(message, sub)
	}
	report, err := api.ToReport(message)
	of := cmp.Or(sub.identity, sub.name, message.GetNode())
	switch {
	case errors.Is(err, api.ErrMeaning):
		// No part of the report counts: the node is treated as one without an agent until it
		// reports what this version knows, or this scheduler is upgraded.
		return h.refuse(of, reportUnsupported, err.Error(), status.Error(codes.FailedPrecondition, err.Error()))
	case err != nil:
		return h.refuse(of, reportInvalid, err.Error(), status.Error(codes.InvalidArgument, err.Error()))
	case of != report.Node && sub.identity != "":
		return h.refuse(of, reportInvalid, fmt.Sprintf("it is of node %q", report.Node),
			status.Errorf(codes.PermissionDenied, "an agent on node %q reports on node %q", of, report.Node))
	case of != report.Node:
		return h.refuse(of, reportInvalid, fmt.Sprintf("it is of node %q", report.Node),
			status.Errorf(codes.InvalidArgument, "a stream of node %q carries a report of node %q", of, report.Node))
	}
	n := h.nodes.get(report.Node)
	if n == nil {
		if h.synced.Load() {
			h.metrics.reports[reportUnknown].Inc()
			return status.Errorf(codes.InvalidArgument, "node %q is not in the cluster", report.Node)
		}
		n = h.node(report.Node)
	}
	sub.base = versionOf(&report)
	result := h.accept(n, &report, min(time.Duration(message.GetSampleAgeNanos()), api.MaxAge))
	h.metrics.reports[result].Inc()
	h.keepStream(n, sub, result)
	return nil
}

// mostReason bounds what is kept of a reason, which may quote what the agent sent.
const mostReason = 200

// refuse counts a report that does not count, records why at the node that it should be of, if that is
// known, and returns the status that ends the stream.
func (h *Hub) refuse(node, result, why string, end error) error {
	h.metrics.reports[result].Inc()
	if len(why) > mostReason {
		why = strings.ToValidUTF8(why[:mostReason], "") + "…"
	}
	if n := h.nodes.get(node); n != nil {
		n.refused.Store(&RefusedReport{At: h.clock(), Reason: why})
	}
	return end
}

// errBase ends the stream of a heartbeat that refers to another report than the
// node's, so that the agent begins its next stream with a full report. It occurs
// after a node was deleted and created again.
var errBase = errors.New("heartbeat of a report that is not the node's: send a full report on a new stream")

// heartbeat handles a heartbeat, which confirms that the stream's last full report
// still holds. An error is a status that ends the stream.
func (h *Hub) heartbeat(message *spaziov1.Report, sub *subscriber) error {
	b, err := api.ToHeartbeat(message)
	if err != nil {
		h.metrics.reports[reportInvalid].Inc()
		return status.Error(codes.InvalidArgument, err.Error())
	}
	n := h.nodes.get(sub.name)
	if n == nil || b.Unchanged != sub.base.sequence {
		h.metrics.reports[reportInvalid].Inc()
		return status.Error(codes.FailedPrecondition, errBase.Error())
	}
	result, err := h.renew(n, sub.base, b)
	h.metrics.reports[result].Inc()
	if err != nil {
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	h.keepStream(n, sub, result)
	return nil
}

// renew makes the report of version base, if it is the node's current one, count as of
// a newer sample. A report that the rate limit holds back is renewed, too. The signal
// and the ledger's entries do not change.
func (h *Hub) renew(n *node, base version, b api.Heartbeat) (result string, err error) {
	now := h.now()
	sampled, newest := now-min(b.SampleAge, api.MaxAge), version{base.incarnation, b.Sequence}
	n.mu.Lock()
	held := n.held.Load()
	switch {
	case held != nil && versionOf(held.report) == base:
		n.held.Store(&arrival{held.report, held.at, sampled})
		result = reportLimited
	case n.report == nil || versionOf(n.report) != base:
		result, err = reportInvalid, errBase
	case !newest.after(n.newest):
		result = reportOutdated
	case !h.takes(n, now):
		result = reportLimited
	default:
		n.sampled, n.newest = sampled, newest
		h.refreshLocked(n)
		result = reportHeartbeat
	}
	n.mu.Unlock()
	return result, err
}

// takes counts a report of a node, whose mutex is held, unless the node reports too often.
func (h *Hub) takes(n *node, now time.Duration) bool { return n.limiter.AllowN(h.start.Add(now), 1) }

// accept makes a report the node's newest, unless a newer one is already there or the node
// reports too often. Of the excess reports the newest is held, and takes effect with the next one
// or at the first inspection at which the rate allows it, whichever comes first.
//
// A newer report that has turned stale gives way to an older version: a node whose clock was set
// back starts over with a lower incarnation.
func (h *Hub) accept(n *node, r *agent.Report, age time.Duration) (result string) {
	a := arrival{report: r, at: h.now()}
	a.sampled = a.at - age
	var mispredictions []agent.Misprediction
	n.mu.Lock()
	switch {
	case n.outdated(a):
		result = reportOutdated
	case !h.takes(n, a.at):
		if held := n.held.Load(); held == nil || versionOf(r).after(versionOf(held.report)) {
			n.held.Store(&a)
		}
		result = reportLimited
	default:
		if held := n.held.Load(); held != nil && versionOf(held.report).after(versionOf(r)) {
			a = *held
		}
		mispredictions = h.apply(n, a)
		result = reportAccepted
	}
	n.mu.Unlock()
	h.mispredicted(n, mispredictions)
	return result
}

// release applies the report that n holds back, if there is one and its rate allows; the mutex of
// n is held. It returns what apply does.
func (h *Hub) release(n *node, now time.Duration) (mispredictions []agent.Misprediction) {
	held := n.held.Load()
	if held == nil || !h.takes(n, now) {
		return nil
	}
	return h.apply(n, *held)
}

// apply makes a report the current one of n, whose mutex is held, and returns the mispredictions that
// are new.
func (h *Hub) apply(n *node, a arrival) (mispredictions []agent.Misprediction) {
	r := a.report
	mispredictions = newMispredictions(r, n.report)
	clock := h.clock()
	confirmed := h.ledger.Confirm(n.name, r.Incarnation, r.Pods, clock)
	h.metrics.confirmed(confirmed)
	h.histories.confirmed(confirmed, clock)
	h.consumed(n, r, a.sampled)
	n.report, n.sampled, n.vacant = r, a.sampled, h.vacant(r)
	n.held.Store(nil)
	n.newest, n.signal = versionOf(r), n.account.Cap(r.Signal(), h.clock())
	h.refreshLocked(n)
	return mispredictions
}
