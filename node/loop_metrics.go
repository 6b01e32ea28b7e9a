package node

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// metrics are those of a loop. A nil *metrics counts nothing. It is safe for
// concurrent use.
type metrics struct {
	samples, missed, steps prometheus.Counter
	drops                  *prometheus.CounterVec
	held, avail, saturated prometheus.Gauge
	usage, capacity, cost  *prometheus.GaugeVec
	channels               atomic.Pointer[[]channelMetrics]
}

// channelMetrics are the series of one channel.
type channelMetrics struct {
	name                  string
	usage, capacity, cost prometheus.Gauge
}

// newMetrics registers the metrics with r, among them whether source sees the
// pods.
func newMetrics(r prometheus.Registerer, source telemetry.PodSource) (*metrics, error) {
	b := builder{registerer: r}
	m := &metrics{
		samples:   b.counter("samples_total", "Samples taken."),
		missed:    b.counter("ticks_missed_total", "Samples that were not taken because the one before was late."),
		steps:     b.counter("clock_steps_total", "Steps of the wall clock by more than a second, suspends among them."),
		held:      b.gauge("sample_rate_held", "0 while samples can't keep their rate."),
		avail:     b.gauge("avail_pods", "Pods that still fit, by the last report; may be negative."),
		saturated: b.gauge("saturated", "1 while a channel is full."),
		usage:     b.gauges("channel_usage_ratio", "Usage of a channel after filtering, 0 to 1."),
		capacity:  b.gauges("channel_capacity_ratio", "Share of a channel that is there for pods, at most 1."),
		cost:      b.gauges("channel_pod_cost_ratio", "Share of a channel that one pod takes, assumed until it is measured."),
	}
	m.drops = register(&b, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: namespace + "samples_dropped_total", Help: "Samples dropped, by the channel and the cause.",
	}, []string{"channel", "cause"}))
	for _, cause := range []string{causeRefused, causeClockJump} { // a rate needs a series from before
		m.drops.WithLabelValues(allChannels, cause)
	}
	register(&b, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: namespace + "pod_source_healthy", Help: "1 while all pods of the node are seen; those that are not are not counted.",
	}, func() float64 { return number(telemetry.PodSourceHealth(source) == nil) }))
	m.held.Set(1)
	return m, b.err
}

const (
	namespace = "spazio_agent_"

	allChannels    = "all"
	causeRefused   = "refused"
	causeClockJump = "clock-jump"
)

// builder registers metrics and keeps the first error.
type builder struct {
	registerer prometheus.Registerer
	err        error
}

func register[C prometheus.Collector](b *builder, c C) C {
	c, err := build.Shared(b.registerer, c)
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

func (m *metrics) sampled() {
	if m != nil {
		m.samples.Inc()
	}
}

func (m *metrics) interval(got, want time.Duration) {
	if m != nil {
		m.missed.Add(missed(got, want))
	}
}

func (m *metrics) paced(p pace) {
	if m != nil {
		m.held.Set(number(p.Held))
	}
}

func (m *metrics) stepped() {
	if m != nil {
		m.steps.Inc()
	}
}

// dropped counts by channel and cause; what the pipeline refuses has no channel
// of its own.
func (m *metrics) dropped(err error) {
	if m == nil {
		return
	}
	var channel *telemetry.ChannelError
	if errors.As(err, &channel) {
		m.drops.WithLabelValues(channel.Channel, channel.Cause()).Inc()
		return
	}
	cause := causeRefused
	if errors.Is(err, errClockJump) {
		cause = causeClockJump
	}
	m.drops.WithLabelValues(allChannels, cause).Inc()
}

func (m *metrics) reported(r *agent.Report) {
	if m == nil {
		return
	}
	m.avail.Set(r.Avail)
	m.saturated.Set(number(r.Saturated))
	for i, series := range m.of(r.Channels) {
		c := r.Channels[i]
		series.usage.Set(c.Usage)
		series.capacity.Set(c.Capacity)
		series.cost.Set(c.Cost)
	}
}

// of returns the series of the channels. Looking them up by name costs as much
// as the rest of a report, so they are kept while the channels are the same.
func (m *metrics) of(channels []agent.ChannelReport) []channelMetrics {
	same := func(s channelMetrics, c agent.ChannelReport) bool { return s.name == c.Name }
	if known := m.channels.Load(); known != nil && slices.EqualFunc(*known, channels, same) {
		return *known
	}
	series := make([]channelMetrics, len(channels))
	for i, c := range channels {
		series[i] = channelMetrics{c.Name, m.usage.WithLabelValues(c.Name), m.capacity.WithLabelValues(c.Name), m.cost.WithLabelValues(c.Name)}
	}
	m.channels.Store(&series)
	return series
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// missed is how many ticks were left out in an interval between two samples.
func missed(interval, period time.Duration) float64 {
	return max(0, math.Round(float64(interval)/float64(period))-1)
}
