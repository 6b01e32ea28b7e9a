package endpoint

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/api/transport"
)

// notAfter has the name that it has at the scheduler.
var notAfter = prometheus.NewDesc("spazio_certificate_not_after_seconds", "When a certificate in the process's files ends, in seconds since 1970: its own, or of the authorities of servers or clients the first.", []string{"use"}, nil)

// Certificates is a collector of when the certificates in a transport's files end.
// The files are read at each scrape, for they are replaced. It is safe for concurrent
// use.
type Certificates struct{ Transport transport.Config }

// Describe implements prometheus.Collector.
func (Certificates) Describe(out chan<- *prometheus.Desc) { out <- notAfter }

// Collect implements prometheus.Collector.
func (c Certificates) Collect(out chan<- prometheus.Metric) {
	for use, end := range c.Transport.NotAfter() {
		out <- prometheus.MustNewConstMetric(notAfter, prometheus.GaugeValue, float64(end.Unix()), use)
	}
}
