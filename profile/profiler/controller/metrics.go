package controller

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

type metrics struct {
	writes   *prometheus.CounterVec
	delay    prometheus.Histogram
	missing  *prometheus.GaugeVec
	failures *prometheus.CounterVec
	restored *prometheus.CounterVec
	history  *prometheus.CounterVec
	services *prometheus.CounterVec
	strange  prometheus.Counter
	left     prometheus.Counter
	leader   prometheus.Gauge

	autoscalers, resizable *prometheus.GaugeVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	if r == nil {
		r = prometheus.NewRegistry()
	}
	const prefix = "spazio_profiler_"
	var err error
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
		err = errors.Join(err, r.Register(v))
		return v
	}
	gauges := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels)
		err = errors.Join(err, r.Register(v))
		return v
	}
	m := &metrics{
		writes: counters("writes_total", "Requests that write an object, by its kind and what came of them.", "kind", "result"),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "write_delay_seconds", Help: "Time from what was observed to its being published.",
			Buckets: prometheus.ExponentialBuckets(.01, 2, 16),
		}),
		missing:     gauges("missing_rights", "1 for a right that the API server does not grant.", "group", "resource", "verb"),
		failures:    counters("watch_failures_total", "Lists and watches that failed, by resource.", "resource"),
		restored:    counters("checkpoints_total", "Workloads' checkpoints found at the start, by what came of them.", "result"),
		history:     counters("history_queries_total", "Queries about workloads' history, by result.", "result"),
		services:    counters("service_queries_total", "Queries about the throttling and calls of services, by what was asked and the result.", "of", "result"),
		strange:     counters("strange_objects_total", "Profiles, and objects of the Vertical Pod Autoscaler, passed over because they could not be read.").WithLabelValues(),
		left:        counters("checkpoints_left_total", "Workloads left out of a checkpoint because it would have become too large.").WithLabelValues(),
		leader:      gauges("leader", "1 while this replica writes.").WithLabelValues(),
		autoscalers: gauges("autoscalers", "Objects of the Vertical Pod Autoscaler that ask for recommendations, by whether they have any.", "recommended"),
		resizable:   gauges("resizable_pods", "Pods whose requests may be changed, by what becomes of them.", "verdict"),
	}
	return m, errors.Join(err, r.Register(m.delay))
}

// resultOf names what became of a request.
func resultOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case apierrors.IsForbidden(err):
		return "forbidden"
	case apierrors.IsNotFound(err):
		return "absent"
	case apierrors.IsConflict(err):
		return "conflict"
	case apierrors.IsInvalid(err):
		return "invalid"
	}
	return "failed"
}
