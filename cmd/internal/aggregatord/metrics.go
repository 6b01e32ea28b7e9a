package aggregatord

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
)

// statistics shows the server's own counts.
type statistics struct{ server *modelserver.Server }

var (
	pushesDesc  = describe("pushes_total", "Pushes by what became of them.", "result")
	versionDesc = describe("model_version", "Version of the models published last.")
	nodesDesc   = describe("nodes", "Nodes not forgotten.")
	groupsDesc  = describe("models", "Global models, one a schema and dimension.")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("spazio_aggregator_"+name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (s statistics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{pushesDesc, versionDesc, nodesDesc, groupsDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (s statistics) Collect(out chan<- prometheus.Metric) {
	stats := s.server.Stats()
	for _, one := range []struct {
		result string
		n      uint64
	}{
		{"accepted", stats.Pushes},
		{"superseded", stats.Superseded},
		{"stale", stats.Stale},
		{"refused", stats.Refused},
		{"overflowed", stats.Overflowed},
		{"dropped", stats.Dropped},
	} {
		out <- prometheus.MustNewConstMetric(pushesDesc, prometheus.CounterValue, float64(one.n), one.result)
	}
	out <- prometheus.MustNewConstMetric(versionDesc, prometheus.GaugeValue, float64(stats.Version))
	out <- prometheus.MustNewConstMetric(nodesDesc, prometheus.GaugeValue, float64(stats.Nodes))
	out <- prometheus.MustNewConstMetric(groupsDesc, prometheus.GaugeValue, float64(stats.Groups))
}

func newPushSeconds() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "spazio_aggregator_push_seconds",
		Help:    "Time to answer a push, without the wire.",
		Buckets: prometheus.ExponentialBuckets(1e-6, 4, 9),
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
