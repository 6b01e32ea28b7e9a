package plugin

import (
	"context"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/grpc/metadata"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/identity"
	"github.com/spazio-scheduler/spazio/reserve"
)

const namespace = "spazio"

// Values of the metrics' labels.
const (
	causeRise             = "rise"
	causeRetry            = "retry"
	causeOverdue          = "overdue"
	correctionExpired     = "expired"
	reportAccepted        = "accepted"
	reportHeartbeat       = "heartbeat"
	reportOutdated        = "outdated"
	reportLimited         = "limited"
	reportInvalid         = "invalid"
	reportUnknown         = "unknown_node"
	reportUnsupported     = "unsupported"
	closedIdle            = "idle"
	closedSlow            = "slow_reader"
	closedSuperseded      = "superseded"
	closedExpired         = "token_expired"
	closedRefused         = "token_refused"
	closedUnauthenticated = "unauthenticated"
	differenceRefuse      = "refuse"
	differenceAdmit       = "admit"
	interruptedAbsent     = "absent"
	interruptedError      = "error"
)

// metricSet holds the counters, resolved once: the decisions' path looks up no
// label. Nothing is labelled by node, so that the series do not grow with the
// cluster. Safe for concurrent use.
type metricSet struct {
	// toReserve is the time from a pod's first attempt to its reservation, toListed the time from
	// there until a report lists it.
	signalAge, toReserve, toListed                      *metrics.Histogram
	free, freeWhole, inflight, pending, forRoom, wanted *metrics.Gauge
	overdue                                             *metrics.Counter
	nodes                                               map[string]metrics.GaugeMetric
	rejections                                          [reserve.NoMemory + 1]metrics.CounterMetric

	activated, corrections, reports, closings, identities, refusals map[string]metrics.CounterMetric

	notAfter *metrics.GaugeVec
	agents   *agentVersions
	// podsBySource and the metrics below, up to errorRatio, are about profiles.
	podsBySource, differences, interruptions map[string]metrics.CounterMetric
	dropped, mispredictions                  *metrics.Counter
	errorRatio                               map[string]metrics.ObserverMetric
	// watts holds the power of a pod, by workload.
	watts *metrics.GaugeVec
}

// registerMetrics registers the metrics with the scheduler's registry, once for
// the process however many Hubs there are.
var registerMetrics = sync.OnceValue(func() *metricSet {
	m := &metricSet{
		signalAge: newHistogram("signal_age_seconds", "Age of the chosen node's newest sample when a pod was reserved, by the scheduler's clock.", .001, 2, 14),
		toReserve: newHistogram("time_to_reserve_seconds", "Time from a pod's first attempt to find a node until it had one reserved. A pod whose bind failed begins anew.", .001, 4, 12),
		toListed:  newHistogram("time_to_listed_seconds", "Time from a pod's reservation until a report of its node listed it, during which it is in flight.", .01, 2, 16),

		free:      newGauge("free_pods", "Sum over nodes with a current report of the pods that still fit."),
		freeWhole: newGauge("free_whole_pods", "Sum over nodes with a current report of the pods that still fit, parts of a pod left out: what no pod can take."),
		inflight:  newGauge("inflight_pods", "Sum over nodes of the pods assumed or bound that no report has listed."),
		pending:   newGauge("waiting_pods", "Pods that were tried and are waiting for room."),
		forRoom:   newGauge("waiting_pods_for_room", "Waiting pods that some node would take if it had measured room."),
		wanted:    newGauge("room_wanted_pods", "Missing room in typical pods: the demand of the waiting pods that some node would take if it had room."),

		overdue:        newCounter("overdue_admissions_total", "Pods bound to a node without measured room because they had waited for maxWait."),
		dropped:        newCounter("profile_dropped_total", "Profiles ignored because pods on several nodes contradicted them, until a newer one is published."),
		mispredictions: newCounter("profile_mispredictions_total", "Pods that took far more, or far less, than was predicted."),

		rejections: newReasons("rejections_total", "Nodes that a scheduling attempt found without room, by reason."),

		activated:   newCounters("activations_total", "Waiting pods activated, by cause.", "cause", causeRise, causeRetry, causeOverdue),
		corrections: newCounters("ledger_corrections_total", "Reservations dropped because their bind never came.", "kind", correctionExpired),
		reports: newCounters("reports_total", "Reports received, by result; a heartbeat confirms the last report.", "result",
			reportAccepted, reportHeartbeat, reportOutdated, reportLimited, reportInvalid, reportUnknown, reportUnsupported),
		closings: newCounters("streams_closed_total", "Streams of reports that the scheduler closed, by reason.", "reason",
			closedIdle, closedSlow, closedSuperseded, closedExpired, closedRefused, closedUnauthenticated),
		identities: newCounters("identities_total", "Agents' tokens, by what the API server said; unknown if it could not be asked, throttled if it was not.", "result",
			identity.Accepted, identity.Refused, identity.Unknown, identity.Throttled),
		refusals: newCounters("refused_callers_total", "Connections to the signal server closed because there were too many of them, or of calls.", "cause",
			refusedConnections, refusedCalls),
		podsBySource: newCounters("profile_pods_total", "Pods reserved, by the source of their predicted demand.", "source",
			SourceProfile, sourceTypical, SourceContradicted, sourceOff),
		differences: newCounters("profile_observed_differences_total", "Pods whose profile, which is only observed, would have decided otherwise about their node: refuse where it has no room for them by the profile, admit where an overdue pod has room by its profile.", "decision",
			differenceRefuse, differenceAdmit),
		interruptions: newCounters("profile_interruptions_total", "Attempts to follow profiles that ended: absent if the API server has none or does not let them be read.", "cause",
			interruptedAbsent, interruptedError),

		notAfter: newGauges("certificate_not_after_seconds", "When a certificate in the files of the signal server ends, in seconds since 1970: its own, or of the authorities of clients the first.", "use"),
		agents: &agentVersions{count: make(map[string]int),
			gauge: newGauges("agents", "Agents that report, by their version: unknown if they report none, other beyond sixteen.", "version")},
		watts: newGauges("energy_workload_watts", "What a pod of a workload takes, as nodes measured it: the 100 workloads whose pods take most.", "workload"),

		nodes: make(map[string]metrics.GaugeMetric), errorRatio: make(map[string]metrics.ObserverMetric),
	}
	nodes := newGauges("nodes", "Nodes by the state of their signal: fresh, stale or missing.", "state")
	for _, state := range []string{signalFresh, signalStale, signalMissing} {
		m.nodes[state] = nodes.WithLabelValues(state)
	}
	ratios := register(metrics.NewHistogramVec(histogramOf("profile_error_ratio",
		"What pods that took far more, or far less, than was predicted took over the prediction, by resource.", 1./16, 2, 10), []string{"resource"}))
	for _, r := range []reserve.Resource{reserve.CPU, reserve.Memory} {
		m.errorRatio[r.String()] = ratios.WithLabelValues(r.String())
	}
	return m
})

func register[M metrics.Registerable](m M) M {
	legacyregistry.MustRegister(m)
	return m
}

func optionsOf(name, help string) *metrics.KubeOpts {
	return &metrics.KubeOpts{Namespace: namespace, Name: name, Help: help, StabilityLevel: metrics.ALPHA}
}

func newGauge(name, help string) *metrics.Gauge {
	return register(metrics.NewGauge((*metrics.GaugeOpts)(optionsOf(name, help))))
}

func newGauges(name, help, label string) *metrics.GaugeVec {
	return register(metrics.NewGaugeVec((*metrics.GaugeOpts)(optionsOf(name, help)), []string{label}))
}

func newCounter(name, help string) *metrics.Counter {
	return register(metrics.NewCounter((*metrics.CounterOpts)(optionsOf(name, help))))
}

// newCounters returns the counters of all values that a label has.
func newCounters(name, help, label string, values ...string) map[string]metrics.CounterMetric {
	vector := register(metrics.NewCounterVec((*metrics.CounterOpts)(optionsOf(name, help)), []string{label}))
	counters := make(map[string]metrics.CounterMetric, len(values))
	for _, value := range values {
		counters[value] = vector.WithLabelValues(value)
	}
	return counters
}

// newReasons returns the counters of all reasons for which a node is refused.
func newReasons(name, help string) (counters [reserve.NoMemory + 1]metrics.CounterMetric) {
	vector := register(metrics.NewCounterVec((*metrics.CounterOpts)(optionsOf(name, help)), []string{"reason"}))
	for _, reason := range reserve.Reasons() {
		counters[reason] = vector.WithLabelValues(strings.ReplaceAll(reason.String(), " ", "_"))
	}
	return counters
}

// histogramOf describes a histogram whose first bucket ends at least; the next ones end at growth
// times that, and so on.
func histogramOf(name, help string, least, growth float64, buckets int) *metrics.HistogramOpts {
	return &metrics.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, StabilityLevel: metrics.ALPHA, Buckets: metrics.ExponentialBuckets(least, growth, buckets),
	}
}

func newHistogram(name, help string, least, growth float64, buckets int) *metrics.Histogram {
	return register(metrics.NewHistogram(histogramOf(name, help, least, growth, buckets)))
}

// confirmed observes the time in flight of the pods that a report lists for the first time. Pods
// that this scheduler did not reserve are skipped, because their time in flight did not begin
// here.
func (m *metricSet) confirmed(pods []reserve.Confirmation) {
	for _, p := range pods {
		if p.Reserved {
			m.toListed.Observe(p.InFlightFor.Seconds())
		}
	}
}

// mispredicted counts a pod whose measured usage differed from the prediction. A ratio of 0 means
// that nothing contradicts a prediction for that resource (see agent.Misprediction).
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

// Causes of refused_callers_total.
const (
	refusedConnections = "connections"
	refusedCalls       = "calls"
)

const (
	// agentProduct begins the user agent of Spazio's agents; their version follows it.
	agentProduct = "spazio-agent/"
	// mostVersions bounds the metric's series, because a caller may claim any version. An
	// upgrade has two.
	mostVersions = 16
	// longestVersion exceeds the length of any pseudo-version.
	longestVersion = 64

	versionUnknown = "unknown"
	versionOther   = "other"
)

// agentVersions counts the reporting agents by the version that they claim.
// Safe for concurrent use.
type agentVersions struct {
	gauge *metrics.GaugeVec
	mu    sync.Mutex
	count map[string]int
}

// join counts one more until leave is called.
func (v *agentVersions) join(version string) (leave func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.count[version] == 0 && len(v.count) >= mostVersions {
		version = versionOther
	}
	v.add(version, 1)
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.add(version, -1)
	}
}

// add needs v.mu.
func (v *agentVersions) add(version string, n int) {
	v.count[version] += n
	if v.count[version] == 0 {
		delete(v.count, version)
		v.gauge.DeleteLabelValues(version)
		return
	}
	v.gauge.WithLabelValues(version).Set(float64(v.count[version]))
}

// agentVersion returns the version that a stream's agent claims, or versionUnknown.
func agentVersion(ctx context.Context) string {
	known, _ := metadata.FromIncomingContext(ctx)
	for _, name := range known.Get("user-agent") {
		if rest, ok := strings.CutPrefix(name, agentProduct); ok {
			version, _, _ := strings.Cut(rest, " ")                                           // gRPC's own follows
			if version != "" && len(version) <= longestVersion && utf8.ValidString(version) { // else no label
				return version
			}
		}
	}
	return versionUnknown
}
