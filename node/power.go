package node

import (
	"cmp"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// powerPatience is for how long a power stands for the node that nothing has confirmed, or
// three periods of its source.
const powerPatience = 5 * time.Second

// powerMeter follows what a machine takes and divides it among its pods: a source
// of energy/source through the meter, the curve and the split of package energy, with
// the CPU times of package telemetry. It is safe for concurrent use, for the sake of who
// shows its metrics; what measure returns is for one goroutine.
type powerMeter struct {
	config   EnergyConfig
	logger   *slog.Logger
	mu       sync.Mutex // guards the rest
	readings []energy.Reading
	cpu      telemetry.CPUUsage
	// name is that of the source that is read, meter the one of its counters.
	name   string
	meter  *energy.Meter
	totals []energy.ZoneTotal
	curves map[energy.Quality]*energy.Curve
	last   nodeReading // by the last readings of energy that were good
	read   time.Time   // when they were
	// power is the newest; learnt reports that the curve shows what load takes of it, without
	// which a node would look as if it took nothing. reported reports that it was passed on.
	power            energy.Power
	learnt, reported bool
	// flags are those of what was lost since power was last passed on, joules and ratio as
	// of energy.Power.
	flags   energy.Flags
	joules  float64
	ratio   bool
	failing bool // the source, or one of its zones
	lost    bool // the last readings, or some of them, were refused

	window window
	ledger ledger
}

// nodeReading is the machine's CPU time at a time.
type nodeReading struct {
	telemetry.NodeCPU
	at time.Time
}

// newPowerMeter returns a meter that has read nothing. The logger gets sources that change;
// nil logs nothing.
func newPowerMeter(c EnergyConfig, logger *slog.Logger) *powerMeter {
	c.Pods = cmp.Or(c.Pods, DefaultEnergyPods)
	return &powerMeter{
		config: c, logger: cmp.Or(logger, slog.New(slog.DiscardHandler)),
		name: noSource, curves: map[energy.Quality]*energy.Curve{}, ledger: newLedger(),
	}
}

// noSource is the name of a chain that reads nothing.
const noSource = "none"

// observe takes all pods.
func (m *powerMeter) observe(at time.Time, pods []telemetry.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.config.CPU.Observe(at, pods)
	m.ledger.observe(pods)
}

// measurement is what a powerMeter has found. Its slice belongs to the powerMeter until the next.
type measurement struct {
	// Power is the node's since the last measurement of it, or none where nothing is
	// known any more; without HasPower there is no news.
	Power    energy.Power
	HasPower bool
	// Pods are what the pods took, where HasPods.
	Pods    []agent.PodPower
	HasPods bool
}

// measure reads the energy that the machine has taken, at best every second, and when
// it is time the pods.
func (m *powerMeter) measure(at time.Time) measurement {
	m.mu.Lock()
	defer m.mu.Unlock()
	readings, err := m.config.Source.ReadTo(m.readings[:0], at)
	m.readings = readings
	m.follow(err)
	due := m.window.due(at, m.config.Pods)
	node, podsErr := m.readCPU(at, due)
	var found measurement
	good := false
	if len(readings) > 0 && node.Cores > 0 {
		good = m.add(at, node)
	}
	if !good && m.power.Known() && at.Sub(m.read) > max(powerPatience, 3*m.config.Source.Period()) {
		m.power, m.learnt = energy.Power{}, false
	}
	switch {
	case good && m.learnt:
		found.Power, found.HasPower = m.power, true
		m.reported = true
	case m.reported && !m.learnt:
		found.HasPower, m.reported = true, false
	}
	if due && podsErr == nil && (good || !m.power.Known()) {
		found.Pods, found.HasPods = m.divide(at)
	}
	return found
}

// readCPU reads the machine's CPU time, and if due the pods'. Cores is 0 where it can't
// be read; err reports that the pods' can't be.
func (m *powerMeter) readCPU(at time.Time, due bool) (node nodeReading, err error) {
	if !due {
		cpu, err := m.config.CPU.ReadNode()
		if err != nil {
			m.ledger.refuse("cpu")
			return nodeReading{}, err
		}
		return nodeReading{cpu, at}, nil
	}
	err = m.config.CPU.ReadCPUTo(&m.cpu, at)
	if err != nil && !errors.Is(err, telemetry.ErrNoPodUsage) {
		m.ledger.refuse("cpu")
		return nodeReading{}, err
	}
	if err != nil { // no pod is charged, and all of the load's energy is the system's
		m.cpu.Pods, m.cpu.Tree = m.cpu.Pods[:0], 0
	}
	if len(m.cpu.Failed) > 0 {
		m.ledger.refuse("pods")
	}
	return nodeReading{m.cpu.Node, at}, nil
}

// follow takes the name of the source that is read. Powers of two sources are none of
// one meter.
func (m *powerMeter) follow(err error) {
	if failing := err != nil && !errors.Is(err, source.ErrUnchanged); failing != m.failing {
		if m.failing = failing; failing {
			m.logger.Warn("energy not read", "source", m.config.Source.Name(), "error", err)
		}
	}
	name := m.config.Source.Name()
	if name == m.name {
		return
	}
	if m.name != noSource || name == noSource {
		m.logger.Info("the source of energy has changed", "from", m.name, "to", name)
	} else {
		m.logger.Info("energy is read", "source", name, "quality", m.config.Source.Quality().String())
	}
	m.ledger.close(m.name, m.totals)
	m.name, m.meter, m.totals = name, nil, m.totals[:0]
	m.last, m.power, m.learnt = nodeReading{}, energy.Power{}, false
	m.window.broken = true
}

// add takes readings of energy and reports whether they give the node's power.
func (m *powerMeter) add(at time.Time, node nodeReading) bool {
	if m.meter == nil {
		if m.meter, _ = energy.NewMeter(m.config.Meter); m.meter == nil {
			m.meter, _ = energy.NewMeter(energy.MeterConfig{}) // its defaults are valid
		}
	}
	interval, err := m.meter.Add(m.readings)
	m.totals = m.meter.TotalsTo(m.totals)
	last := m.last
	m.last = node
	lost := m.ledger.refuseAll(err)
	if lost && !m.lost {
		m.logger.Warn("readings of energy are refused", "source", m.name, "error", err)
	}
	m.lost = lost
	m.joules = min(m.joules+interval.Joules, energy.MaxJoules)
	m.window.joules += interval.Joules
	m.window.variance += interval.SD * interval.SD
	u, ok := utilisationOf(last.NodeCPU, node.NodeCPU, node.at.Sub(last.at))
	if interval.Partial || interval.To.IsZero() || !ok {
		m.window.broken = true
		if ok {
			m.window.addPart(m.curve(m.config.Source.Quality()), u, interval.Joules)
		}
		if lost {
			m.flags |= energy.Partial | energy.Gap
		}
		return false
	}
	return m.setPower(at, interval, u, node)
}

// utilisationOf is the busy share of the machine's cores between two readings so far apart. It
// is not known where the counter ran backwards, or by more than the cores can have been busy.
func utilisationOf(last, now telemetry.NodeCPU, span time.Duration) (u float64, ok bool) {
	if last.Cores == 0 || now.Cores == 0 || span <= 0 {
		return 0, false
	}
	cores := float64(now.Cores)
	busy, err := energy.GrownTime(last.Busy, now.Busy, span, cores)
	return min(busy.Seconds()/(span.Seconds()*cores), 1), err == nil
}

// setPower derives the node's power of an interval.
func (m *powerMeter) setPower(at time.Time, in energy.Interval, u float64, node nodeReading) bool {
	seconds := in.To.Sub(in.From).Seconds()
	quality := m.config.Source.Quality()
	curve := m.curve(quality)
	watts := min(in.Watts, energy.MaxWatts)
	if watts == 0 && quality.IsInstrument() { // no machine that runs takes nothing
		m.ledger.refuse("still")
		m.window.broken = true
		return false
	}
	if err := curve.Learn(u, watts); err != nil {
		m.ledger.refuse("curve")
		return false
	}
	p, learnt := curve.PowerAt(u, float64(min(node.Cores, energy.MaxCores)))
	p.Quality, p.Watts, p.SD, p.Joules = quality, watts, min(in.SD/seconds, energy.MaxWatts), m.joules
	p.Flags |= m.flags
	if m.failing { // the source shows what it can
		p.Flags |= energy.Partial
	}
	if m.ratio {
		p.Flags |= energy.RatioSplit
	}
	m.flags = 0
	m.power, m.learnt, m.read = p, learnt, at
	m.window.add(curve, seconds, m.packages(in))
	return true
}

// packages are the joules of an interval by processor package. What a guest gets of its
// host's does not show where the guest has run.
func (m *powerMeter) packages(in energy.Interval) []float64 {
	if m.config.Source.Quality() != energy.Measured {
		return nil
	}
	return in.Packages
}

func (m *powerMeter) curve(q energy.Quality) *energy.Curve {
	if c := m.curves[q]; c != nil {
		return c
	}
	var config energy.CurveConfig
	if q == energy.Modelled {
		config = m.config.Nameplate
	}
	c, err := energy.NewCurve(config)
	if err != nil { // a nameplate that was not checked counts for nothing
		c, _ = energy.NewCurve(energy.CurveConfig{})
	}
	m.curves[q] = c
	return c
}

const energyNamespace = "spazio_energy_"

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(energyNamespace+name, help, labels, nil)
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
func (m *powerMeter) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		nodeJoules, nodeWatts, idleWatts, maxWatts, quality, unattributed, podJoules, podJoulesSD, refusedTotal,
	} {
		c <- d
	}
}

// Collect implements prometheus.Collector.
func (m *powerMeter) Collect(c chan<- prometheus.Metric) {
	for _, metric := range m.metrics() {
		c <- metric
	}
}

// metrics are those of now. They are collected before they are sent, which may be slow.
func (m *powerMeter) metrics() (all []prometheus.Metric) {
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
func (m *powerMeter) sources() []sourceTotal {
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
