package aggregatord

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
)

// statistics shows the service's own counts.
type statistics struct{ service *Service }

var (
	pushesDesc    = describe("pushes_total", "Pushes by what became of them.", "result")
	refusalsDesc  = describe("refused_pushes_total", "Malformed pushes by what was wrong with them.", "cause")
	versionDesc   = describe("model_version", "Version of the models published last.")
	nodesDesc     = describe("nodes", "Nodes not forgotten.")
	clippedDesc   = describe("clipped_nodes", "Nodes that lost weight because they are far from the median model.")
	groupsDesc    = describe("models", "Global models, one a schema and dimension.")
	readyDesc     = describe("ready", "Whether pushes are answered with models.")
	peersDesc     = describe("peers", "Other replicas.")
	exchangesDesc = describe("exchanges_total", "Exchanges with other replicas by how they ended.", "result")
	statesDesc    = describe("exchanged_states_total", "States of nodes from other replicas by what became of them.", "result")
	lagDesc       = describe("exchange_lag_seconds", "Time since the last exchange with the replica for which it is longest.")
	savesDesc     = describe("snapshots_total", "Snapshots by how saving them ended.", "result")
	ageDesc       = describe("snapshot_age_seconds", "Time since the last snapshot was saved, or the process started.")
	bytesDesc     = describe("snapshot_bytes", "Size of the last snapshot.")
	callersDesc   = describe("refused_callers_total", "Connections closed because there were too many of them, or of calls.", "cause")
)

// identitiesDesc has the name that it has at the scheduler.
var identitiesDesc = prometheus.NewDesc("spazio_identities_total", "Calls by what was found of who makes them; unknown if the API server could not be asked, throttled if it was not.", []string{"result"}, nil)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("spazio_aggregator_"+name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (s statistics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		pushesDesc, refusalsDesc, versionDesc, nodesDesc, clippedDesc, groupsDesc, readyDesc,
		peersDesc, exchangesDesc, statesDesc, lagDesc, savesDesc, ageDesc, bytesDesc,
		callersDesc, identitiesDesc,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (s statistics) Collect(out chan<- prometheus.Metric) {
	models := s.service.models
	stats := models.Stats()
	gauge := func(d *prometheus.Desc, v float64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	count := func(d *prometheus.Desc, n uint64, label string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label)
	}
	count(pushesDesc, stats.Pushes, "accepted")
	count(pushesDesc, stats.Superseded, "superseded")
	count(pushesDesc, stats.Stale, "stale")
	count(pushesDesc, stats.Refused, "refused")
	count(pushesDesc, stats.Foreign, "foreign")
	count(pushesDesc, stats.Overflowed, "overflowed")
	count(pushesDesc, stats.Dropped, "dropped")
	for cause, n := range models.Refusals() {
		count(refusalsDesc, n, cause)
	}
	guard := s.service.guard.Stats()
	count(callersDesc, guard.Refused, "connections")
	count(callersDesc, guard.Overcalled, "calls")
	if callers := s.service.callers; callers != nil {
		for result, n := range callers.Results() {
			count(identitiesDesc, n, result)
		}
	}
	clipped := 0
	for _, g := range models.Globals() {
		clipped += g.Clipped
	}
	gauge(versionDesc, float64(stats.Version))
	gauge(nodesDesc, float64(stats.Nodes))
	gauge(clippedDesc, float64(clipped))
	gauge(groupsDesc, float64(stats.Groups))
	ready := 0.
	if models.Ready() {
		ready = 1
	}
	gauge(readyDesc, ready)
	if peers := s.service.peers; peers != nil {
		p := peers.Stats()
		gauge(peersDesc, float64(p.Peers))
		gauge(lagDesc, p.Lag.Seconds())
		count(exchangesDesc, p.Exchanges, "completed")
		count(exchangesDesc, p.Failed, "failed")
		count(statesDesc, stats.Taken, "taken")
		count(statesDesc, stats.Known, "known")
		count(statesDesc, stats.Unfit, "unfit")
	}
	if snapshot := s.service.snapshot; snapshot != nil {
		kept := snapshot.Stats()
		count(savesDesc, kept.Saved, "saved")
		count(savesDesc, kept.Failed, "failed")
		gauge(bytesDesc, float64(kept.Size))
		gauge(ageDesc, kept.Age.Seconds())
	}
}

func newTickSeconds() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "spazio_aggregator_tick_seconds",
		Help:    "Time to merge what has arrived and publish.",
		Buckets: prometheus.ExponentialBuckets(1e-4, 2, 12),
	})
}

func newPushSeconds() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "spazio_aggregator_push_seconds",
		Help:    "Time to answer a push, without the wire.",
		Buckets: prometheus.ExponentialBuckets(1e-6, 2, 16),
	})
}

// observe times every call.
func observe(seconds prometheus.Histogram) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		began := time.Now()
		defer func() { seconds.Observe(time.Since(began).Seconds()) }()
		return handle(ctx, request)
	}
}
