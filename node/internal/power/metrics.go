package power

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "spazio_energy_"

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+name, help, labels, nil)
}

var (
	nodeJoules   = desc("node_joules_total", "Energy that a zone of a source has counted. Zones of part=\"false\" add up to the node's energy; those of part=\"true\" are contained in others.", "source", "zone", "part")
	nodeWatts    = desc("node_watts", "Power of the node.")
	idleWatts    = desc("idle_watts", "Power of the node without load, once it is learnt.")
	maxWatts     = desc("max_watts", "Power of the node at full load, once it is learnt.")
	quality      = desc("quality", "1 for what the power rests on, by the source that is read: measured, shared, platform or modelled; none while nothing is known.", "source", "quality")
	unattributed = desc("unattributed_joules_total", "Energy that no pod is charged, by why: idle, system, or of pods that have ended.", "part")
	podJoules    = desc("pod_joules_total", "Energy that a pod is charged: by its name, and by its UID if the name is not known or a newer pod has it. A pod that has ended is shown for two minutes, and 500 of these at most.", "pod_namespace", "pod_name", "pod_uid")
	podJoulesSD  = desc("pod_joules_stddev", "Standard deviation of what a pod is charged.", "pod_namespace", "pod_name", "pod_uid")
	refusedTotal = desc("refused_total", "Readings that could not be made or used, by the cause.", "cause")
)

// Describe implements prometheus.Collector.
func (m *Meter) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		nodeJoules, nodeWatts, idleWatts, maxWatts, quality, unattributed, podJoules, podJoulesSD, refusedTotal,
	} {
		c <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Meter) Collect(c chan<- prometheus.Metric) {
	for _, metric := range m.metrics() {
		c <- metric
	}
}

// metrics are those of now. They are collected before they are sent, which may be slow.
func (m *Meter) metrics() (all []prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	add := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		if one, err := prometheus.NewConstMetric(d, kind, v, labels...); err == nil { // labels that are no UTF-8
			all = append(all, one)
		}
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) { add(d, prometheus.CounterValue, v, labels...) }
	gauge := func(d *prometheus.Desc, v float64, labels ...string) { add(d, prometheus.GaugeValue, v, labels...) }
	for _, t := range m.sources() {
		counter(nodeJoules, t.joules, t.source, t.zone, strconv.FormatBool(t.part))
	}
	gauge(quality, 1, m.name, m.power.Quality.String())
	if p := m.power; p.Known() {
		gauge(nodeWatts, p.Watts)
	}
	if p := m.power; m.learnt {
		gauge(idleWatts, p.Idle)
		gauge(maxWatts, p.Max)
	}
	l := &m.ledger
	counter(unattributed, l.rest.Idle, "idle")
	counter(unattributed, l.rest.System, "system")
	counter(unattributed, l.rest.Ended, "ended")
	newest := l.newest()
	for uid, a := range l.pods {
		n := l.names[uid]
		if n != (podName{}) && newest[n] == a {
			uid = "" // the name identifies it
		}
		counter(podJoules, a.joules, n.namespace, n.name, uid)
		gauge(podJoulesSD, a.sd(), n.namespace, n.name, uid)
	}
	for cause, n := range l.refused {
		counter(refusedTotal, float64(n), cause)
	}
	return all
}

// sources are what all zones have counted, of the source that is read and of others.
func (m *Meter) sources() []sourceTotal {
	all := append([]sourceTotal(nil), m.ledger.closed...)
	for _, t := range m.totals {
		known := false
		for i := range all {
			if all[i].is(m.name, t) {
				all[i].joules += t.Joules
				known = true
			}
		}
		if !known {
			all = append(all, sourceTotal{m.name, t.Zone, t.Part, t.Joules})
		}
	}
	return all
}
