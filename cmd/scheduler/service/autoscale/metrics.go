package autoscale

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// metricSet is safe for concurrent use.
type metricSet struct {
	pods     *metrics.Gauge
	nodes    *metrics.GaugeVec
	failures *metrics.CounterVec
}

// registerMetrics registers the metrics with the scheduler's registry, once for the process.
var registerMetrics = sync.OnceValue(func() *metricSet {
	m := &metricSet{
		pods: metrics.NewGauge(&metrics.GaugeOpts{
			Namespace: "spazio", Subsystem: "autoscale", Name: "buffer_pods", StabilityLevel: metrics.ALPHA,
			Help: "Pods that CapacityBuffers ask the autoscaler for nodes for.",
		}),
		nodes: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Namespace: "spazio", Subsystem: "autoscale", Name: "nodes", StabilityLevel: metrics.ALPHA,
			Help: "Nodes that are marked for the autoscaler: full if they refuse pods, protected if they are busy by measurement and idle by requests.",
		}, []string{"state"}),
		failures: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: "spazio", Subsystem: "autoscale", Name: "failures_total", StabilityLevel: metrics.ALPHA,
			Help: "Requests to the API server that failed, by verb and resource.",
		}, []string{"operation"}),
	}
	legacyregistry.MustRegister(m.pods, m.nodes, m.failures)
	return m
})

// mark counts the nodes that are marked.
func (m *metricSet) mark(full, protected int) {
	m.nodes.WithLabelValues("full").Set(float64(full))
	m.nodes.WithLabelValues("protected").Set(float64(protected))
}
