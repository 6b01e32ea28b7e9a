package plugin

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
	"github.com/spazio-scheduler/spazio/reserve"
)

const (
	// roundSpacing is the minimum time between two rounds: reports that arrive together share
	// one.
	roundSpacing = 5 * time.Millisecond
	// inspection is how often the Hub checks whether signals have turned stale, well below any
	// sensible MaxAge.
	inspection = 250 * time.Millisecond
	// gauging is how often the sums over nodes are computed, well below any scrape's interval.
	gauging = time.Second
)

// attend starts what the Hub does by itself until ctx ends.
func (h *Hub) attend(ctx context.Context) {
	if h.driven {
		return
	}
	h.tasks.Go(func() { h.wake(ctx) })
	h.tasks.Go(func() { wait.UntilWithContext(ctx, h.inspect, inspection) })
	h.tasks.Go(func() { wait.UntilWithContext(ctx, func(context.Context) { h.gauge(h.now()) }, gauging) })
	h.tasks.Go(func() { h.markAll(ctx) })
	h.tasks.Go(func() { wait.UntilWithContext(ctx, func(context.Context) { h.certificates() }, readCertificates) })
}

// wake runs rounds of activation until ctx ends.
func (h *Hub) wake(ctx context.Context) {
	timer := time.NewTimer(inspection)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.waiting.due:
		case <-timer.C:
		}
		if again := h.round(ctx); again > 0 {
			timer.Reset(max(again, roundSpacing))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(roundSpacing):
		}
	}
}

// round activates the pods that there are slots for, and returns after how long there is more to
// do; 0 means not before the next rise.
func (h *Hub) round(ctx context.Context) (again time.Duration) {
	woken, again := h.waiting.round()
	h.activate(ctx, woken, causeRise)
	return again
}

// activate activates waiting pods and counts them.
func (h *Hub) activate(ctx context.Context, list []objects.Activation, cause string) {
	if len(list) == 0 {
		return
	}
	h.metrics.activated[cause].Add(float64(len(list)))
	klog.FromContext(ctx).V(4).Info("Activating waiting pods", "count", len(list), "cause", cause)
	objects.Activate(ctx, list)
}

// inspect handles what no event announces: reports that were held back, signals that turned
// stale, reservations whose bind never came, and pods that have waited too long.
func (h *Hub) inspect(ctx context.Context) {
	at := h.moment()
	now := at.Now
	d := h.nodes.list()
	for _, n := range d.nodes {
		if n.view.Load().fresh(now) && n.held.Load() == nil {
			continue // what time changes of a node begins when its report is too old
		}
		n.mu.Lock()
		mispredictions := h.release(n, now)
		n.mu.Unlock()
		h.waiting.notify(n)
		h.mispredicted(n, mispredictions)
	}
	h.expire(ctx)
	if now-h.reclassed >= h.args.RetryPeriod.Duration {
		h.reclassed = now
		h.reclassAll()
	}
	retried, overdue := h.waiting.inspect()
	h.activate(ctx, retried, causeRetry)
	h.activate(ctx, overdue, causeOverdue)
}

// moment returns the time of a decision that is made now. It notices that the scheduler's process
// stood still, because the inspection alone looks at the clock several times a second.
func (h *Hub) moment() reserve.Moment {
	h.clockMu.Lock()
	defer h.clockMu.Unlock()
	h.lastMoment = h.rules.freshness.Resume(h.lastMoment, h.now())
	return h.lastMoment
}

// leaderMetric is the metric of client-go's leader election that shows whether the process leads.
const leaderMetric = "leader_election_master_status"

// leading reports whether the process leads. A process without leader election does.
func leading() bool {
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil && len(families) == 0 {
		return false
	}
	for _, f := range families {
		if f.GetName() != leaderMetric {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetGauge().GetValue() > 0 {
				return true
			}
		}
		return len(f.GetMetric()) == 0
	}
	return true
}

// reclassAll does so for all workloads: what is known of them fades.
func (h *Hub) reclassAll() {
	if !h.rules.byDemand {
		return
	}
	h.waiting.mu.Lock()
	workloads := slices.Collect(maps.Keys(h.waiting.byWorkload))
	h.waiting.mu.Unlock()
	for _, of := range workloads {
		h.waiting.reclass(of, h.asks(h.knowledgeOf(of)))
	}
}

// readCertificates is how often the certificate files are read for the metrics: certificates
// change within weeks.
const readCertificates = time.Minute

// certificates sets when the certificates expire.
func (h *Hub) certificates() {
	h.metrics.notAfter.Reset()
	for use, end := range h.args.Transport().NotAfter() {
		h.metrics.notAfter.WithLabelValues(use).Set(float64(end.Unix()))
	}
}

// countRefusals adds what the signal server's guard has refused since the last call.
func (h *Hub) countRefusals() {
	last, now := h.refusals, h.limiter.Stats()
	h.metrics.refusals[refusedConnections].Add(float64(now.Refused - last.Refused))
	h.metrics.refusals[refusedCalls].Add(float64(now.Overcalled - last.Overcalled))
	h.refusals = now
}

// gauge sets the metrics that are sums over nodes or pods.
func (h *Hub) gauge(now time.Duration) {
	h.countRefusals()
	free, whole, inflight := 0., 0., 0.
	states := map[string]int{}
	for _, n := range h.nodes.list().nodes {
		v := n.view.Load()
		states[v.state(now)]++
		inflight += v.Flight.Demand
		if v.fresh(now) {
			free += max(v.free(), 0)
			whole += math.Floor(max(v.free(), 0))
		}
	}
	h.metrics.free.Set(free)
	h.metrics.freeWhole.Set(whole)
	h.metrics.inflight.Set(inflight)
	pending, wanting := h.waiting.count()
	h.metrics.pending.Set(float64(pending))
	h.metrics.forRoom.Set(float64(wanting))
	h.metrics.wanted.Set(float64(wanting) * podDemand.Pods())
	for state, gauge := range h.metrics.nodes {
		gauge.Set(float64(states[state]))
	}
	h.measuredWatts()
}
