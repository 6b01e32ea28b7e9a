package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/api/transport"
)

// These have the names that they have at the scheduler.
var (
	identitiesDesc = prometheus.NewDesc("spazio_identities_total", "Calls by what was found of who makes them; unknown if the API server could not be asked, throttled if it was not.", []string{"result"}, nil)
	notAfterDesc   = prometheus.NewDesc("spazio_certificate_not_after_seconds", "When a certificate in the process's files ends, in seconds since 1970: its own, or of the authorities of servers or clients the first.", []string{"use"}, nil)
)

// refusals shows what a guard has refused.
type refusals struct {
	guard *transport.Guard
	desc  *prometheus.Desc
}

// Refusals returns spazio_PROGRAM_refused_callers_total by cause, which a Server's Collector
// has among others, for a server of another make. It is safe for concurrent use.
func Refusals(program string, guard *transport.Guard) prometheus.Collector {
	return refusals{guard, prometheus.NewDesc("spazio_"+program+"_refused_callers_total",
		"Connections closed because there were too many of them, or of calls.", []string{"cause"}, nil)}
}

// Describe implements prometheus.Collector.
func (r refusals) Describe(out chan<- *prometheus.Desc) { out <- r.desc }

// Collect implements prometheus.Collector.
func (r refusals) Collect(out chan<- prometheus.Metric) {
	stats := r.guard.Stats()
	for cause, n := range map[string]uint64{"connections": stats.Refused, "calls": stats.Overcalled} {
		out <- prometheus.MustNewConstMetric(r.desc, prometheus.CounterValue, float64(n), cause)
	}
}

// collector shows who calls, who was refused, and until when certificates are good.
type collector struct {
	server       *Server
	certificates certificates
	refused      prometheus.Collector
}

// Collector returns the server's metrics: spazio_PROGRAM_refused_callers_total by
// cause, spazio_identities_total by result where callers are known, and
// spazio_certificate_not_after_seconds by use where there are files, which are read at
// each scrape, for they are replaced. It is safe for concurrent use.
func (s *Server) Collector(program string) prometheus.Collector {
	return collector{s, certificates{s.transport}, Refusals(program, s.guard)}
}

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	c.refused.Describe(out)
	out <- identitiesDesc
	c.certificates.Describe(out)
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n uint64, label string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label)
	}
	c.refused.Collect(out)
	if callers := c.server.callers; callers != nil {
		for result, n := range callers.Results() {
			count(identitiesDesc, n, result)
		}
	}
	c.certificates.Collect(out)
}

// certificates shows until when those in a process's files are good.
type certificates struct{ transport transport.Config }

// Certificates returns spazio_certificate_not_after_seconds by use, which a server's
// Collector has among others, for a server of another make. It is safe for concurrent use.
func Certificates(c transport.Config) prometheus.Collector { return certificates{c} }

// Describe implements prometheus.Collector.
func (certificates) Describe(out chan<- *prometheus.Desc) { out <- notAfterDesc }

// Collect implements prometheus.Collector.
func (c certificates) Collect(out chan<- prometheus.Metric) {
	for use, end := range c.transport.NotAfter() {
		out <- prometheus.MustNewConstMetric(notAfterDesc, prometheus.GaugeValue, float64(end.Unix()), use)
	}
}
