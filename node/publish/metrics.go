package publish

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/node/build"
)

// signalMetrics are by target; several agents of one process share them. The
// series of a target are there while some agent has a stream to it.
type signalMetrics struct {
	reports, missed, failures, notices *prometheus.CounterVec
	connected                          *prometheus.GaugeVec
	age                                *prometheus.HistogramVec

	mu      sync.Mutex
	targets map[string]*targetMetrics
}

// targetMetrics are those of one target.
type targetMetrics struct {
	reports, missed, failures, notices prometheus.Counter
	connected                          prometheus.Gauge
	age                                prometheus.Observer
	users                              int
}

// sent counts a message with the age of its sample.
func (t *targetMetrics) sent(m *spaziov1.Report, age time.Duration) {
	if !api.IsHeartbeat(m) {
		t.reports.Inc()
	}
	t.age.Observe(age.Seconds())
}

func newSignalMetrics(r prometheus.Registerer) (*signalMetrics, error) {
	target := []string{"target"}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "spazio_signal_" + name, Help: help}, target)
	}
	return build.Shared(r, &signalMetrics{
		targets:  map[string]*targetMetrics{},
		reports:  counter("reports_total", "Full reports handed to the stream of a scheduler."),
		missed:   counter("reports_missed_total", "Full reports replaced by a newer one before the scheduler's stream took them."),
		failures: counter("failures_total", "Streams to a scheduler that could not be opened or were lost."),
		notices:  counter("notices_total", "Notices received from a scheduler."),
		connected: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "spazio_signal_streams", Help: "Open streams to a scheduler.",
		}, target),
		age: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "spazio_signal_report_age_seconds", Help: "Age of the newest sample when the scheduler's stream took a report or a heartbeat.",
			Buckets: []float64{.001, .01, .1, 1, 10, 100},
		}, target),
	})
}

func (m *signalMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.reports, m.missed, m.failures, m.notices, m.connected, m.age}
}

// Describe implements prometheus.Collector.
func (m *signalMetrics) Describe(c chan<- *prometheus.Desc) {
	for _, one := range m.collectors() {
		one.Describe(c)
	}
}

// Collect implements prometheus.Collector.
func (m *signalMetrics) Collect(c chan<- prometheus.Metric) {
	for _, one := range m.collectors() {
		one.Collect(c)
	}
}

// acquire returns the series of a target; each call is matched by a release.
func (m *signalMetrics) acquire(target string) *targetMetrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.targets[target]
	if t == nil {
		t = &targetMetrics{
			reports:   m.reports.WithLabelValues(target),
			missed:    m.missed.WithLabelValues(target),
			failures:  m.failures.WithLabelValues(target),
			notices:   m.notices.WithLabelValues(target),
			connected: m.connected.WithLabelValues(target),
			age:       m.age.WithLabelValues(target),
		}
		m.targets[target] = t
	}
	t.users++
	return t
}

func (m *signalMetrics) release(target string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.targets[target]
	if t.users--; t.users > 0 {
		return
	}
	delete(m.targets, target)
	for _, vec := range []interface{ DeleteLabelValues(...string) bool }{m.reports, m.missed, m.failures, m.notices, m.connected, m.age} {
		vec.DeleteLabelValues(target)
	}
}

type modelMetrics struct {
	pushes, failures prometheus.Counter
}

func newModelMetrics(r prometheus.Registerer) (m modelMetrics, err error) {
	if m.pushes, err = build.Shared[prometheus.Counter](r, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "spazio_model_pushes_total", Help: "Local models that the aggregator has taken.",
	})); err != nil {
		return m, err
	}
	m.failures, err = build.Shared[prometheus.Counter](r, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "spazio_model_failures_total", Help: "Pushes that failed or were refused.",
	}))
	return m, err
}
