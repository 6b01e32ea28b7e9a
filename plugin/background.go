package plugin

import (
	"context"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/plugin/silence"
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
	// wakesPerInspection bounds the pods that an inspection activates, both those of the slow
	// retry, which covers what waking missed, and the overdue ones: neither must flood the queue.
	wakesPerInspection = 16
)

// attend starts what the Hub does by itself until ctx ends.
func (h *Hub) attend(ctx context.Context) {
	if h.driven {
		return
	}
	h.tasks.Go(func() { h.wake(ctx) })
	h.tasks.Go(func() { every(ctx, inspection, func() { h.inspect(ctx) }) })
	h.tasks.Go(func() { every(ctx, gauging, func() { h.gauge(h.now()) }) })
	h.tasks.Go(func() { h.markAll(ctx) })
	h.tasks.Go(func() {
		h.certificates()
		every(ctx, readCertificates, h.certificates)
	})
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

// activation is a pod with the handle that activates it.
type activation struct {
	pod    *v1.Pod
	handle fwk.Handle
}

// activate moves pods to the front of their scheduler's queue. The profiles of a scheduler share one
// queue, so any of the handles reaches it; one call for each handle is enough.
func (h *Hub) activate(ctx context.Context, list []activation, cause string) {
	if len(list) == 0 {
		return
	}
	h.metrics.activated[cause].Add(float64(len(list)))
	logger := klog.FromContext(ctx)
	logger.V(4).Info("Activating waiting pods", "count", len(list), "cause", cause)
	pods := make(map[fwk.Handle]map[string]*v1.Pod)
	for _, a := range list {
		if pods[a.handle] == nil {
			pods[a.handle] = make(map[string]*v1.Pod)
		}
		pods[a.handle][string(a.pod.UID)] = a.pod
	}
	for handle, of := range pods {
		handle.Activate(logger, of)
	}
}

// round grants the slots of the nodes that have risen. It returns the pods to activate and after
// how long there is more to do; 0 means not before something rises.
func (w *waiting) round() (woken []activation, again time.Duration) {
	w.lock()
	defer w.mu.Unlock()
	w.settle()
	w.queue.Advance(w.at.Now)
	for gone := true; gone; { // what was granted to pods that are gone goes to others
		w.queue.Round(w.at.Now)
		var some []activation
		some, gone = w.woken()
		woken = append(woken, some...)
	}
	at, ok := w.queue.Next()
	if w.planned = at; !ok {
		w.planned = math.MaxInt64
		return woken, 0
	}
	return woken, max(at-w.at.Now, time.Millisecond)
}

// woken returns the pods that the Queue has woken. It forgets those that the API no longer knows as
// pending, and reports whether there were any.
func (w *waiting) woken() (list []activation, gone bool) {
	for _, number := range slices.Clone(w.queue.Woken()) {
		p := w.byNumber[number]
		if p == nil || p.isReserved {
			continue
		}
		if !w.isPending(p.pod) {
			w.forget(p)
			gone = true
			continue
		}
		list = append(list, activation{p.pod, p.handle})
	}
	return list, gone
}

// inspect returns the pods that the slow retry wakes, and those that have waited too long and for
// which there are places.
func (w *waiting) inspect() (retried, overdue []activation) {
	w.lock()
	defer w.unlock()
	w.markOld()
	w.queue.Advance(w.at.Now)
	w.queue.WakeIdle(wakesPerInspection, w.at.Now)
	retried, _ = w.woken()
	w.queue.RoundOverdue(wakesPerInspection, w.at.Now)
	overdue, _ = w.woken()
	return retried, overdue
}

// markOld finds the pods that have waited for room for long enough to be marked in the API.
func (w *waiting) markOld() {
	for range marksPerInspection {
		if len(w.unmarked) == 0 {
			return
		}
		b := w.unmarked[0]
		isWaiting := b.pod.since.Equal(b.since) && !b.pod.isMarked
		if isWaiting && w.start.Add(w.at.Now).Before(b.since.Add(w.maxWait/markFraction)) {
			return
		}
		w.unmarked[0] = waitBegin{} // or the array keeps the pod
		if w.unmarked = w.unmarked[1:]; isWaiting {
			b.pod.isMarked = true
			w.marks = append(w.marks, b.pod)
		}
	}
}

// every calls f once a period until ctx ends.
func every(ctx context.Context, period time.Duration, f func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f()
		}
	}
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

// Reasons of the events that are recorded on nodes.
const (
	SignalLost = "SpazioSignalLost"
	SignalBack = "SpazioSignalBack"
)

// announceSignals records events on nodes whose signals are lost or back until ctx ends, if this
// scheduler leads. If it does not, the leader records what both plan; see package silence.
func (h *Hub) announceSignals(ctx context.Context, recorder events.EventRecorder, nodes listers.NodeLister) {
	config := h.options.Silences.WithDefaults()
	config.After = h.args.SignalLostAfter.Duration
	planner := silence.New(config)
	ticker := time.NewTicker(config.Period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := h.now()
		due := planner.Step(now, h.silences())
		if len(due) == 0 || recorder == nil || !h.options.Leading() {
			continue
		}
		for _, e := range due {
			node, err := nodes.Get(e.Node)
			if err != nil {
				continue // the node has gone meanwhile
			}
			h.announceSignal(recorder, node, e, now)
		}
		klog.FromContext(ctx).Info("Recorded events about signals of nodes", "events", len(due), "silent", due[0].Silent, "nodes", due[0].Nodes)
	}
}

// silences returns the nodes and when the newest sample of each was taken.
func (h *Hub) silences() []silence.Node {
	at := h.moment()
	d := h.nodes.list()
	all := make([]silence.Node, 0, len(d.nodes))
	for _, n := range d.nodes {
		v := n.view.Load()
		all = append(all, silence.Node{
			Name: n.name, Reported: v.report != nil, Sampled: v.sampled, Fresh: v.fresh(at.Now),
		})
	}
	return all
}

func (h *Hub) announceSignal(recorder events.EventRecorder, node *v1.Node, e silence.Event, now time.Duration) {
	if !e.Lost {
		recorder.Eventf(node, nil, v1.EventTypeNormal, SignalBack, "Watching", "its agent reports again; it was silent from %s", h.start.Add(e.Since).UTC().Format(time.RFC3339))
		return
	}
	recorder.Eventf(node, nil, v1.EventTypeWarning, SignalLost, "Watching",
		"no report of its agent for %v: what room it has is not known; %d of %s silent", (now - e.Since).Round(time.Second), e.Silent, areNodes(e.Nodes))
}

// areNodes returns a number of nodes with its verb, as in "of 2 nodes are".
func areNodes(n int) string {
	if n == 1 {
		return "1 node is"
	}
	return plural(n, "node") + " are"
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
