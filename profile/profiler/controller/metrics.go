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
	fares    *prometheus.CounterVec
	strange  prometheus.Counter
	left     prometheus.Counter
	leader   prometheus.Gauge

	autoscalers, resizable *prometheus.GaugeVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	const prefix = "spazio_profiler_"
	m := &metrics{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "writes_total", Help: "Requests that write an object, by its kind and what came of them.",
		}, []string{"kind", "result"}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "write_delay_seconds", Help: "Time from what was observed to its being published.",
			Buckets: prometheus.ExponentialBuckets(.01, 2, 16),
		}),
		missing: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: prefix + "missing_rights", Help: "1 for a right that the API server does not grant.",
		}, []string{"group", "resource", "verb"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "watch_failures_total", Help: "Lists and watches that failed, by resource.",
		}, []string{"resource"}),
		restored: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "checkpoints_total", Help: "Workloads' checkpoints found at the start, by what came of them.",
		}, []string{"result"}),
		history: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "history_queries_total", Help: "Questions about workloads' history, by what came of them.",
		}, []string{"result"}),
		fares: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "fares_total", Help: "Questions about how services fare, by what was asked and what came of them.",
		}, []string{"of", "result"}),
		strange: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "strange_objects_total", Help: "Profiles, and objects of the Vertical Pod Autoscaler, passed over because they could not be read.",
		}),
		left: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "checkpoints_left_total", Help: "Workloads left out of a checkpoint because it would have become too large.",
		}),
		leader: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "leader", Help: "1 while this replica writes.",
		}),
	}
	m.autoscalers = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: prefix + "autoscalers", Help: "Objects of the Vertical Pod Autoscaler that ask for recommendations, by whether they have any.",
	}, []string{"recommended"})
	m.resizable = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: prefix + "resizable_pods", Help: "Pods whose requests may be changed, by what becomes of them.",
	}, []string{"verdict"})
	if r == nil {
		return m, nil
	}
	var err error
	for _, c := range []prometheus.Collector{m.writes, m.delay, m.missing, m.failures, m.restored, m.history, m.fares, m.strange, m.left, m.leader, m.autoscalers, m.resizable} {
		err = errors.Join(err, r.Register(c))
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
