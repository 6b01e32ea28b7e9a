package agentd

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// Metrics of a Daemon. A nil *Metrics counts nothing. It is safe for
// concurrent use.
type Metrics struct {
	samples, reports                  prometheus.Counter
	drops                             *prometheus.CounterVec
	jitter                            prometheus.Histogram
	avail, allowance, signal, pods    prometheus.Gauge
	saturated, churn, pressure, known prometheus.Gauge
	usage, capacity, cost             *prometheus.GaugeVec
}

// NewMetrics registers the metrics with r.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	b := builder{registerer: r}
	m := &Metrics{
		samples:   b.counter("samples_total", "Samples taken."),
		reports:   b.counter("reports_total", "Reports made."),
		avail:     b.gauge("avail_pods", "Pods that still fit, by the last report; may be negative."),
		allowance: b.gauge("allowance_pods", "Part of avail granted ahead of confirmation."),
		signal:    b.gauge("signal", "Capacity in typical loads (k), by the last report."),
		pods:      b.gauge("pods", "Pods that run on the node."),
		saturated: b.gauge("saturated", "1 while a channel is full."),
		churn:     b.gauge("churn", "1 while containers start or stop."),
		pressure:  b.gauge("pressure_available", "1 if the kernel has pressure stall information."),
		known:     b.gauge("cost_known", "1 once the cost of a pod is more than the prior."),
		usage:     b.gauges("channel_usage_ratio", "Usage of a channel after filtering, 0 to 1."),
		capacity:  b.gauges("channel_capacity_ratio", "Share of a channel that is there for pods."),
		cost:      b.gauges("channel_pod_cost_ratio", "Share of a channel that one pod takes."),
	}
	m.drops = register(&b, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: namespace + "samples_dropped_total", Help: "Samples dropped, by the channel and the cause.",
	}, []string{"channel", "cause"}))
	m.jitter = register(&b, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: namespace + "sample_jitter_seconds", Help: "Distance of the time between two samples from the period.",
		Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1},
	}))
	return m, b.err
}

const namespace = "spazio_agent_"

// builder registers metrics and keeps the first error.
type builder struct {
	registerer prometheus.Registerer
	err        error
}

func register[C prometheus.Collector](b *builder, c C) C {
	c, err := serve.Register(b.registerer, c)
	b.err = errors.Join(b.err, err)
	return c
}

func (b *builder) counter(name, help string) prometheus.Counter {
	return register[prometheus.Counter](b, prometheus.NewCounter(prometheus.CounterOpts{Name: namespace + name, Help: help}))
}

func (b *builder) gauge(name, help string) prometheus.Gauge {
	return register[prometheus.Gauge](b, prometheus.NewGauge(prometheus.GaugeOpts{Name: namespace + name, Help: help}))
}

func (b *builder) gauges(name, help string) *prometheus.GaugeVec {
	return register(b, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: namespace + name, Help: help}, []string{"channel"}))
}

func (m *Metrics) sampled() {
	if m != nil {
		m.samples.Inc()
	}
}

func (m *Metrics) interval(got, want time.Duration) {
	if m != nil {
		m.jitter.Observe((got - want).Abs().Seconds())
	}
}

// dropped counts by channel and cause; what the pipeline refuses has no channel
// of its own.
func (m *Metrics) dropped(err error) {
	if m == nil {
		return
	}
	var channel *telemetry.ChannelError
	if errors.As(err, &channel) {
		m.drops.WithLabelValues(channel.Channel, channel.Cause()).Inc()
		return
	}
	m.drops.WithLabelValues("all", "refused").Inc()
}

func (m *Metrics) reported(r agent.Report) {
	if m == nil {
		return
	}
	m.reports.Inc()
	m.avail.Set(r.Avail)
	m.allowance.Set(r.Allowance)
	m.signal.Set(r.K)
	m.pods.Set(float64(len(r.Absorbed)))
	m.saturated.Set(number(r.Saturated))
	m.churn.Set(number(r.Flags.Churn))
	m.pressure.Set(number(!r.Flags.NoPressure))
	m.known.Set(number(!r.Flags.CostUnknown))
	for _, c := range r.Channels {
		m.usage.WithLabelValues(c.Name).Set(c.Usage)
		m.capacity.WithLabelValues(c.Name).Set(c.Capacity)
		m.cost.WithLabelValues(c.Name).Set(c.Cost)
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
