package node_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// faulty is a machine whose source has more faults.
type faulty struct {
	*machine
	twice  bool // a zone appears twice
	still  bool // counters stand still
	period time.Duration
}

func (f *faulty) Period() time.Duration { return f.period }

func (f *faulty) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	dst, err := f.machine.ReadTo(dst, at)
	if f.twice {
		dst = append(dst, dst...)
	}
	for i := range dst {
		if f.still {
			dst[i].Counter = 1e6
		}
	}
	return dst, err
}

// everyLoad shows the meter the machine's power at every load.
func (m *machine) everyLoad(p *node.PowerMeter) {
	for i := range 50 {
		m.system = float64(i%5) * .999
		m.seconds(p, 5)
	}
	m.system = 0
}

// TestZonesLostTogether: each lost zone is counted, and the next power is marked incomplete.
func TestZonesLostTogether(t *testing.T) {
	m := newMachine()
	m.zones, m.dramThere = 1, true
	p := m.meter(energy.Split{})
	m.everyLoad(p)
	m.joules, m.dram = 1, 1
	m.seconds(p, 1)
	last, reported, _ := m.seconds(p, 1)
	if want := energy.Partial | energy.Gap; !reported || last.Flags != want {
		t.Errorf("reported %v, flags %v, want %v", reported, last.Flags, want)
	}
	if all := series(t, p); all["refused_total{cause=backwards}"] != 2 {
		t.Errorf("%v", all)
	}
}

// TestInvalidReadings: a reading with the same zone twice yields no power and is counted; the readings
// before and after it are used.
func TestInvalidReadings(t *testing.T) {
	f := &faulty{machine: newMachine()}
	p := node.NewPowerMeter(node.EnergyConfig{Source: f, CPU: f}, nil)
	f.everyLoad(p)
	f.twice = true
	if last, reported, _ := f.seconds(p, 3); reported {
		t.Errorf("reported %+v", last)
	}
	f.twice = false
	last, reported, _ := f.seconds(p, 1)
	if !reported || last.Flags&energy.Gap == 0 || !(near(last.Watts, 40, 1e-3)) {
		t.Errorf("reported %v %+v", reported, last)
	}
	if all := series(t, p); all["refused_total{cause=malformed}"] != 3 {
		t.Errorf("%v", all)
	}
}

// TestNoTimeBetweenReadings: two readings at the same moment yield neither power nor usage of pods.
func TestNoTimeBetweenReadings(t *testing.T) {
	m := newMachine()
	p := node.NewPowerMeter(node.EnergyConfig{Source: m, CPU: m, Pods: time.Nanosecond}, nil)
	m.everyLoad(p)
	m.pods[podA] = &pod{cores: 1}
	m.seconds(p, 10)
	found := p.Measure(m.at)
	if found.HasPower || found.HasPods {
		t.Errorf("%+v", found)
	}
	if all := series(t, p); all["refused_total{cause=no_interval}"] != 2 || all["refused_total{cause=curve}"] != 0 {
		t.Errorf("%v", all)
	}
}

// TestUnreadableCPUTimes: each failed read of CPU times is counted, single pods' ones per pass over the
// pods, and the energy meanwhile is part of the next power.
func TestUnreadableCPUTimes(t *testing.T) {
	m := newMachine()
	p := m.meter(energy.Split{})
	m.everyLoad(p)
	m.system = 1
	m.seconds(p, 10)
	if all := series(t, p); all["refused_total{cause=cpu}"] != 0 || all["refused_total{cause=pods}"] != 0 {
		t.Errorf("%v", all)
	}
	m.cpuErr = errors.New("no /proc")
	m.seconds(p, 11)
	m.cpuErr = nil
	if last, reported, _ := m.seconds(p, 1); !reported || !near(last.Watts, 60, 1e-3) || !near(last.Busy, 1, 1e-6) {
		t.Errorf("reported %v %+v", reported, last)
	}
	m.failed = []error{errors.New("a pod's")}
	m.seconds(p, 15)
	if all := series(t, p); all["refused_total{cause=cpu}"] != 11 || all["refused_total{cause=pods}"] != 3 {
		t.Errorf("%v", all)
	}
}

// TestSlowSource: the last power of a source is valid for three of its periods, and no longer.
func TestSlowSource(t *testing.T) {
	f := &faulty{machine: newMachine(), period: 10 * time.Second}
	p := node.NewPowerMeter(node.EnergyConfig{Source: f, CPU: f}, nil)
	f.everyLoad(p)
	f.seconds(p, 1)
	f.err = errors.New("no answer")
	if last, reported, _ := f.seconds(p, 30); reported {
		t.Errorf("after three periods %+v", last)
	}
	if last, reported, _ := f.seconds(p, 1); !reported || last.Known() {
		t.Errorf("after more: reported %v %+v", reported, last)
	}
}

// TestUncertaintyOfAPower: a power's uncertainty is its joules' by the time over which they were
// measured.
func TestUncertaintyOfAPower(t *testing.T) {
	m := newMachine()
	m.step = 2500 * time.Millisecond
	p := node.NewPowerMeter(node.EnergyConfig{Source: m, CPU: m, Meter: energy.MeterConfig{Jitter: 100 * time.Millisecond}}, nil)
	m.everyLoad(p)
	m.system = 2
	last, _, _ := m.seconds(p, 1)
	if want := 80 * .1 / math.Sqrt(6) / 2.5; !near(last.SD, want, 1e-3) {
		t.Errorf("80 W ± %g, want %g", last.SD, want)
	}
}

// TestNameplate: a modelled power begins with the nameplate curve, a measured one without a curve, and
// an invalid curve is ignored.
func TestNameplate(t *testing.T) {
	for _, test := range []struct {
		name      string
		quality   energy.Quality
		nameplate energy.CurveConfig
		meter     energy.MeterConfig
		reported  bool
	}{
		{"modelled", energy.Modelled, energy.CurveConfig{Idle: 40, Max: 120}, energy.MeterConfig{}, true},
		{"measured", energy.Measured, energy.CurveConfig{Idle: 40, Max: 120}, energy.MeterConfig{}, false},
		{"maximum below idle", energy.Modelled, energy.CurveConfig{Idle: 120, Max: 40}, energy.MeterConfig{}, false},
		{"invalid meter config", energy.Modelled, energy.CurveConfig{Idle: 40, Max: 120}, energy.MeterConfig{Jitter: -1}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine()
			m.quality, m.system = test.quality, 1
			p := node.NewPowerMeter(node.EnergyConfig{Source: m, CPU: m, Nameplate: test.nameplate, Meter: test.meter}, nil)
			last, reported, _ := m.seconds(p, 2)
			if reported != test.reported || reported && (last.Idle != 40 || last.Max != 120 || !near(last.Marginal, 20, 1e-9) || !near(last.Watts, 60, 1e-3)) {
				t.Errorf("reported %v %+v", reported, last)
			}
		})
	}
}

// TestIdleUnknown: while the idle power was unknown in part of a window, pods are charged by the ratio
// rule, and the power carries that flag.
func TestIdleUnknown(t *testing.T) {
	m := newMachine()
	p := m.meter(energy.Split{})
	m.pods[podA] = &pod{cores: 2}
	m.seconds(p, 6) // a pass over the pods, five intervals, another pass
	m.pods[podA].cores = 0
	// The fifth interval without load makes the idle power known, the last one before a pass.
	m.seconds(p, 5)
	if last, reported, _ := m.seconds(p, 1); !reported || last.Flags&energy.RatioSplit == 0 {
		t.Errorf("idle unknown at first: reported %v %+v", reported, last)
	}
	m.seconds(p, 4)
	if last, reported, _ := m.seconds(p, 1); !reported || last.Flags&energy.RatioSplit != 0 {
		t.Errorf("idle known: reported %v %+v", reported, last)
	}
	// The energy of a window without readings is charged to no pod, by no rule.
	m.err = errors.New("dark")
	m.seconds(p, 10)
	m.err = nil
	if last, reported, _ := m.seconds(p, 1); !reported || last.Flags&energy.RatioSplit != 0 {
		t.Errorf("after the outage: reported %v %+v", reported, last)
	}
}

// TestNoEnergyInAWindow: a window without energy leaves the pods' charges and their uncertainty
// unchanged.
func TestNoEnergyInAWindow(t *testing.T) {
	f := &faulty{machine: newMachine()}
	p := node.NewPowerMeter(node.EnergyConfig{Source: f, CPU: f}, nil)
	f.everyLoad(p)
	f.pods[podA] = &pod{cores: 1}
	f.still = true
	f.seconds(p, 6) // the first of which is a reset
	label := "{pod_name=,pod_namespace=,pod_uid=" + podA + "}"
	before := series(t, p)
	f.seconds(p, 10)
	after := series(t, p)
	for _, name := range []string{"pod_joules_total", "pod_joules_stddev"} {
		if got, want := after[name+label], before[name+label]; got != want {
			t.Errorf("%s from %g to %g", name, want, got)
		}
	}
}

// TestWindowOfTwoSources: a window in which the source changed reports no usage of pods; the next one
// does.
func TestWindowOfTwoSources(t *testing.T) {
	m := newMachine()
	var log bytes.Buffer
	p := node.NewPowerMeter(node.EnergyConfig{Source: m, CPU: m}, slog.New(slog.NewTextHandler(&log, nil)))
	m.everyLoad(p)
	m.pods[podA] = &pod{cores: 1}
	if _, _, took := m.seconds(p, 10); len(took) != 1 {
		t.Errorf("before: %v", took)
	}
	m.name = "hwmon"
	if _, _, took := m.seconds(p, 5); took != nil {
		t.Errorf("of the window in which the source changed: %v", took)
	}
	if _, _, took := m.seconds(p, 5); len(took) != 1 {
		t.Errorf("after: %v", took)
	}
	if !strings.Contains(log.String(), "energy is read") || !strings.Contains(log.String(), "quality=measured") {
		t.Errorf("log:\n%s", &log)
	}
}

// TestPodsAreSortedByKey, once each; pods of the first pass are in no window.
func TestPodsAreSortedByKey(t *testing.T) {
	m := newMachine()
	m.cores = 8
	for i := range 20 {
		m.pods[fmt.Sprintf("pod-%d", i)] = &pod{cores: .1, cpu: time.Hour}
	}
	m.pods[podA], m.pods[strings.ToUpper(podA)] = &pod{cores: .2}, &pod{cores: .3}
	p := m.meter(energy.Split{})
	if found := p.Measure(m.at); found.HasPods || sum(series(t, p), "pod_joules_total") != 0 {
		t.Errorf("first pass: got %+v", found)
	}
	var found node.Measurement
	for !found.HasPods {
		m.advance(time.Second)
		found = p.Measure(m.at)
	}
	if len(found.Pods) != 21 {
		t.Errorf("got %d pods, want 21", len(found.Pods))
	}
	if !slices.IsSortedFunc(found.Pods, func(a, b agent.PodPower) int {
		if a.Pod < b.Pod {
			return -1
		}
		return 1
	}) {
		t.Errorf("pods not sorted by key, or duplicated: %v", found.Pods)
	}
	for _, one := range found.Pods {
		if want := .3; one.Pod == reserve.KeyOf(podA) && !near(float64(one.Cores), want, 1e-6) { // upper case sorts before lower case
			t.Errorf("two pods of one key: got %+v, want %g cores", one, want)
		}
	}
}

// TestPodThatComesBack: a pod that was unreadable for a while has not ended.
func TestPodThatComesBack(t *testing.T) {
	m := newMachine()
	p := m.meter(energy.Split{})
	m.everyLoad(p)
	m.pods[podA] = &pod{cores: 1}
	m.seconds(p, 10)
	m.pods[podA].hidden = true
	m.seconds(p, 5)
	m.pods[podA].hidden = false
	m.seconds(p, 180)
	label := "pod_joules_total{pod_name=,pod_namespace=,pod_uid=" + podA + "}"
	if got := series(t, p)[label]; !near(got, m.pods[podA].joules, .05*m.pods[podA].joules) {
		t.Errorf("a pod that runs is charged %g J of %g J", got, m.pods[podA].joules)
	}
	// When it has really ended, it is shown for two minutes from the pass that missed it.
	delete(m.pods, podA)
	m.seconds(p, 5+115)
	if _, ok := series(t, p)[label]; !ok {
		t.Error("the pod disappeared before two minutes were over")
	}
	m.seconds(p, 5)
	if _, ok := series(t, p)[label]; ok {
		t.Error("the pod is still shown after two minutes")
	}
}

// TestMostPodsThatEnded: of the pods that ended together the last by UID are shown.
func TestMostPodsThatEnded(t *testing.T) {
	m := newMachine()
	p := m.meter(energy.Split{Idle: energy.ByUsage})
	m.seconds(p, 1)
	uid := func(i int) string { return fmt.Sprintf("%08x", i) }
	for i := range 600 {
		m.pods[uid(i)] = &pod{cores: .001}
	}
	m.seconds(p, 5)
	clear(m.pods)
	m.seconds(p, 5)
	all := series(t, p)
	for i := range 600 {
		if _, shown := all["pod_joules_total{pod_name=,pod_namespace=,pod_uid="+uid(i)+"}"]; shown != (i >= 100) {
			t.Errorf("pod %d shown: %v", i, shown)
		}
	}
}

// TestNamesAreForgotten: names of pods that are gone without a charge, once there are too many, and
// names of pods that are no longer shown are dropped.
func TestNamesAreForgotten(t *testing.T) {
	m := newMachine()
	p := m.meter(energy.Split{Idle: energy.ByUsage})
	m.seconds(p, 1)
	named := func(uids ...string) (pods []telemetry.Pod) {
		for _, uid := range uids {
			pods = append(pods, telemetry.Pod{UID: uid, Namespace: "shop", Name: "pod-" + uid})
		}
		return pods
	}
	var many []string
	for i := range 501 {
		many = append(many, fmt.Sprintf("%08x", i))
	}
	p.Observe(m.at, named(podA))
	m.pods[podA] = &pod{cores: 1}
	m.seconds(p, 5)
	p.Observe(m.at, named(many...))
	name := func(uid string) bool {
		_, ok := series(t, p)["pod_joules_total{pod_name=pod-"+uid+",pod_namespace=shop,pod_uid=}"]
		return ok
	}
	// One pod runs, and its name is among 502, the most that are kept.
	p.Observe(m.at, named(many[0]))
	m.pods[many[500]] = &pod{cores: .1}
	m.seconds(p, 5)
	if !name(podA) || !name(many[500]) {
		t.Errorf("names dropped too early: %v, %v", name(podA), name(many[500]))
	}
	// With one more, only names of running or charged pods remain.
	p.Observe(m.at, named(podB))
	for _, uid := range []string{many[0], many[1], podB} {
		m.pods[uid] = &pod{cores: .1}
	}
	m.seconds(p, 5)
	for uid, want := range map[string]bool{podA: true, podB: true, many[500]: true, many[0]: false, many[1]: false} {
		if name(uid) != want {
			t.Errorf("the name of %s is known: %v, want %v", uid, name(uid), want)
		}
	}
	delete(m.pods, podA)
	m.seconds(p, 130)
	m.pods[podA] = &pod{cores: 1}
	m.seconds(p, 5)
	if name(podA) {
		t.Error("kept the name of a pod that is no longer shown")
	}
}

// TestNameBelongsToTheNewestPod: a replaced pod of a StatefulSet keeps its name; the energy of both
// pods is separate and adds up.
func TestNameBelongsToTheNewestPod(t *testing.T) {
	m := newMachine()
	p := m.meter(energy.Split{Idle: energy.ByUsage})
	m.seconds(p, 1)
	named := func(uid string) []telemetry.Pod { return []telemetry.Pod{{UID: uid, Namespace: "shop", Name: "db-0"}} }
	const byName = "pod_joules_total{pod_name=db-0,pod_namespace=shop,pod_uid=}"
	of := func(all map[string]float64, uid string) float64 {
		return all["pod_joules_total{pod_name=db-0,pod_namespace=shop,pod_uid="+uid+"}"]
	}
	for _, uids := range [][2]string{{podA, podB}, {podC, podB + "0"}} { // the newer one with the larger UID, then with the smaller
		older, newer := uids[0], uids[1]
		p.Observe(m.at, named(older))
		m.pods[older] = &pod{cores: 1}
		m.seconds(p, 30)
		first := series(t, p)[byName]
		delete(m.pods, older)
		p.Observe(m.at, named(newer))
		m.pods[newer] = &pod{cores: .1}
		m.seconds(p, 10)
		all := series(t, p)
		if first <= 0 || of(all, older) < first || all[byName] <= 0 || all[byName] >= first {
			t.Errorf("got %g J for the older pod, %g of it under its UID, and %g J for the newer", first, of(all, older), all[byName])
		}
		delete(m.pods, newer)
		m.seconds(p, 5)
		if all := series(t, p); all[byName] <= 0 || all[byName] >= first {
			t.Errorf("both ended: got %g J for the newer pod", all[byName])
		}
		m.seconds(p, 130)
	}
}

// TestNewerOfTwoRunningPods: while the replaced pod still terminates, the name belongs to the pod that
// started later, whatever their UIDs.
func TestNewerOfTwoRunningPods(t *testing.T) {
	for _, uids := range [][2]string{{podA, podB}, {podB, podA}} {
		m := newMachine()
		p := m.meter(energy.Split{Idle: energy.ByUsage})
		older, newer := uids[0], uids[1]
		p.Observe(m.at, []telemetry.Pod{{UID: older, Namespace: "shop", Name: "db-0"}, {UID: newer, Namespace: "shop", Name: "db-0"}})
		m.pods[older] = &pod{cores: 1}
		m.seconds(p, 30)
		m.pods[newer] = &pod{cores: .1}
		m.seconds(p, 10)
		all := series(t, p)
		if took := all["pod_joules_total{pod_name=db-0,pod_namespace=shop,pod_uid="+older+"}"]; took <= all["pod_joules_total{pod_name=db-0,pod_namespace=shop,pod_uid=}"] {
			t.Errorf("got %g J under the older pod's UID, want %v", took, all)
		}
	}
}

// TestMetricsAreDescribed, so that a registry detects duplicate names before it gathers.
func TestMetricsAreDescribed(t *testing.T) {
	described := make(chan *prometheus.Desc, 100)
	node.NewPowerMeter(node.EnergyConfig{}, nil).Describe(described)
	close(described)
	names := map[string]bool{}
	for d := range described {
		names[d.String()] = true
	}
	if len(names) != 9 {
		t.Errorf("%d metrics, want 9: %v", len(names), names)
	}
}

// TestRefusalsAreLogged once, with the reading and its bound, until a reading is valid again; a machine
// of 1,430 W is accepted.
func TestRefusalsAreLogged(t *testing.T) {
	var log bytes.Buffer
	g := &gauge{machine: newMachine(), watts: 1430}
	p := node.NewPowerMeter(node.EnergyConfig{Source: g, CPU: g}, slog.New(slog.NewTextHandler(&log, nil)))
	g.everyLoad(p)
	if last, reported, _ := g.seconds(p, 3); !reported || last.Watts != 1430 {
		t.Errorf("reported %v %+v", reported, last)
	}
	for range 2 {
		g.watts = 65535
		g.seconds(p, 30)
		g.watts = 1430
		g.seconds(p, 3)
	}
	if n := strings.Count(log.String(), "65535 W, where the bound is 50000 W"); n != 2 {
		t.Errorf("logged %d times, want 2:\n%s", n, &log)
	}
}

// TestZeroGauge: no running machine draws 0 W, so its power is unknown.
func TestZeroGauge(t *testing.T) {
	f := &faulty{machine: newMachine()}
	p := node.NewPowerMeter(node.EnergyConfig{Source: f, CPU: f}, nil)
	f.everyLoad(p)
	f.still, f.system = true, 4
	f.seconds(p, 1) // from the last counted value to the stuck counter
	if last, reported, _ := f.seconds(p, 30); !reported || last.Known() {
		t.Errorf("stuck counter: reported %v %+v", reported, last)
	}
	if all := series(t, p); all["refused_total{cause=still}"] != 30 {
		t.Errorf("%v", all)
	}
}

// gauge is a machine whose management controller has a power gauge.
type gauge struct {
	*machine
	watts float64
}

func (g *gauge) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	return append(dst[:0], energy.Reading{Zone: "platform", Gauge: true, Watts: g.watts + 20*g.system, MaxWatts: energy.MaxMachineWatts, At: at}), nil
}

// TestImplausibleCPUTimes: a pod or a machine whose counter jumped or ran backwards counts as not
// measured; the others are measured.
func TestImplausibleCPUTimes(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		m := newMachine()
		p := m.meter(energy.Split{})
		m.everyLoad(p)
		m.system = 0
		m.pods[podA], m.pods[podB] = &pod{cores: .5, cpu: 2 * time.Hour}, &pod{cores: .5, cpu: 2 * time.Hour}
		m.seconds(p, 20)
		m.pods[podA].cpu += by
		var took map[reserve.PodKey]agent.PodPower
		for range 5 {
			if _, _, now := m.seconds(p, 1); now != nil {
				took = now
			}
		}
		if _, reported := took[reserve.KeyOf(podA)]; reported || !near(float64(took[reserve.KeyOf(podB)].Cores), .5, 1e-6) {
			t.Errorf("a pod's counter moved by %v: %v", by, took)
		}
		if _, _, took = m.seconds(p, 5); !near(float64(took[reserve.KeyOf(podA)].Cores), .5, 1e-6) {
			t.Errorf("afterwards %v", took)
		}
		m.node += by
		if last, reported, _ := m.seconds(p, 1); reported {
			t.Errorf("the machine's counter moved by %v: %+v", by, last)
		}
		if last, reported, _ := m.seconds(p, 1); !reported || !near(last.Busy, 1, 1e-6) {
			t.Errorf("afterwards: reported %v %+v", reported, last)
		}
	}
}

// TestWindowOfImplausibleCPUTimes: a pod keeps one of two busy cores busy, which takes 100 J in a
// window. It is charged no more when the counter of the machine or of the cgroup tree ran backwards or
// jumped; energy that the machine's own counter cannot divide goes to the system. Afterwards the pod is
// charged again.
func TestWindowOfImplausibleCPUTimes(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		for of, want := range map[string]float64{"machine": 0, "tree": 100} {
			m := newMachine()
			m.node, m.tree = 2*time.Hour, 2*time.Hour
			p := m.meter(energy.Split{})
			m.everyLoad(p)
			m.system, m.pods[podA] = 1, &pod{cores: 1}
			charged := func() float64 { return series(t, p)["pod_joules_total{pod_name=,pod_namespace=,pod_uid="+podA+"}"] }
			for before := 0.; charged() == before; {
				m.seconds(p, 1) // to the end of a window
			}
			m.seconds(p, 5)
			node, system := m.joules, series(t, p)["unattributed_joules_total{part=system}"]
			if of == "machine" {
				m.node += by
			} else {
				m.tree += by
			}
			before := charged()
			m.seconds(p, 5)
			if got := charged() - before; !near(got, want, 2) {
				t.Errorf("the %s's counter moved by %v: the pod is charged %g J, want %g", of, by, got, want)
			}
			if got := series(t, p)["unattributed_joules_total{part=system}"] - system; of == "machine" && !near(got, m.joules-node, 100) {
				t.Errorf("the machine's counter moved by %v: the system took %g J of %g", by, got, m.joules-node)
			}
			if all := series(t, p); all["refused_total{cause=cpu}"] != 1 {
				t.Errorf("the %s's counter moved by %v: %v", of, by, all)
			}
			before = charged()
			m.seconds(p, 5)
			if got := charged() - before; !near(got, 100, 2) {
				t.Errorf("the %s's counter moved by %v: afterwards the pod is charged %g J", of, by, got)
			}
		}
	}
}

// TestZonesOfTheNodeAddUp: the counters that are not parts of others add up to the node's energy.
func TestZonesOfTheNodeAddUp(t *testing.T) {
	m := newMachine()
	m.dramThere = true
	p := m.meter(energy.Split{})
	m.seconds(p, 1)
	m.system = 2
	m.seconds(p, 100)
	sum := 0.
	for name, v := range series(t, p) {
		if strings.HasPrefix(name, "node_joules_total{") && strings.Contains(name, "part=false") {
			sum += v
		}
	}
	if want := 100 * (40 + 2*20 + 2.); !near(sum, want, 1e-3) {
		t.Errorf("the counters add up to %g J, the node took %g", sum, want)
	}
}

// seldom is a machine whose counter moves every few seconds.
type seldom struct {
	*machine
	each  int
	shown float64
}

func (s *seldom) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	if int(at.Sub(began).Seconds())%s.each == 0 {
		s.shown = s.joules
	}
	return append(dst[:0], energy.Reading{Zone: "package-0", Counter: uint64(math.Round(s.shown * 1e6)), At: at}), nil
}

// TestCounterThatMovesSeldom: the node's power is its actual power, never that of a second in which the
// counter stood or jumped, and a pod is charged what its load takes.
func TestCounterThatMovesSeldom(t *testing.T) {
	for _, each := range []int{2, 3, 5} {
		s := &seldom{machine: newMachine(), each: each}
		chain := source.NewChain(source.Opener{Name: "powercap", Open: func() (source.Source, error) { return s, nil }})
		p := node.NewPowerMeter(node.EnergyConfig{Source: chain, CPU: s}, nil)
		for i := range 200 {
			s.system = float64(i%5) * .75
			s.seconds(p, 3*each)
		}
		s.system, s.pods["a"] = 1, &pod{cores: 1}
		s.seconds(p, 3*each) // the first window of the pod
		before := series(t, p)["pod_joules_total{pod_name=,pod_namespace=,pod_uid=a}"]
		known := 0
		for range 300 {
			last, reported, _ := s.seconds(p, 1)
			if !reported || !last.Known() {
				continue
			}
			if known++; math.Abs(last.Watts-80) > .5 {
				t.Fatalf("each %d s: %g W, %v of 80", each, last.Watts, last.Flags)
			}
		}
		took := series(t, p)["pod_joules_total{pod_name=,pod_namespace=,pod_uid=a}"] - before
		if known < 300/each-2 || took < 300*20*.9 || took > 300*20*1.1 {
			t.Errorf("every %d s: power known %d times in 300 s; got %g J for the pod, want 6000", each, known, took)
		}
	}
}
