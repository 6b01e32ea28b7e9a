package telemetry_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// quotaLayout is how a kubelet's cgroups with CPU limits look.
type quotaLayout struct {
	name, hierarchy   string
	v2                bool
	pod, first, other string // directories below hierarchy; first and other are containers of pod
}

var quotaLayouts = []quotaLayout{{
	"v2, systemd driver", "", true,
	"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podd9ef_40ab.slice", "cri-containerd-1a.scope", "cri-containerd-2b.scope",
}, {
	"v2, cgroupfs driver", "", true, "kubepods/burstable/podd9ef-40ab", "1a", "2b",
}, {
	"v2, guaranteed", "", true, "kubepods/podd9ef-40ab", "1a", "2b",
}, {
	"v2 in kind", "", true,
	"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podd9ef_40ab.slice", "cri-containerd-1a.scope", "cri-containerd-2b.scope",
}, {
	"v1, systemd driver", "cpu,cpuacct", false,
	"kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podd9ef_40ab.slice", "docker-1a.scope", "docker-2b.scope",
}, {
	"hybrid, cgroupfs driver", "cpu", false, "kubepods/besteffort/podd9ef-40ab", "1a", "2b",
}}

// throttled sets how long a cgroup was throttled; limited says whether it has a
// limit at all.
func (l quotaLayout) throttled(m *machine, dir string, limited bool, micros uint64) {
	m.t.Helper()
	at := filepath.Join(m.root, l.hierarchy, l.pod, dir)
	if l.v2 {
		limit := "max 100000\n"
		if limited {
			limit = "20000 100000\n"
		}
		m.write(filepath.Join(at, "cpu.max"), limit)
		m.write(filepath.Join(at, "cpu.stat"), fmt.Sprintf("usage_usec 9\nuser_usec 5\nsystem_usec 4\nnr_periods 40\nnr_throttled 40\nthrottled_usec %d\n", micros))
		return
	}
	limit := "-1\n"
	if limited {
		limit = "20000\n"
	}
	m.write(filepath.Join(at, "cpu.cfs_quota_us"), limit)
	m.write(filepath.Join(at, "cpu.stat"), fmt.Sprintf("nr_periods 40\nnr_throttled 40\nthrottled_time %d\n", 1000*micros))
}

func (l quotaLayout) machine(t testing.TB) (*machine, telemetry.Config) {
	m := newMachine(t)
	m.stat(4, 0, 0)
	if l.v2 {
		m.usage("", 0)
	} else {
		m.write(filepath.Join(m.root, l.hierarchy, "cgroup.procs"), "1\n")
		m.cpuacct("cpuacct", 0)
	}
	c := m.config()
	c.CPU, c.Throttling = telemetry.CPUPressure, true
	return m, c
}

// used sets the CPU time used on all CPUs.
func (l quotaLayout) used(m *machine, micros uint64) {
	if l.v2 {
		m.usage("", micros)
	} else {
		m.cpuacct("cpuacct", 1000*micros)
	}
}

// On every layout: what the limits of a pod and its containers stopped is taken
// from the pressure.
func TestThrottling(t *testing.T) {
	for _, l := range quotaLayouts {
		t.Run(l.name, func(t *testing.T) {
			m, c := l.machine(t)
			l.throttled(m, "", true, 1e6)
			l.throttled(m, l.first, true, 5e6)
			l.throttled(m, l.other, false, 0)
			r := m.reader(c)
			if want := "v1;cpu=pressure-throttling;memory=available"; r.Schema().ID != want {
				t.Errorf("schema %s, want %s", r.Schema().ID, want)
			}
			m.prime(r, start)
			for i, step := range []struct {
				do   func()
				want float64
			}{{
				// 80 ms of one task's, and its CPU ran for the other 20: all of it.
				func() { m.pressure(80_000); l.used(m, 20_000); l.throttled(m, l.first, true, 5e6+80_000) }, 0,
			}, {
				// Its tasks also wait for each other.
				func() { m.pressure(180_000); l.used(m, 40_000); l.throttled(m, l.first, true, 5e6+160_000) }, .2,
			}, {
				// The pod's own limit stops the same tasks: they wait once.
				func() {
					m.pressure(260_000)
					l.used(m, 60_000)
					l.throttled(m, "", true, 1e6+80_000)
					l.throttled(m, l.first, true, 5e6+240_000)
				}, 0,
			}, {
				// Two CPUs stopped for 90 ms each, both run for 10 before.
				func() { m.pressure(350_000); l.used(m, 80_000); l.throttled(m, l.first, true, 5e6+420_000) }, 0,
			}, {
				// All four CPUs are busy and tasks of others wait for them: some of
				// the throttled ones' time would have been pressure anyway.
				func() { m.pressure(430_000); l.used(m, 480_000); l.throttled(m, l.first, true, 5e6+460_000) }, .7 / .9,
			}, {
				// Without throttling it is the plain pressure.
				func() { m.pressure(480_000); l.used(m, 500_000) }, .5,
			}} {
				step.do()
				got := m.sample(r, start.Add(time.Duration(i+1)*period))
				if !cmp.Equal(step.want, got[0], near) {
					t.Errorf("step %d: pressure %v, want %v", i, got[0], step.want)
				}
			}
		})
	}
}

// The kernel adds a stop when it ends, by then a sample or two after the stall:
// what one sample's stall is too short for is taken from the next one, no later.
func TestThrottlingLags(t *testing.T) {
	l := quotaLayouts[0]
	m, c := l.machine(t)
	l.throttled(m, l.first, true, 0)
	r := m.reader(c)
	m.prime(r, start)
	stalled, throttled := uint64(0), uint64(0)
	for i, step := range []struct {
		stalled, throttled uint64
		want               float64
	}{
		{80_000, 0, .8},      // stopped, not yet counted
		{80_000, 160_000, 0}, // counted, twice
		{30_000, 0, 0},       // the rest
		{30_000, 0, .3},      // the rest has expired
	} {
		stalled += step.stalled
		throttled += step.throttled
		m.pressure(stalled)
		l.throttled(m, l.first, true, throttled)
		if got := m.sample(r, start.Add(time.Duration(i+1)*period))[0]; !cmp.Equal(step.want, got, near) {
			t.Errorf("step %d: pressure %v, want %v", i, got, step.want)
		}
	}
}

// Containers come and go; what one throttled before it was found is unknown, a
// limit given later is found later, and none of it fails a sample.
func TestThrottledContainersComeAndGo(t *testing.T) {
	l := quotaLayouts[1]
	m, c := l.machine(t)
	r := m.reader(c)
	m.prime(r, start)
	at, stalled, used := start, uint64(0), uint64(0)
	want := func(step string, after time.Duration, want float64) {
		t.Helper()
		at = at.Add(after)
		stalled += uint64(after.Microseconds()) / 2
		used += uint64(after.Microseconds()) // of one CPU
		m.pressure(stalled)
		l.used(m, used)
		if got := m.sample(r, at)[0]; !cmp.Equal(want, got, near) {
			t.Errorf("%s: pressure %v, want %v", step, got, want)
		}
	}
	want("no kubelet", period, .5)
	l.throttled(m, l.first, true, 700_000)
	l.throttled(m, l.other, false, 0)
	want("found, with a past", time.Second, .5)
	l.throttled(m, l.first, true, 740_000)
	want("throttled", period, .3)
	l.throttled(m, l.first, true, 20)
	want("another of the same name", period, .5)
	l.throttled(m, l.first, true, 40_020)
	want("throttled again", period, .3)
	m.write(filepath.Join(m.root, l.pod, l.first, "cpu.stat"), "usage_usec")
	want("unreadable", period, .5)
	m.remove(filepath.Join(m.root, l.pod, l.first))
	want("gone", time.Second, .5)
	l.throttled(m, l.other, true, 100_000)
	for range 30 {
		want("the other one is not looked at yet or has its base taken", time.Second, .5)
	}
	l.throttled(m, l.other, true, 130_000)
	want("the other one has a limit now", period, .35)
	m.remove(filepath.Join(m.root, "kubepods"))
	want("no kubelet again", time.Second, .5)
}

// Throttling and utilisation both: the correction concerns the pressure alone.
func TestThrottlingOfHalf(t *testing.T) {
	l := quotaLayouts[0]
	m, c := l.machine(t)
	c.CPU = telemetry.CPUHalf
	c.Counter = telemetry.CounterStat
	l.throttled(m, l.first, true, 0)
	r := m.reader(c)
	m.prime(r, start)
	m.stat(4, 20, 20)
	m.pressure(60_000)
	l.throttled(m, l.first, true, 100_000) // one of three CPUs' worth: 1 − .6 = (1 − 1/3)(1 − .4)
	got := m.sample(r, start.Add(period))
	if diff := cmp.Diff([]float64{(.5 + .4) / 2, .4}, got, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "v1;cpu=half-throttling;memory=available"; r.Schema().ID != want {
		t.Errorf("schema %s, want %s", r.Schema().ID, want)
	}
}

func TestThrottlingWithoutPressure(t *testing.T) {
	m := newMachine(t)
	m.remove(filepath.Join(m.proc, "pressure"))
	c := m.config()
	c.Throttling = true
	if id := m.reader(c).Schema().ID; id != "v1;cpu=utilisation;memory=available" {
		t.Errorf("schema %s", id)
	}
	c.CPU = telemetry.CPUPressure
	if _, err := telemetry.NewReader(c); !errors.Is(err, telemetry.ErrNoPressure) {
		t.Errorf("err = %v", err)
	}
}
