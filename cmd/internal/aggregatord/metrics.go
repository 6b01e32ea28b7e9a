package aggregatord

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
)

// connections shows who calls, and who was refused.
type connections struct{ service *Service }

var callersDesc = prometheus.NewDesc("spazio_aggregator_refused_callers_total", "Connections closed because there were too many of them, or of calls.", []string{"cause"}, nil)

// identitiesDesc has the name that it has at the scheduler.
var identitiesDesc = prometheus.NewDesc("spazio_identities_total", "Calls by what was found of who makes them; unknown if the API server could not be asked, throttled if it was not.", []string{"result"}, nil)

// Describe implements prometheus.Collector.
func (c connections) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{callersDesc, identitiesDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c connections) Collect(out chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n uint64, label string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label)
	}
	guard := c.service.guard.Stats()
	count(callersDesc, guard.Refused, "connections")
	count(callersDesc, guard.Overcalled, "calls")
	if callers := c.service.callers; callers != nil {
		for result, n := range callers.Results() {
			count(identitiesDesc, n, result)
		}
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
