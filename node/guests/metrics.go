package guests

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("spazio_energy_"+name, help, labels, nil)
}

var (
	guestJoules  = desc("guest_joules_total", "Energy charged to each guest that has a tree.", "guest")
	guestRefused = desc("guest_refused_total", "What looked like a guest and was refused, each time that it was looked at, by cause.", "cause")
	nodeJoules   = desc("node_joules_total", "Energy that a zone of a source has counted. Zones of part=\"false\" add up to the machine's energy; those of part=\"true\" are contained in others.", "source", "zone", "part")
	unattributed = desc("unattributed_joules_total", "Energy that no guest is charged with: without load (idle), not a guest's (system), of guests whose trees are gone (ended).", "part")
	quality      = desc("quality", "1 for the source of energy that is read and the quality of its power.", "source", "quality")
	refusedTotal = desc("refused_total", "Readings of energy and CPU time that made no interval, and trees that could not be written, by cause.", "cause")
)

// metrics collects what a Sharing has divided.
type metrics struct{ sharing *Sharing }

// Describe implements prometheus.Collector.
func (m metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{guestJoules, guestRefused, nodeJoules, unattributed, quality, refusedTotal} {
		to <- d
	}
}

// Collect implements prometheus.Collector. Metrics are sent after the lock is released, since
// their receiver may be slow.
func (m metrics) Collect(to chan<- prometheus.Metric) {
	for _, metric := range m.gather() {
		to <- metric
	}
}

func (m metrics) gather() (all []prometheus.Metric) {
	s := m.sharing
	s.mu.Lock()
	defer s.mu.Unlock()
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		all = append(all, prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...))
	}
	totals := s.host.Totals()
	for guest, joules := range totals.Guests {
		counter(guestJoules, joules, guest)
	}
	for zone, joules := range totals.Zones {
		counter(nodeJoules, joules, zone.Source, zone.Zone, strconv.FormatBool(zone.Part))
	}
	counter(unattributed, totals.Rest.Idle, "idle")
	counter(unattributed, totals.Rest.System, "system")
	counter(unattributed, totals.Rest.Ended, "ended")
	all = append(all, prometheus.MustNewConstMetric(quality, prometheus.GaugeValue, 1, s.source.Name(), s.source.Quality().String()))
	for cause, n := range totals.Refused {
		counter(refusedTotal, float64(n), cause)
	}
	for cause, n := range s.refusedGuests() {
		counter(guestRefused, float64(n), cause)
	}
	return all
}

// refusedGuests are counted by what looks for them, if it does.
func (s *Sharing) refusedGuests() map[string]uint64 {
	if f, ok := s.finder.(interface{ Refused() map[string]uint64 }); ok {
		return f.Refused()
	}
	return nil
}
