package plugin

import (
	"math"
	"strings"
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/identity"
	"github.com/spazio-scheduler/spazio/reserve"
)

const namespace = "spazio"

// Values of the metrics' labels.
const (
	causeRise         = "rise"
	causeRetry        = "retry"
	causeOverdue      = "overdue"
	correctionExpired = "expired"
	reportAccepted    = "accepted"
	reportHeartbeat   = "heartbeat"
	reportOutdated    = "outdated"
	reportLimited     = "limited"
	reportInvalid     = "invalid"
	reportUnknown     = "unknown_node"
	reportUnsupported = "unsupported"
	noticeQueued      = "queued"
	noticeOverflow    = "overflow"
	closedIdle        = "idle"
	closedSlow        = "slow_reader"
	closedSuperseded  = "superseded"
	closedExpired     = "token_expired"
	closedRefused     = "token_refused"
	closedStrangers   = "strangers"
	differenceRefuse  = "refuse"
	differenceAdmit   = "admit"
	interruptedAbsent = "absent"
	interruptedError  = "error"
)

// metricSet holds the counters, resolved once: the decisions' path looks up no
// label. Nothing is labelled by node, so that the series do not grow with the
// cluster. Safe for concurrent use.
type metricSet struct {
	signalAge   *metrics.Histogram
	free        *metrics.Gauge
	freeWhole   *metrics.Gauge
	inflight    *metrics.Gauge
	pending     *metrics.Gauge
	forRoom     *metrics.Gauge
	wanted      *metrics.Gauge
	overdue     *metrics.Counter
	streams     *metrics.Gauge
	nodes       map[string]metrics.GaugeMetric
	rejections  [reserve.NoMemory + 1]metrics.CounterMetric
	lostRaces   [reserve.NoMemory + 1]metrics.CounterMetric
	activated   map[string]metrics.CounterMetric
	corrections map[string]metrics.CounterMetric
	reports     map[string]metrics.CounterMetric
	notices     map[string]metrics.CounterMetric
	closings    map[string]metrics.CounterMetric
	identities  map[string]metrics.CounterMetric
	refusals    map[string]metrics.CounterMetric
	notAfter    *metrics.GaugeVec
	agents      *agentVersions
	// toReserve is the time from a pod's first attempt to its reservation, toListed the time from
	// there until a report lists it.
	toReserve, toListed *metrics.Histogram
	// podsBySource and the metrics below, up to errorRatio, are about profiles.
	podsBySource, differences map[string]metrics.CounterMetric
	interruptions             map[string]metrics.CounterMetric
	demandUpdates, dropped    *metrics.Counter
	mispredictions            *metrics.Counter
	errorRatio                map[string]metrics.ObserverMetric
	// watts holds the power of a pod, by workload.
	watts *metrics.GaugeVec
}

// registerMetrics registers the metrics with the scheduler's registry, once for
// the process however many Hubs there are.
var registerMetrics = sync.OnceValue(func() *metricSet {
	m := &metricSet{
		signalAge: metrics.NewHistogram(&metrics.HistogramOpts{
			Namespace: namespace, Name: "signal_age_seconds", StabilityLevel: metrics.ALPHA,
			Help:    "Age of the chosen node's newest sample when a pod was reserved, by the scheduler's clock.",
			Buckets: metrics.ExponentialBuckets(.001, 2, 14),
		}),
		free:      newGauge("free_pods", "Sum over nodes with a current report of the pods that still fit."),
		freeWhole: newGauge("free_whole_pods", "Sum over nodes with a current report of the pods that still fit, parts of a pod left out: what no pod can take."),
		inflight:  newGauge("inflight_pods", "Sum over nodes of the pods assumed or bound that no report has listed."),
		pending:   newGauge("waiting_pods", "Pods that were tried and are waiting for room."),
		forRoom:   newGauge("waiting_pods_for_room", "Waiting pods that some node would take if it had measured room."),
		wanted:    newGauge("room_wanted_pods", "Missing room in typical pods: the demand of the waiting pods that some node would take if it had room."),
		streams:   newGauge("streams", "Open streams of reports."),
		overdue: metrics.NewCounter(&metrics.CounterOpts{
			Namespace: namespace, Name: "overdue_admissions_total", StabilityLevel: metrics.ALPHA,
			Help: "Pods bound to a node without measured room because they had waited for maxWait.",
		}),
	}
	m.toReserve = metrics.NewHistogram(&metrics.HistogramOpts{
		Namespace: namespace, Name: "time_to_reserve_seconds", StabilityLevel: metrics.ALPHA,
		Help:    "Time from a pod's first attempt to find a node until it had one reserved. A pod whose bind failed begins anew.",
		Buckets: metrics.ExponentialBuckets(.001, 4, 12),
	})
	m.toListed = metrics.NewHistogram(&metrics.HistogramOpts{
		Namespace: namespace, Name: "time_to_listed_seconds", StabilityLevel: metrics.ALPHA,
		Help:    "Time from a pod's reservation until a report of its node listed it, during which it is in flight.",
		Buckets: metrics.ExponentialBuckets(.01, 2, 16),
	})
	m.demandUpdates = metrics.NewCounter(&metrics.CounterOpts{
		Namespace: namespace, Name: "profile_demand_updates_total", StabilityLevel: metrics.ALPHA,
		Help: "Pods in flight whose demand changed because their workload's profile did.",
	})
	m.dropped = metrics.NewCounter(&metrics.CounterOpts{
		Namespace: namespace, Name: "profile_dropped_total", StabilityLevel: metrics.ALPHA,
		Help: "Profiles ignored because pods on several nodes contradicted them, until a newer one is published.",
	})
	m.mispredictions = metrics.NewCounter(&metrics.CounterOpts{
		Namespace: namespace, Name: "profile_mispredictions_total", StabilityLevel: metrics.ALPHA,
		Help: "Pods that took far more, or far less, than was predicted.",
	})
	ratios := metrics.NewHistogramVec(&metrics.HistogramOpts{
		Namespace: namespace, Name: "profile_error_ratio", StabilityLevel: metrics.ALPHA,
		Help:    "What pods that took far more, or far less, than was predicted took over the prediction, by resource.",
		Buckets: metrics.ExponentialBuckets(1./16, 2, 10),
	}, []string{"resource"})
	m.errorRatio = make(map[string]metrics.ObserverMetric)
	legacyregistry.MustRegister(ratios)
	for _, r := range []reserve.Resource{reserve.CPU, reserve.Memory} {
		m.errorRatio[r.String()] = ratios.WithLabelValues(r.String())
	}
	legacyregistry.MustRegister(m.dropped, m.mispredictions, m.demandUpdates, m.signalAge, m.free, m.freeWhole, m.inflight, m.pending, m.forRoom, m.wanted, m.streams, m.overdue, m.toReserve, m.toListed)
	nodes := metrics.NewGaugeVec(&metrics.GaugeOpts{
		Namespace: namespace, Name: "nodes", StabilityLevel: metrics.ALPHA,
		Help: "Nodes by the state of their signal: fresh, stale or missing.",
	}, []string{"state"})
	legacyregistry.MustRegister(nodes)
	m.notAfter = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Namespace: namespace, Name: "certificate_not_after_seconds", StabilityLevel: metrics.ALPHA,
		Help: "When a certificate in the files of the signal server ends, in seconds since 1970: its own, or of the authorities of clients the first.",
	}, []string{"use"})
	legacyregistry.MustRegister(m.notAfter)
	m.agents = &agentVersions{count: make(map[string]int), gauge: metrics.NewGaugeVec(&metrics.GaugeOpts{
		Namespace: namespace, Name: "agents", StabilityLevel: metrics.ALPHA,
		Help: "Agents that report, by their version: unknown if they report none, other beyond sixteen.",
	}, []string{"version"})}
	legacyregistry.MustRegister(m.agents.gauge)
	m.watts = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Namespace: namespace, Subsystem: "energy", Name: "workload_watts", StabilityLevel: metrics.ALPHA,
		Help: "What a pod of a workload takes, as nodes measured it: the 100 workloads whose pods take most.",
	}, []string{"workload"})
	legacyregistry.MustRegister(m.watts)
	m.nodes = make(map[string]metrics.GaugeMetric)
	for _, state := range []string{signalFresh, signalStale, signalMissing} {
		m.nodes[state] = nodes.WithLabelValues(state)
	}
	rejections := newCounters("rejections_total", "Nodes that a scheduling attempt found without room, by reason.", "reason")
	lost := newCounters("reserve_failures_total", "Reservations refused because the node changed during the scheduling cycle, by reason.", "reason")
	for _, reason := range reserve.Reasons() {
		m.rejections[reason] = rejections.WithLabelValues(labelOf(reason))
		m.lostRaces[reason] = lost.WithLabelValues(labelOf(reason))
	}
	m.activated = resolve(newCounters("activations_total", "Waiting pods activated, by cause.", "cause"), causeRise, causeRetry, causeOverdue)
	m.corrections = resolve(newCounters("ledger_corrections_total", "Reservations dropped because their bind never came.", "kind"), correctionExpired)
	m.podsBySource = resolve(newCounters("profile_pods_total", "Pods reserved, by the source of their predicted demand.", "source"),
		sourceProfile, sourceTypical, sourceContradicted, sourceOff)
	m.differences = resolve(newCounters("profile_observed_differences_total", "Pods whose profile, which is only observed, would have decided otherwise about their node: refuse where it has no room for them by the profile, admit where an overdue pod has room by its profile.", "decision"),
		differenceRefuse, differenceAdmit)
	m.interruptions = resolve(newCounters("profile_interruptions_total", "Attempts to follow profiles that ended: absent if the API server has none or does not let them be read.", "cause"),
		interruptedAbsent, interruptedError)
	m.reports = resolve(newCounters("reports_total", "Reports received, by result; a heartbeat confirms the last report.", "result"),
		reportAccepted, reportHeartbeat, reportOutdated, reportLimited, reportInvalid, reportUnknown, reportUnsupported)
	m.notices = resolve(newCounters("notices_total", "Notices of binds to agents, by result.", "result"), noticeQueued, noticeOverflow)
	m.closings = resolve(newCounters("streams_closed_total", "Streams of reports that the scheduler closed, by reason.", "reason"),
		closedIdle, closedSlow, closedSuperseded, closedExpired, closedRefused, closedStrangers)
	m.identities = resolve(newCounters("identities_total", "Agents' tokens, by what the API server said; unknown if it could not be asked, throttled if it was not.", "result"),
		identity.Accepted, identity.Refused, identity.Unknown, identity.Throttled)
	m.refusals = resolve(newCounters("refused_callers_total", "Connections to the signal server closed because there were too many of them, or of calls.", "cause"),
		refusedConnections, refusedCalls)
	return m
})

// labelOf returns a reason as a label's value.
func labelOf(r reserve.Reason) string {
	return strings.ReplaceAll(r.String(), " ", "_")
}

func newGauge(name, help string) *metrics.Gauge {
	return metrics.NewGauge(&metrics.GaugeOpts{Namespace: namespace, Name: name, Help: help, StabilityLevel: metrics.ALPHA})
}

func newCounters(name, help, label string) *metrics.CounterVec {
	v := metrics.NewCounterVec(&metrics.CounterOpts{Namespace: namespace, Name: name, Help: help, StabilityLevel: metrics.ALPHA}, []string{label})
	legacyregistry.MustRegister(v)
	return v
}

func resolve(v *metrics.CounterVec, values ...string) map[string]metrics.CounterMetric {
	out := make(map[string]metrics.CounterMetric, len(values))
	for _, value := range values {
		out[value] = v.WithLabelValues(value)
	}
	return out
}

func (m *metricSet) age(d time.Duration)             { m.signalAge.Observe(d.Seconds()) }
func (m *metricSet) lost(r reserve.Reason)           { m.lostRaces[r].Inc() }
func (m *metricSet) activations(cause string, n int) { m.activated[cause].Add(float64(n)) }
func (m *metricSet) correction(kind string)          { m.corrections[kind].Inc() }
func (m *metricSet) report(result string)            { m.reports[result].Inc() }
func (m *metricSet) notice(result string)            { m.notices[result].Inc() }
func (m *metricSet) closed(reason string)            { m.closings[reason].Inc() }
func (m *metricSet) identity(result string)          { m.identities[result].Inc() }

func (m *metricSet) reserved(after time.Duration) { m.toReserve.Observe(after.Seconds()) }

// landed observes the time in flight of the pods that a report lists for the first time. Pods
// that this scheduler did not reserve are skipped, because their time in flight did not begin
// here.
func (m *metricSet) landed(pods []reserve.Confirmation) {
	for _, p := range pods {
		if p.Reserved {
			m.toListed.Observe(p.InFlightFor.Seconds())
		}
	}
}

// mispredicted counts a pod whose measured usage differed from the prediction. A ratio of 0 means
// that nothing was predicted for that resource.
func (m *metricSet) mispredicted(s agent.Misprediction) {
	m.mispredictions.Inc()
	for i, ratio := range [reserve.Resources]float64{reserve.CPU: s.CPURatio, reserve.Memory: s.MemoryRatio} {
		if ratio > 0 {
			m.errorRatio[reserve.Resource(i).String()].Observe(ratio)
		}
	}
}

// rejected adds the nodes that one attempt found without room.
func (m *metricSet) rejected(byReason *[reserve.NoMemory + 1]int) {
	for _, reason := range reserve.Reasons() {
		if n := byReason[reason]; n > 0 {
			m.rejections[reason].Add(float64(n))
		}
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

// Causes of refused_callers_total.
const (
	refusedConnections = "connections"
	refusedCalls       = "calls"
)

// countRefusals adds what the signal server's guard has refused since the last call.
func (h *Hub) countRefusals() {
	last, now := h.refusals, h.guard.Stats()
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
