package slots

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// metricSet holds the plugin's metrics. Safe for concurrent use.
type metricSet struct{ swap *metrics.Histogram }

// registerMetrics registers the metrics with the scheduler's registry, once for the
// process however many Factories there are.
var registerMetrics = sync.OnceValue(func() *metricSet {
	m := &metricSet{swap: metrics.NewHistogram(&metrics.HistogramOpts{
		Namespace: "spazio_testbed", Name: "swap_seconds", StabilityLevel: metrics.ALPHA,
		Help:    "Time in which no pod held a slot's resources: from the end of its placeholder to the bind of its pod, failed attempts included.",
		Buckets: metrics.ExponentialBuckets(.0005, 2, 16),
	})}
	legacyregistry.MustRegister(m.swap)
	return m
})
