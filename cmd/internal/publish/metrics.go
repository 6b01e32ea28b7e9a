package publish

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

// signalMetrics are by target; several agents of one process share them.
type signalMetrics struct {
	reports, failures, notices *prometheus.CounterVec
	connected                  *prometheus.GaugeVec
}

// streamMetrics are those of one target.
type streamMetrics struct {
	reports, failures, notices prometheus.Counter
	connected                  prometheus.Gauge
}

func newSignalMetrics(r prometheus.Registerer) (m signalMetrics, err error) {
	target := []string{"target"}
	if m.reports, err = serve.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spazio_signal_reports_total", Help: "Reports handed to the stream of a scheduler.",
	}, target)); err != nil {
		return m, err
	}
	if m.failures, err = serve.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spazio_signal_failures_total", Help: "Streams to a scheduler that could not be opened or were lost.",
	}, target)); err != nil {
		return m, err
	}
	if m.notices, err = serve.Register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spazio_signal_notices_total", Help: "Notices received from a scheduler.",
	}, target)); err != nil {
		return m, err
	}
	m.connected, err = serve.Register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "spazio_signal_streams", Help: "Open streams to a scheduler.",
	}, target))
	return m, err
}

func (m signalMetrics) of(target string) streamMetrics {
	return streamMetrics{
		reports:   m.reports.WithLabelValues(target),
		failures:  m.failures.WithLabelValues(target),
		notices:   m.notices.WithLabelValues(target),
		connected: m.connected.WithLabelValues(target),
	}
}

type modelMetrics struct {
	pushes, failures prometheus.Counter
	version, nodes   prometheus.Gauge
}

func newModelMetrics(r prometheus.Registerer) (m modelMetrics, err error) {
	if m.pushes, err = serve.Register[prometheus.Counter](r, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "spazio_model_pushes_total", Help: "Local models that the aggregator has taken.",
	})); err != nil {
		return m, err
	}
	if m.failures, err = serve.Register[prometheus.Counter](r, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "spazio_model_failures_total", Help: "Pushes that failed or were refused.",
	})); err != nil {
		return m, err
	}
	if m.version, err = serve.Register[prometheus.Gauge](r, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "spazio_model_fleet_version", Help: "Version of the fleet's model received last.",
	})); err != nil {
		return m, err
	}
	m.nodes, err = serve.Register[prometheus.Gauge](r, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "spazio_model_fleet_nodes", Help: "Nodes in the fleet's model received last.",
	}))
	return m, err
}
