package node_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

var began = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// machine draws 40 W plus 20 W per busy core, and has pods that keep cores busy. It is its own source
// of energy and of CPU times.
type machine struct {
	cores    int
	at       time.Time
	joules   float64
	node     time.Duration
	tree     time.Duration
	pods     map[string]*pod
	system   float64 // cores that the system keeps busy beside the pods
	name     string
	quality  energy.Quality
	err      error // the error of ReadTo
	absent   error // the error of a zone missing beside those that are read
	cpuErr   error
	treeErr  error
	failed   []error
	zones    int // the second is a part of the first
	observed []telemetry.Pod
	// dram is a zone that adds to the first and may be missing.
	dram      float64
	dramThere bool
	// step is the time between two measurements; 0 is a second.
	step time.Duration
}

type pod struct {
	cores  float64
	cpu    time.Duration
	joules float64 // energy of its load
	older  bool
	hidden bool // gone or unreadable
}

func newMachine() *machine {
	return &machine{cores: 4, at: began, pods: map[string]*pod{}, name: "powercap", quality: energy.Measured, zones: 2}
}

func (m *machine) advance(d time.Duration) {
	m.at = m.at.Add(d)
	busy := m.system
	for _, p := range m.pods {
		if p.hidden {
			continue
		}
		busy += p.cores
		p.cpu += time.Duration(p.cores * float64(d))
		p.joules += 20 * p.cores * d.Seconds()
		m.tree += time.Duration(p.cores * float64(d))
	}
	m.node += time.Duration(busy * float64(d))
	m.joules += (40 + 20*busy) * d.Seconds()
	m.dram += 2 * d.Seconds()
}

func (m *machine) Name() string            { return m.name }
func (m *machine) Quality() energy.Quality { return m.quality }
func (m *machine) Period() time.Duration   { return time.Millisecond }
func (m *machine) Close() error            { return nil }

func (m *machine) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	dst = dst[:0]
	if m.err != nil {
		return dst, m.err
	}
	micro := uint64(math.Round(m.joules * 1e6))
	for i := range m.zones {
		dst = append(dst, energy.Reading{Zone: fmt.Sprintf("zone-%d", i), Counter: micro / uint64(i+1), Part: i > 0, At: at})
	}
	if m.dramThere {
		dst = append(dst, energy.Reading{Zone: "dram", Counter: uint64(math.Round(m.dram * 1e6)), At: at})
	}
	return dst, m.absent
}

func (m *machine) Observe(_ time.Time, pods []telemetry.Pod) { m.observed = pods }

func (m *machine) ReadNode() (telemetry.NodeCPU, error) {
	return telemetry.NodeCPU{Busy: m.node, Cores: m.cores}, m.cpuErr
}

func (m *machine) ReadCPUTo(dst *telemetry.CPUUsage, at time.Time) error {
	dst.At, dst.Node, dst.Tree, dst.Pods, dst.Failed = at, telemetry.NodeCPU{Busy: m.node, Cores: m.cores}, m.tree, dst.Pods[:0], m.failed
	if m.cpuErr != nil {
		return m.cpuErr
	}
	if m.treeErr != nil {
		return m.treeErr
	}
	for _, uid := range slices.Sorted(maps.Keys(m.pods)) {
		if p := m.pods[uid]; !p.hidden {
			dst.Pods = append(dst.Pods, telemetry.PodCPU{UID: uid, CPU: p.cpu, AgeUnknown: p.older})
		}
	}
	return nil
}

func (m *machine) meter(split energy.Split) *node.PowerMeter {
	return node.NewPowerMeter(node.EnergyConfig{Source: m, CPU: m, Split: split}, nil)
}

// seconds advances n steps of a second and returns the last power and the last window's usage of pods.
func (m *machine) seconds(p *node.PowerMeter, n int) (last energy.Power, reported bool, took map[reserve.PodKey]agent.PodPower) {
	for range n {
		m.advance(cmp.Or(m.step, time.Second))
		found := p.Measure(m.at)
		if found.HasPower {
			last, reported = found.Power, true
		}
		if found.HasPods {
			took = map[reserve.PodKey]agent.PodPower{}
			for _, one := range found.Pods {
				took[one.Pod] = one
			}
		}
	}
	return last, reported, took
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

// energyMetrics returns the values of counters and gauges as NAME{LABEL=VALUE,...}, without the prefix
// spazio_energy_ of their names.
func energyMetrics(t testing.TB, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			all[strings.TrimPrefix(f.GetName(), "spazio_energy_")+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return all
}

// series returns the values of all metrics, by name and labels.
func series(t *testing.T, p *node.PowerMeter) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(p); err != nil {
		t.Fatal(err)
	}
	return energyMetrics(t, r)
}

// sum adds up the series of a metric.
func sum(all map[string]float64, name string) (total float64) {
	for k, v := range all {
		if strings.HasPrefix(k, name+"{") {
			total += v
		}
	}
	return total
}

const (
	podA = "0a000000-0000-4000-8000-000000000001"
	podB = "0b000000-0000-4000-8000-000000000002"
	podC = "0c000000-0000-4000-8000-000000000003"
)

// TestNodeAndPods: once the curve is known, a pod is charged what its load took, and the node reports
// its power, its marginal power per core and its busy cores.
func TestNodeAndPods(t *testing.T) {
	m := newMachine()
	p := m.meter(energy.Split{})
	if _, reported, _ := m.seconds(p, 1); reported {
		t.Error("got a power after one reading")
	}
	// The meter sees every load, idle and full included.
	for i := range 50 {
		m.system = float64(i%5) * .999
		m.seconds(p, 5)
	}
	m.system = .5
	m.pods[podA], m.pods[podB], m.pods[podC] = &pod{cores: 1}, &pod{cores: .25}, &pod{cores: .25, older: true, cpu: time.Hour}
	last, reported, took := m.seconds(p, 10)
	if !reported || !near(last.Watts, 80, 1e-3) || !near(last.Busy, 2, 1e-6) || last.Cores != 4 || last.Quality != energy.Measured || last.Flags != 0 {
		t.Errorf("%+v", last)
	}
	if !near(last.Marginal, 20, .2) || !near(last.Idle, 40, .5) || !near(last.Max, 120, .5) || !near(last.Joules, m.joules-60, 100) || !(last.SD > 0 && last.SD < 1) {
		t.Errorf("got %+v, the machine has used %g J", last, m.joules)
	}
	for uid, want := range map[string]float64{podA: 1, podB: .25, podC: .25} {
		got := took[reserve.KeyOf(uid)]
		if !near(float64(got.Cores), want, 1e-6) || !near(float64(got.Watts), 20*want, .4) {
			t.Errorf("pod %s took %+v, want %g cores and %g W", uid, got, want, 20*want)
		}
	}
	// Metrics hold a pod's energy since then and its uncertainty.
	before := series(t, p)
	begun := map[string]float64{podA: m.pods[podA].joules, podB: m.pods[podB].joules}
	m.seconds(p, 60)
	after := series(t, p)
	for uid, from := range begun {
		label := "{pod_name=,pod_namespace=,pod_uid=" + uid + "}"
		if got, want := after["pod_joules_total"+label]-before["pod_joules_total"+label], m.pods[uid].joules-from; !near(got, want, .01*want) {
			t.Errorf("pod %s is charged %g J, its load took %g J", uid, got, want)
		}
		if sd := after["pod_joules_stddev"+label]; !(sd > 0 && sd < after["pod_joules_total"+label]) {
			t.Errorf("pod %s: deviation %g J", uid, sd)
		}
	}
	if got := after["node_joules_total{part=false,source=powercap,zone=zone-0}"] - before["node_joules_total{part=false,source=powercap,zone=zone-0}"]; !near(got, 60*80, 1e-3) {
		t.Errorf("got %g J for the node", got)
	}
	if after["node_watts{}"] != last.Watts && !near(after["node_watts{}"], 80, 1e-3) || after["quality{quality=measured,source=powercap}"] != 1 {
		t.Errorf("%v", after)
	}
	if got := after["unattributed_joules_total{part=system}"] - before["unattributed_joules_total{part=system}"]; !near(got, 60*10, 6) {
		t.Errorf("got %g J for the system", got)
	}
}

// TestUncertaintyOfPackages: if one of two packages is fuller, a pod's charge is less certain than if
// both are alike, unless the packages are a host's.
func TestUncertaintyOfPackages(t *testing.T) {
	const seconds = 200
	doubt := func(quality energy.Quality, less float64) float64 {
		m := newMachine()
		m.quality = quality
		two := &packages{machine: m}
		p := node.NewPowerMeter(node.EnergyConfig{Source: two, CPU: m, Meter: energy.MeterConfig{Jitter: time.Microsecond}}, nil)
		run := func(n int, less float64) {
			for range n {
				busy := m.system
				for _, p := range m.pods {
					busy += p.cores
				}
				two.advance(busy, less)
				m.seconds(p, 1)
			}
		}
		for i := range 50 {
			m.system = float64(i%5) * .999
			run(5, 0)
		}
		m.system, m.pods[podA] = 2, &pod{cores: 1}
		run(10, less)
		label := "{pod_name=,pod_namespace=,pod_uid=" + podA + "}"
		before := series(t, p)
		run(seconds, less)
		after := series(t, p)
		return (after["pod_joules_stddev"+label] - before["pod_joules_stddev"+label]) /
			(after["pod_joules_total"+label] - before["pod_joules_total"+label])
	}
	alike, unlike, shared := doubt(energy.Measured, 0), doubt(energy.Measured, .25), doubt(energy.Shared, .25)
	// With three of four cores busy, one package is full and the other half full: with a concave curve
	// a core-second costs 1 and .5/(2·.5 − .5^1.4) of it.
	f := func(u float64) float64 { return 2*u - math.Pow(u, 1.4) }
	mean := (f(1) + f(.5)) / 1.5
	want := math.Sqrt((math.Pow(f(1)/mean-1, 2) + .5*math.Pow(f(.5)/.5/mean-1, 2)) / 1.5)
	if !near(unlike*unlike-alike*alike, want*want, .3*want*want) || alike > .3*want {
		t.Errorf("a pod's joules are doubted by %.4f where packages are alike, %.4f where they are not; want %.4f more", alike, unlike, want)
	}
	if shared > 1.5*alike+.02 {
		t.Errorf("a guest's by %.4f", shared)
	}
}

// packages are two packages of two cores each, with concave power curves.
type packages struct {
	*machine
	joules [2]float64
}

// advance runs a second with so many busy cores; less is the part of all load that the second package
// lacks.
func (m *packages) advance(busy, less float64) {
	for i := range m.joules {
		u := min(max(busy/4-less+2*less*float64(1-i), 0), 1)
		m.joules[i] += 20 + 40*(2*u-math.Pow(u, 1.4))
	}
}

func (m *packages) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	dst = dst[:0]
	for i, joules := range m.joules {
		dst = append(dst, energy.Reading{Zone: fmt.Sprintf("package-%d", i), Counter: uint64(math.Round(joules * 1e6)), At: at})
	}
	return dst, nil
}

// TestUncertaintyOfPods: the uncertainty of the node's joules adds in squares over time, since it
// averages out; the deviation of its power from the load adds up linearly; neither depends on the
// reading period.
func TestUncertaintyOfPods(t *testing.T) {
	for _, step := range []time.Duration{time.Second, 2500 * time.Millisecond} {
		for _, noise := range []float64{0, 10} { // W, alternately more and less
			m := newMachine()
			m.step = step
			p := node.NewPowerMeter(node.EnergyConfig{Source: m, CPU: m, Meter: energy.MeterConfig{Jitter: 100 * time.Millisecond}}, nil)
			sign := 1.
			run := func(n int) {
				for range n {
					m.joules += sign * noise * step.Seconds()
					sign = -sign
					m.seconds(p, 1)
				}
			}
			m.seconds(p, 1)
			for i := range 200 {
				m.system = float64(i%5) * .999
				run(20)
			}
			m.system = 1
			m.pods[podA] = &pod{cores: 1}
			run(400)
			all := series(t, p)
			seconds := 400 * step.Seconds()
			joules, sd := all["pod_joules_total{pod_name=,pod_namespace=,pod_uid="+podA+"}"], all["pod_joules_stddev{pod_name=,pod_namespace=,pod_uid="+podA+"}"]
			if !near(joules, 20*seconds, .03*20*seconds) {
				t.Errorf("every %v, noise %g W: the pod is charged %g J, its load took %g J", step, noise, joules, 20*seconds)
			}
			// A quarter of the node's joules; each interval's are known to a tenth of a second of its
			// 80 W.
			measured := math.Sqrt(400) * 20 / 80 * 80 * .1 / math.Sqrt(6)
			want := math.Hypot(measured, noise/40*joules)
			if !near(sd, want, .2*want) {
				t.Errorf("every %v, noise %g W: deviation %g J of %g J, want %g J", step, noise, sd, joules, want)
			}
		}
	}
}

// TestPodsOfBefore: usage of a pod before its first reading is no part of the window, unless the pod
// started in it.
func TestPodsOfBefore(t *testing.T) {
	m := newMachine()
	p := m.meter(energy.Split{})
	m.seconds(p, 11)
	m.pods[podA], m.pods[podB] = &pod{cores: .5, cpu: time.Hour, older: true}, &pod{cores: .5}
	_, _, took := m.seconds(p, 5)
	if len(took) != 1 || !near(float64(took[reserve.KeyOf(podB)].Cores), .5, 1e-6) {
		t.Errorf("in the first window: %v", took)
	}
	_, _, took = m.seconds(p, 5)
	if len(took) != 2 || !near(float64(took[reserve.KeyOf(podA)].Cores), .5, 1e-6) || !near(float64(took[reserve.KeyOf(podB)].Cores), .5, 1e-6) {
		t.Errorf("in the second: %v", took)
	}
	if all := series(t, p); !near(sum(all, "pod_joules_total"), m.pods[podA].joules+m.pods[podB].joules, .6*m.pods[podB].joules) {
		t.Errorf("%v", all)
	}
}

// TestUnreadablePods: after a pod, or all pods, could not be read for a while, their usage in between is
// unknown, and is not that of their whole lifetime.
func TestUnreadablePods(t *testing.T) {
	for name, blind := range map[string]func(*machine, bool){
		"a pod": func(m *machine, on bool) { m.pods[podA].hidden = on },
		"all": func(m *machine, on bool) {
			m.treeErr = nil
			if on {
				m.treeErr = fmt.Errorf("no %w", telemetry.ErrNoPodUsage)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			p := m.meter(energy.Split{})
			for i := range 50 {
				m.system = float64(i%4) * .999
				m.seconds(p, 5)
			}
			m.system = .25
			m.pods[podA], m.pods[podB] = &pod{cores: .75}, &pod{cores: .5}
			m.seconds(p, 600)
			blind(m, true)
			m.seconds(p, 5)
			blind(m, false)
			ended := series(t, p)["unattributed_joules_total{part=ended}"]
			for range 3 {
				_, _, took := m.seconds(p, 5)
				for uid, most := range map[string]float64{podA: .75, podB: .5} {
					if got, ok := took[reserve.KeyOf(uid)]; ok && !(near(float64(got.Cores), most, 1e-6) && near(float64(got.Watts), 20*most, 1)) {
						t.Errorf("pod %s took %+v, want %g cores", uid, got, most)
					}
				}
			}
			if _, _, took := m.seconds(p, 5); len(took) != 2 {
				t.Errorf("last window: got %v", took)
			}
			if got := series(t, p)["unattributed_joules_total{part=ended}"] - ended; got > 5*20*.75+1 {
				t.Errorf("got %g J for ended pods, but none has ended", got)
			}
		})
	}
}

// TestPowerWithoutAZone: a power that lacks a zone is marked incomplete.
func TestPowerWithoutAZone(t *testing.T) {
	m := newMachine()
	p := m.meter(energy.Split{})
	step := func(n int) (last energy.Power) {
		for i := range n {
			m.system = float64(1 + i%2)
			last, _, _ = m.seconds(p, 1)
		}
		return last
	}
	if last := step(60); last.Flags&energy.Partial != 0 || !near(last.Watts, 80, 1e-3) {
		t.Errorf("whole: %+v", last)
	}
	m.absent = errors.New("no memory's counter")
	if last := step(2); last.Flags&energy.Partial == 0 || last.Flags&energy.Gap != 0 || !near(last.Watts, 80, 1e-3) {
		t.Errorf("without a zone: %+v", last)
	}
	m.absent = nil
	if last := step(2); last.Flags&energy.Partial != 0 {
		t.Errorf("whole again: %+v", last)
	}
}

// TestEnergyIsConserved: whatever happens, the energy charged to pods and the rest add up to the node's
// energy as of the last pass over the pods.
func TestEnergyIsConserved(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		m := newMachine()
		split := energy.Split{
			Idle: []energy.IdlePolicy{energy.Unattributed, energy.ByWeight, energy.ByUsage}[rng.IntN(3)],
		}
		p := m.meter(split)
		power, looks := 0, 0
		for i := range 600 {
			switch rng.IntN(12) {
			case 0:
				uid := fmt.Sprintf("%08x-0000", rng.IntN(8))
				m.pods[uid] = &pod{cores: rng.Float64(), older: rng.IntN(4) == 0}
			case 1:
				for uid := range m.pods {
					delete(m.pods, uid)
					break
				}
			case 2:
				m.system = rng.Float64()
			case 3:
				m.err = []error{nil, errors.New("gone"), source.ErrUnchanged}[rng.IntN(3)]
			case 4:
				m.zones = 1 + rng.IntN(3)
			case 5:
				m.joules = 0 // a reset
			case 6:
				if rng.IntN(4) == 0 {
					m.name, m.quality = "hwmon", energy.Platform
				} else {
					m.name, m.quality = "powercap", energy.Measured
				}
			case 7:
				m.treeErr = []error{nil, fmt.Errorf("no %w", telemetry.ErrNoPodUsage)}[rng.IntN(2)]
			case 8:
				m.cores = 1 + rng.IntN(8)
			case 9:
				m.dramThere = !m.dramThere
			case 10:
				m.dram = 0
			}
			m.advance(time.Second + time.Duration(rng.IntN(1e6)))
			found := p.Measure(m.at)
			if found.HasPower && found.Power.Known() {
				if err := found.Power.Validate(); err != nil {
					t.Fatal(err)
				}
				power++
			}
			if !found.HasPods {
				continue
			}
			all := series(t, p)
			looks++
			charged := sum(all, "pod_joules_total") + sum(all, "unattributed_joules_total")
			taken := 0.
			for _, from := range []string{"powercap", "hwmon"} {
				taken += all["node_joules_total{part=false,source="+from+",zone=zone-0}"] + all["node_joules_total{part=false,source="+from+",zone=dram}"]
			}
			if !near(charged, taken, 1e-9*taken) {
				t.Fatalf("seed %d, second %d: %g J charged, %g J taken", seed, i, charged, taken)
			}
			for _, one := range found.Pods {
				if !(one.Cores >= agent.LeastCores && one.Watts >= 0) {
					t.Fatalf("%+v", one)
				}
			}
		}
		if power < 5 || looks < 20 {
			t.Errorf("seed %d: power reported %d times, pods %d times", seed, power, looks)
		}
	}
}

// TestPartOfTheZones: if a zone is unreadable now and then, load is charged its part of the other
// zones' energy, and none of the machine's idle power.
func TestPartOfTheZones(t *testing.T) {
	m := newMachine()
	m.dramThere = true
	p := m.meter(energy.Split{})
	for i := range 50 {
		m.system = float64(i%5) * .999
		m.seconds(p, 5)
	}
	m.system = .25
	m.pods[podA] = &pod{cores: .75}
	m.seconds(p, 10)
	label := "pod_joules_total{pod_name=,pod_namespace=,pod_uid=" + podA + "}"
	before, from := series(t, p)[label], m.pods[podA].joules
	for i := range 300 {
		m.dramThere = i%5 > 1 // two intervals of five lack the zone: the one in which it vanishes and the one in which it returns
		m.seconds(p, 1)
	}
	got, want := series(t, p)[label]-before, m.pods[podA].joules-from
	if !near(got, want, .05*want) {
		t.Errorf("the pod is charged %g J, its load took %g J", got, want)
	}
}

// TestSourcesChange: a meter never mixes powers of two sources, nor a curve those of two qualities;
// each source keeps its total, and a node without a source is reported as such.
func TestSourcesChange(t *testing.T) {
	m := newMachine()
	var log bytes.Buffer
	p := node.NewPowerMeter(node.EnergyConfig{Source: m, CPU: m}, slog.New(slog.NewTextHandler(&log, nil)))
	// run takes so many seconds of a load of one core and of two, with so many watts more.
	vary := func(n int, more float64) (last energy.Power, reported bool) {
		for i := range n {
			m.system = float64(1 + i%2)
			m.joules += more
			last, reported, _ = m.seconds(p, 1)
			if reported && last.Known() && !(last.Marginal > 0 && last.Max > last.Idle && last.Idle > 0) {
				t.Errorf("reported before the marginal power is known: %+v", last)
			}
		}
		return last, reported
	}
	m.seconds(p, 1)
	last, reported := vary(60, 0)
	first := series(t, p)["node_joules_total{part=false,source=powercap,zone=zone-0}"]
	if !near(first, 30*60+30*80, 1e-3) || !reported || !near(last.Marginal, 20, 6) {
		t.Errorf("%g J by powercap, %v %+v", first, reported, last)
	}
	// Another source of another quality has a very different counter.
	m.name, m.quality = "redfish", energy.Platform
	m.joules = 5e6
	if last, reported = vary(1, 0); !reported || last != (energy.Power{}) {
		t.Errorf("got a power across two sources: %v %+v", reported, last)
	}
	if last, reported = vary(2, 60); reported {
		t.Errorf("marginal power after two readings: %+v", last)
	}
	if last, _ = vary(57, 60); !near(last.Watts, 120, 1e-3) || last.Quality != energy.Platform || !near(last.Idle, 100, 25) || !near(last.Marginal, 20, 6) {
		t.Errorf("%+v", last)
	}
	m.name, m.quality = "powercap", energy.Measured
	if last, _ = vary(7, 0); !near(last.Watts, 60, 1e-3) || !near(last.Idle, 40, 25) || !near(last.Joules, 4200+7660+420, 1e-2) {
		t.Errorf("%+v", last)
	}
	all := series(t, p)
	if !near(all["node_joules_total{part=false,source=powercap,zone=zone-0}"], first+3*60+3*80, 1e-3) || !near(all["node_joules_total{part=false,source=redfish,zone=zone-0}"], 7660, 1e-3) {
		t.Errorf("%v", all)
	}
	m.system = 1
	// The source fails: the last power stands for a while, then none is reported.
	m.err = errors.New("the source failed")
	var took map[reserve.PodKey]agent.PodPower
	if last, reported, _ = m.seconds(p, 5); reported {
		t.Errorf("reported %+v", last)
	}
	if last, reported, _ = m.seconds(p, 2); !reported || last != (energy.Power{}) {
		t.Errorf("reported %v %+v", reported, last)
	}
	if _, reported, took = m.seconds(p, 10); reported || took == nil {
		t.Errorf("reported %v again, pods %v", reported, took)
	}
	if strings.Count(log.String(), "the source failed") != 1 || strings.Count(log.String(), "the source of energy has changed") != 2 {
		t.Errorf("log:\n%s", &log)
	}
	if _, ok := series(t, p)["node_watts{}"]; ok {
		t.Error("got a power without a known source")
	}
	m.err = nil
	if last, reported, _ = m.seconds(p, 3); !reported || !near(last.Watts, 60, 1) {
		t.Errorf("after the outage: %v %+v", reported, last)
	}
}

// TestLostZonesAreFlaggedAndCounted: a zone that vanished or was reset yields no power, and the next
// power is marked incomplete.
func TestLostZonesAreFlaggedAndCounted(t *testing.T) {
	m := newMachine()
	m.zones = 1
	p := m.meter(energy.Split{})
	for i := range 42 {
		m.system = float64(1 + i%2)
		m.seconds(p, 1)
	}
	m.system = .5
	m.pods[podA] = &pod{cores: .5}
	m.seconds(p, 5)
	m.joules = 10
	last, reported, took := m.seconds(p, 1)
	if reported {
		t.Errorf("reported %+v", last)
	}
	last, reported, more := m.seconds(p, 1)
	if !reported || last.Flags&(energy.Partial|energy.Gap) != energy.Partial|energy.Gap {
		t.Errorf("reported %v %+v", reported, last)
	}
	if _, _, rest := m.seconds(p, 3); took != nil || more != nil || rest != nil {
		t.Errorf("pods of a window with a gap: %v, %v, %v", took, more, rest)
	}
	if _, _, took = m.seconds(p, 5); len(took) != 1 || !near(float64(took[reserve.KeyOf(podA)].Watts), 10, 3) {
		t.Errorf("pods of the next: %v", took)
	}
	if last, _, _ = m.seconds(p, 1); last.Flags&(energy.Partial|energy.Gap) != 0 {
		t.Errorf("%+v", last)
	}
	m.cpuErr = errors.New("no /proc")
	if _, reported, _ = m.seconds(p, 1); reported {
		t.Error("got a power for an unknown number of cores")
	}
	m.cpuErr = nil
	m.failed = []error{errors.New("a pod's")}
	if last, reported, _ = m.seconds(p, 10); !reported || !near(last.Watts, 60, 1e-3) {
		t.Errorf("%+v", last)
	}
	all := series(t, p)
	if all["refused_total{cause=backwards}"] != 1 || all["refused_total{cause=cpu}"] != 1 || all["refused_total{cause=pods}"] < 1 {
		t.Errorf("%v", all)
	}
}

// TestEndedPodsAreShownForAWhile, and at most a few hundred of them.
func TestEndedPodsAreShownForAWhile(t *testing.T) {
	m := newMachine()
	p := m.meter(energy.Split{Idle: energy.ByUsage})
	p.Observe(m.at, []telemetry.Pod{{UID: podA, Namespace: "shop", Name: "front-1"}, {UID: podB}})
	if len(m.observed) != 2 {
		t.Error("the reader of CPU times did not get the pods")
	}
	m.pods[podA], m.pods[podB] = &pod{cores: 1}, &pod{cores: 1}
	m.seconds(p, 31)
	all := series(t, p)
	label := "pod_joules_total{pod_name=front-1,pod_namespace=shop,pod_uid=}"
	if all[label] <= 0 || all["pod_joules_total{pod_name=,pod_namespace=,pod_uid="+podB+"}"] <= 0 {
		t.Errorf("%v", all)
	}
	delete(m.pods, podA)
	m.seconds(p, 110)
	before := series(t, p)
	if before[label] <= 0 {
		t.Error("an ended pod disappeared from the metrics at once")
	}
	ended := before["unattributed_joules_total{part=ended}"]
	m.seconds(p, 20)
	after := series(t, p)
	if _, ok := after[label]; ok {
		t.Error("an ended pod is never removed")
	}
	if got := after["unattributed_joules_total{part=ended}"] - ended; !near(got, before[label], 1e-6) {
		t.Errorf("got %g J for ended pods, the pod had %g J", got, before[label])
	}
	for i := range 600 {
		m.pods[fmt.Sprintf("%08x", i)] = &pod{cores: .001}
	}
	m.seconds(p, 5)
	m.pods = map[string]*pod{podB: m.pods[podB]}
	m.seconds(p, 5)
	shown := 0
	for k := range series(t, p) {
		if strings.HasPrefix(k, "pod_joules_total{") {
			shown++
		}
	}
	if shown != 501 {
		t.Errorf("got %d pods, want the running one and 500", shown)
	}
}

func TestMetricsAreCleanPrometheus(t *testing.T) {
	m := newMachine()
	p := m.meter(energy.Split{})
	p.Observe(m.at, []telemetry.Pod{{UID: podA, Namespace: "shop", Name: "front-1"}})
	m.pods[podA] = &pod{cores: 1}
	for i := range 60 {
		m.system = float64(i % 2)
		m.seconds(p, 1)
	}
	m.joules = 0
	m.seconds(p, 12)
	r := prometheus.NewRegistry()
	r.MustRegister(p)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 9 {
		t.Errorf("got %d metrics, want 9", len(families))
	}
	var text bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatal(err)
		}
	}
	problems, err := promlint.New(&text).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// TestMeasuringDoesNotAllocate while the pods stay the same.
func TestMeasuringDoesNotAllocate(t *testing.T) {
	m := newMachine()
	m.zones = 1
	for i := range 50 {
		m.pods[fmt.Sprintf("%08x", i)] = &pod{cores: .05}
	}
	p := node.NewPowerMeter(node.EnergyConfig{Source: &quiet{machine: m}, CPU: &quiet{machine: m}}, nil)
	step := func() {
		m.advance(time.Second)
		p.Measure(m.at)
	}
	for range 20 {
		step()
	}
	if n := testing.AllocsPerRun(50, step); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// quiet is a machine whose own readings allocate nothing.
type quiet struct {
	*machine
	uids []string
}

func (q *quiet) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	return append(dst[:0], energy.Reading{Zone: "zone", Counter: uint64(q.joules * 1e6), At: at}), nil
}

func (q *quiet) ReadCPUTo(dst *telemetry.CPUUsage, at time.Time) error {
	if q.uids == nil {
		q.uids = slices.Sorted(maps.Keys(q.pods))
	}
	dst.At, dst.Node, dst.Tree, dst.Pods = at, telemetry.NodeCPU{Busy: q.node, Cores: q.cores}, q.tree, dst.Pods[:0]
	for _, uid := range q.uids {
		dst.Pods = append(dst.Pods, telemetry.PodCPU{UID: uid, CPU: q.pods[uid].cpu})
	}
	return nil
}
