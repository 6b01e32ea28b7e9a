package telemetry_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// leap is the amount by which totals of pressure jump on some kernels: 2^32 ns.
const leap = 4_294_967 // µs

// TestLeapsAreRefused: a time counter cannot grow by more than the elapsed time, wall time once and
// CPU time once for each CPU. The sample is refused, and the next one is right.
func TestLeapsAreRefused(t *testing.T) {
	pressure := telemetry.Config{Contention: telemetry.ContentionPressure}
	all := telemetry.Config{Channels: telemetry.Channels{MemoryPressure: true, IO: true}}
	for name, tc := range map[string]struct {
		config telemetry.Config
		setup  func(m *machine)
		leap   func(m *machine, cpus int)
		file   string
		want   error
	}{
		"pressure of the CPU": {pressure, nil, func(m *machine, _ int) { m.pressure(leap) }, "pressure/cpu", telemetry.ErrLeap},
		"pressure of memory":  {all, nil, func(m *machine, _ int) { m.stall("memory", leap) }, "pressure/memory", telemetry.ErrLeap},
		"pressure of devices": {all, nil, func(m *machine, _ int) { m.stall("io", leap) }, "pressure/io", telemetry.ErrLeap},
		"a total beyond any uptime": {pressure, nil, func(m *machine, _ int) { m.pressure(1<<64 - 4096) },
			"pressure/cpu", telemetry.ErrLeap},
		"CPU time of the cgroup": {telemetry.Config{}, func(m *machine) { m.usage("", 5) },
			func(m *machine, cpus int) { m.usage("", uint64(cpus)*leap) }, "cpu.stat", telemetry.ErrLeap},
		"CPU time of cpuacct": {telemetry.Config{}, func(m *machine) { m.cpuacct("cpuacct", 5) },
			func(m *machine, cpus int) { m.cpuacct("cpuacct", 1<<63) }, "cpuacct.usage", telemetry.ErrLeap},
		"ticks of the machine": {telemetry.Config{}, nil, func(m *machine, cpus int) { m.stat(cpus, 1<<32, 0) }, "stat", telemetry.ErrLeap},
		"ticks without work":   {telemetry.Config{}, nil, func(m *machine, cpus int) { m.stat(cpus, 0, 1<<32) }, "stat", telemetry.ErrLeap},
		"stolen ticks": {telemetry.Config{}, func(m *machine) { m.usage("", 5) },
			func(m *machine, cpus int) { m.steal = 1 << 40; m.stat(cpus, 1<<40, 0) }, "stat", telemetry.ErrLeap},
		"more tasks than there can be": {telemetry.Config{}, nil, func(m *machine, cpus int) { m.running = 1 << 23; m.stat(cpus, 0, uint64(10*cpus)) },
			"stat", telemetry.ErrMalformed},
	} {
		for _, cpus := range []int{4, 16, 64} {
			t.Run(fmt.Sprintf("%s/cpus=%d", name, cpus), func(t *testing.T) {
				m := newMachine(t)
				m.stat(cpus, 0, 0)
				for _, resource := range []string{"cpu", "memory", "io"} {
					m.stall(resource, 0)
				}
				if tc.setup != nil {
					tc.setup(m)
				}
				config := m.config()
				config.Contention, config.Channels = tc.config.Contention, tc.config.Channels
				r := m.reader(config)
				m.prime(r, start)
				m.stat(cpus, 0, uint64(10*cpus))
				tc.leap(m, cpus)
				_, err := r.SampleTo(nil, start.Add(period))
				channels := telemetry.ChannelErrors(err)
				if !errors.Is(err, tc.want) || len(channels) != 1 || !strings.HasSuffix(channels[0].Path, tc.file) {
					t.Fatalf("%v, want %v of %s", err, tc.want, tc.file)
				}
				if tc.file == "stat" {
					return
				}
				m.stat(cpus, 0, uint64(20*cpus))
				if cpu := m.sample(r, start.Add(2*period))[0]; cpu != 0 {
					t.Errorf("an idle machine's CPU is at %g after the leap", cpu)
				}
			})
		}
	}
}

// TestUnusedFieldsCostNothing: a malformed field fails only the channels that need it.
func TestUnusedFieldsCostNothing(t *testing.T) {
	const stat = "cpu  %s\ncpu0 1 2 3 4\ncpu1 x\ncpu2\ncpu3 1\nintr -5\n%s"
	const meminfo = "MemTotal: 1000 kB\nMemFree: 1004 kB\nMemAvailable: 600 kB\nBuffers: -4 kB\nCached: 20\n"
	psi := telemetry.Config{Contention: telemetry.ContentionPressure}
	for name, tc := range map[string]struct {
		config       telemetry.Config
		usage        bool
		stat, second string
		meminfo      string
	}{
		"times of a machine with a finer counter": {usage: true,
			stat: fmt.Sprintf(stat, "-1 2 4 8 18446744073709551615 32 64 0 x", "procs_running 1\n")},
		"times whose sum overflows": {usage: true,
			stat: fmt.Sprintf(stat, "18446744073709551615 2 4 18446744073709551615 18446744073709551615 32 64 0", "procs_running 1\n")},
		"guest times":                       {stat: fmt.Sprintf(stat, "0 0 0 0 0 0 0 0 -1 x", "procs_running 1\n"), second: fmt.Sprintf(stat, "20 0 0 20 0 0 0 0 -2 y", "procs_running 3\n")},
		"a newer kernel's columns":          {stat: fmt.Sprintf(stat, "0 0 0 0 0 0 0 0 0 0 z", "procs_running 1\n"), second: fmt.Sprintf(stat, "20 0 0 20 0 0 0 0 0 0 z", "procs_running 3\n")},
		"waiting for devices runs back":     {stat: fmt.Sprintf(stat, "0 0 0 0 9 0 0 0", "procs_running 1\n"), second: fmt.Sprintf(stat, "20 0 0 20 8 0 0 0", "procs_running 3\n")},
		"running tasks where PSI counts":    {config: psi, usage: true, stat: fmt.Sprintf(stat, "0 0 0 0", "procs_running x\n")},
		"no running tasks where PSI counts": {config: psi, usage: true, stat: fmt.Sprintf(stat, "0 0 0 0", "")},
		"two characters end a line": {stat: strings.ReplaceAll(fmt.Sprintf(stat, "0 0 0 0", "procs_running 1\n"), "\n", "\r\n"),
			second: strings.ReplaceAll(fmt.Sprintf(stat, "20 0 0 20", "procs_running 3\n"), "\n", "\r\n")},
		"zeros after the end":     {stat: fmt.Sprintf(stat, "0 0 0 0", "procs_running 1\n\x00\x00"), second: fmt.Sprintf(stat, "20 0 0 20", "procs_running 3\n\x00\x00")},
		"thousands of interrupts": {stat: fmt.Sprintf(stat, "0 0 0 0", "softirq"+strings.Repeat(" 1", 100_000)+"\nprocs_running 1\n"), second: fmt.Sprintf(stat, "20 0 0 20", "procs_running 3\n")},
		"kinds of memory":         {usage: true, stat: fmt.Sprintf(stat, "0 0 0 0", "procs_running 1\n"), meminfo: meminfo},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			if tc.usage {
				m.usage("", 0)
			}
			if tc.meminfo != "" {
				m.write(filepath.Join(m.proc, "meminfo"), tc.meminfo)
			}
			path := filepath.Join(m.proc, "stat")
			m.write(path, tc.stat)
			config := m.config()
			config.Contention = tc.config.Contention
			r := m.reader(config)
			m.prime(r, start)
			if tc.usage { // half of four CPUs, and a task that waits for each, or half of the time
				m.usage("", 200_000)
				m.pressure(50_000)
				m.write(path, strings.Replace(tc.stat, "procs_running 1", "procs_running 5", 1))
			} else {
				m.write(path, tc.second)
			}
			got := m.sample(r, start.Add(period))
			if got[1] != .4 {
				t.Errorf("memory %g, want .4", got[1])
			}
			if want := .25; got[0] < want || got[0] > .5 {
				t.Errorf("cpu %g, want half of it used and at most half of it waited for", got[0])
			}
		})
	}
}

// TestReclaimableCacheIsFree: ZFS can give back all of its cache except its floor.
func TestReclaimableCacheIsFree(t *testing.T) {
	for name, tc := range map[string]struct {
		stats string
		want  float64
	}{
		"none":                       {"", .4},
		"a cache":                    {"13 1 0x01 123 4567 1 2\nname type data\nhits 4 7\nsize                            4    307200\nc_min 4 102400\nc_max 4 9\n", .2},
		"no floor":                   {"size 4 307200\n", .4},
		"all of it":                  {"size 4 307200\nc_min 4 0\n", .1},
		"floor":                      {"size 4 102400\nc_min 4 307200\n", .4},
		"malformed":                  {"size 4 -1\nc_min 4 1\n", .4},
		"absurd":                     {"size 4 18446744073709551615\nc_min 4 1\n", .4},
		"the host's, in a container": {"size 4 68719476736\nc_min 4 1073741824\n", .4},
		"as large as the machine":    {"size 4 1024000\nc_min 4 0\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t) // 1000 KiB, 600 of them available
			if tc.stats != "" {
				m.write(filepath.Join(m.proc, "spl/kstat/zfs/arcstats"), tc.stats)
			}
			r := m.reader(m.config())
			m.prime(r, start)
			m.stat(4, 0, 40)
			if got := m.sample(r, start.Add(period))[1]; got < tc.want-1e-9 || got > tc.want+1e-9 {
				t.Errorf("memory %g, want %g", got, tc.want)
			}
		})
	}
}

// TestClocksAndSuspends: an interval of hours, of zero or backwards is refused.
func TestClocksAndSuspends(t *testing.T) {
	m := newMachine(t)
	r := m.reader(m.config())
	m.prime(r, start)
	m.stat(4, 0, 40)
	for _, step := range []struct {
		at   time.Time
		want error
	}{
		{start.Add(5 * time.Hour), telemetry.ErrLongInterval},
		{start.Add(4 * time.Hour), telemetry.ErrNoInterval},
		{start.Add(4 * time.Hour), telemetry.ErrNoInterval},
	} {
		if _, err := r.SampleTo(nil, step.at); !errors.Is(err, step.want) {
			t.Errorf("%v, want %v", err, step.want)
		}
	}
	m.stat(4, 20, 60)
	if got := m.sample(r, start.Add(4*time.Hour+period))[0]; got != .25 {
		t.Errorf("cpu %g, want .25", got)
	}
}

// TestIdleTimeThatStandsStill: with lxcfs an idle machine can look full, so it is not measured; a
// full one is.
func TestIdleTimeThatStandsStill(t *testing.T) {
	for _, cpus := range []int{4, 16, 64} {
		m := newMachine(t)
		m.stat(cpus, 0, 1000)
		r := m.reader(m.config())
		m.prime(r, start)
		m.stat(cpus, uint64(cpus), 1000) // a tenth of the time
		if _, err := r.SampleTo(nil, start.Add(period)); !errors.Is(err, telemetry.ErrStuck) {
			t.Errorf("%d CPUs: %v, want %v", cpus, err, telemetry.ErrStuck)
		}
		m.running = uint64(cpus) + 1
		m.stat(cpus, uint64(11*cpus), 1000) // all of it
		if got := m.sample(r, start.Add(2*period))[0]; got != .5 {
			t.Errorf("%d CPUs, all busy: %g", cpus, got)
		}
	}
}

// TestCPUTimeThatStandsStill: idle time grows too, so that not all of /proc/stat stands still for a
// second, and a counter of CPU time does not while tasks run according to /proc/stat. An idle
// machine's counter may.
func TestCPUTimeThatStandsStill(t *testing.T) {
	usage := func(m *machine, micros uint64) { m.usage("", 5+micros) }
	cpuacct := func(m *machine, micros uint64) { m.cpuacct("cpuacct", 5+1000*micros) }
	for name, tc := range map[string]struct {
		used       func(m *machine, micros uint64)
		busy, idle uint64 // ticks in a tenth of a second, of 4 CPUs
		file       string // "": the machine is idle
	}{
		"a cgroup's, while a task runs":     {usage, 10, 30, "cpu.stat"},
		"a cgroup's, while all CPUs do":     {usage, 40, 0, "cpu.stat"},
		"cpuacct's, while a task runs":      {cpuacct, 10, 30, "cpuacct.usage"},
		"a cgroup's, and all of /proc/stat": {usage, 0, 0, "stat"},
		"a cgroup's of an idle machine":     {usage, 0, 40, ""},
		"cpuacct's of an idle machine":      {cpuacct, 0, 40, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			tc.used(m, 0)
			c := m.config()
			c.CPU = telemetry.CPUUtilisation
			r := m.reader(c)
			m.prime(r, start)
			var busy, idle uint64
			at := start
			next := func() ([]float64, error) {
				at = at.Add(period)
				m.stat(4, busy, idle)
				return r.SampleTo(nil, at)
			}
			for range 30 {
				busy, idle = busy+tc.busy, idle+tc.idle
				got, err := next()
				switch stands := at.Sub(start) >= time.Second; {
				case tc.file == "" && (err != nil || got[0] != 0):
					t.Fatalf("idle for %v: %v, %v", at.Sub(start), got, err)
				case tc.file != "" && stands && !errors.Is(err, telemetry.ErrStuck):
					t.Fatalf("after %v: %v, %v, want %v", at.Sub(start), got, err, telemetry.ErrStuck)
				case tc.file != "" && stands && !strings.HasSuffix(telemetry.ChannelErrors(err)[0].Path, tc.file):
					t.Fatalf("%v does not name %s", err, tc.file)
				}
			}
			// It counts again: two of four CPUs.
			busy, idle = busy+20, idle+20
			tc.used(m, 200_000)
			if got, err := next(); err != nil || got[0] != .5 {
				t.Errorf("afterwards %v, %v, want .5", got, err)
			}
		})
	}
}

// TestStatThatStandsStill: without a finer counter, nothing is known either.
func TestStatThatStandsStill(t *testing.T) {
	m := newMachine(t)
	m.stat(4, 100, 900)
	r := m.reader(m.config())
	m.prime(r, start)
	for i := range 20 {
		_, err := r.SampleTo(nil, start.Add(time.Duration(i+1)*period))
		want := telemetry.ErrNoInterval
		if i >= 9 {
			want = telemetry.ErrStuck
		}
		if !errors.Is(err, want) {
			t.Errorf("after %d periods: %v, want %v", i+1, err, want)
		}
	}
}

// TestMalformedColumnIsNoStandstill: a column that cannot be read does not show whether time
// passes, and the counter of an idle machine may stand still.
func TestMalformedColumnIsNoStandstill(t *testing.T) {
	m := newMachine(t)
	m.usage("", 5)
	c := m.config()
	c.CPU = telemetry.CPUUtilisation
	m.write(filepath.Join(m.proc, "stat"), "cpu  1 2 4 -8\ncpu0 1\nprocs_running 1\n")
	r := m.reader(c)
	m.prime(r, start)
	for i := range 30 {
		if got := m.sample(r, start.Add(time.Duration(i+1)*period)); got[0] != 0 {
			t.Fatalf("%v, want an idle machine", got)
		}
	}
}
