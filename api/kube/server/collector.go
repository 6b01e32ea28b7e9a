package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/api/transport"
)

// These have the names that they have at the scheduler.
var (
	identitiesDesc = prometheus.NewDesc("spazio_identities_total", "Calls by the result of identifying the caller; unknown if the API server could not be asked, throttled if it was not asked.", []string{"result"}, nil)
	notAfterDesc   = prometheus.NewDesc("spazio_certificate_not_after_seconds", "When a certificate in the process's files ends, in seconds since 1970: its own, or of the authorities of servers or clients the first.", []string{"use"}, nil)
)

// collector is a prometheus.Collector of a function.
type collector struct {
	descs   []*prometheus.Desc
	collect func(chan<- prometheus.Metric)
}

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) { c.collect(out) }

// Refusals returns spazio_PROGRAM_refused_callers_total by cause, which a Server's Collector
// has among others, for a server of another make. It is safe for concurrent use.
func Refusals(program string, limiter *transport.ConnLimiter) prometheus.Collector {
	desc := prometheus.NewDesc("spazio_"+program+"_refused_callers_total",
		"Connections closed because there were too many of them, or of calls.", []string{"cause"}, nil)
	return collector{[]*prometheus.Desc{desc}, func(out chan<- prometheus.Metric) {
		stats := limiter.Stats()
		for cause, n := range map[string]uint64{"connections": stats.Refused, "calls": stats.Overcalled} {
			out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), cause)
		}
	}}
}

// Certificates returns spazio_certificate_not_after_seconds by use, which a server's
// Collector has among others, for a server of another make. It is safe for concurrent use.
func Certificates(c transport.Config) prometheus.Collector {
	return collector{[]*prometheus.Desc{notAfterDesc}, func(out chan<- prometheus.Metric) {
		for use, end := range c.NotAfter() {
			out <- prometheus.MustNewConstMetric(notAfterDesc, prometheus.GaugeValue, float64(end.Unix()), use)
		}
	}}
}

// Collector returns the server's metrics: spazio_PROGRAM_refused_callers_total by
// cause, spazio_identities_total by result where callers are known, and
// spazio_certificate_not_after_seconds by use where there are files, which are read at
// each scrape because they are replaced. It is safe for concurrent use.
func (s *Server) Collector(program string) prometheus.Collector {
	refusals, certificates := Refusals(program, s.limiter).(collector), Certificates(s.transport).(collector)
	return collector{append(append(refusals.descs, identitiesDesc), certificates.descs...), func(out chan<- prometheus.Metric) {
		refusals.collect(out)
		if s.callers != nil {
			for i, result := range results {
				out <- prometheus.MustNewConstMetric(identitiesDesc, prometheus.CounterValue, float64(s.callers.counts[i].Load()), result)
			}
		}
		certificates.collect(out)
	}}
}
