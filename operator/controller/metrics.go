package controller

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are those of all the controllers. Its collectors are safe for concurrent use.
type metrics struct {
	slots        *prometheus.GaugeVec
	placeholders *prometheus.CounterVec
	claims       *prometheus.CounterVec
	claimSeconds prometheus.Histogram
	signalAge    *prometheus.GaugeVec

	runs              *prometheus.CounterVec
	schedulingSeconds *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	const prefix = "spazio_testbed_"
	m := &metrics{
		slots: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: prefix + "slots", Help: "Slots of a Testbed, NAMESPACE/NAME, by state.",
		}, []string{"testbed", "state"}),
		placeholders: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "placeholders_total", Help: "Placeholders created and deleted, and pods deleted that were two in a slot, by what is done and why; reason failed counts requests without success.",
		}, []string{"op", "reason"}),
		claims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "claims_total", Help: "Claims on slots granted, those of jobs that are gone, and grants computed anew since another wrote first, by result.",
		}, []string{"result"}),
		claimSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "claim_seconds", Help: "Time from a Scheduling being seen to want slots to a claim of it being written.",
			Buckets: prometheus.ExponentialBuckets(.005, 2, 16),
		}),
		signalAge: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: prefix + "signal_age_seconds", Help: "Time since the node of a Testbed with automatic slots whose measured room is unknown for longest was last known.",
		}, []string{"testbed"}),
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "runs_total", Help: "Runs of jobs that have ended, by kind of application and outcome.",
		}, []string{"kind", "outcome"}),
		schedulingSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "scheduling_seconds", Help: "Time that Schedulings spent in each state.",
			Buckets: prometheus.ExponentialBuckets(.01, 4, 12),
		}, []string{"state"}),
	}
	if r == nil {
		return m, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{
		m.slots, m.placeholders, m.claims, m.claimSeconds, m.signalAge, m.runs, m.schedulingSeconds,
	} {
		errs = append(errs, r.Register(c))
	}
	return m, errors.Join(errs...)
}
