package controller

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

type metrics struct {
	writes   *prometheus.CounterVec
	missing  *prometheus.GaugeVec
	failures *prometheus.CounterVec
	restored *prometheus.CounterVec
	history  *prometheus.CounterVec
	leader   prometheus.Gauge

	resizable *prometheus.GaugeVec
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
		writes:    counters("writes_total", "Requests that write an object, by its kind and what came of them.", "kind", "result"),
		missing:   gauges("missing_rights", "1 for a right that the API server does not grant.", "group", "resource", "verb"),
		failures:  counters("watch_failures_total", "Lists and watches that failed, by resource.", "resource"),
		restored:  counters("checkpoints_total", "Workloads' checkpoints found at the start, by what came of them.", "result"),
		history:   counters("history_queries_total", "Queries about workloads' history, by result.", "result"),
		leader:    gauges("leader", "1 while this replica writes.").WithLabelValues(),
		resizable: gauges("resizable_pods", "Pods whose requests may be changed, by what becomes of them.", "verdict"),
	}
	return m, err
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
