package telemetry_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/telemetry"
)

var near = cmpopts.EquateApprox(0, 1e-12)

func TestSample(t *testing.T) {
	for _, tc := range []struct {
		name   string
		config telemetry.Config
		setup  func(m *machine) // before the reader
		step   func(m *machine) // between the two samples, 100 ms apart
		want   []float64        // cpu, memory
		id     string
	}{{
		name: "half of utilisation and of the tasks that wait",
		step: func(m *machine) { m.running = 6; m.stat(4, 30, 10) }, // 5 of others, 3 on a CPU
		want: []float64{(.75 + .5) / 2, .4},
		id:   "v2;cpu=half-runnable;memory=available",
	}, {
		name: "a task on every CPU",
		step: func(m *machine) { m.running = 5; m.stat(4, 40, 0) },
		want: []float64{.5, .4},
		id:   "v2;cpu=half-runnable;memory=available",
	}, {
		name: "three on every CPU are as many as two",
		step: func(m *machine) { m.running = 13; m.stat(4, 40, 0) },
		want: []float64{1, .4},
		id:   "v2;cpu=half-runnable;memory=available",
	}, {
		name: "fewer tasks than busy CPUs have ended since",
		step: func(m *machine) { m.stat(4, 40, 0) },
		want: []float64{.5, .4},
		id:   "v2;cpu=half-runnable;memory=available",
	}, {
		name: "steal is busy",
		step: func(m *machine) { m.running, m.steal = 6, 20; m.stat(4, 10, 10) },
		want: []float64{(.75 + .5) / 2, .4},
		id:   "v2;cpu=half-runnable;memory=available",
	}, {
		name:   "waiting tasks alone",
		config: telemetry.Config{CPU: telemetry.CPUContended},
		step:   func(m *machine) { m.running = 6; m.stat(4, 30, 10) },
		want:   []float64{.5, .4},
		id:     "v2;cpu=runnable;memory=available",
	}, {
		name:   "half of utilisation and pressure",
		config: telemetry.Config{Contention: telemetry.ContentionPressure},
		step:   func(m *machine) { m.running = 6; m.stat(4, 10, 30); m.pressure(50_000) },
		want:   []float64{(.25 + .5) / 2, .4},
		id:     "v2;cpu=half-pressure;memory=available",
	}, {
		name:   "utilisation alone",
		config: telemetry.Config{CPU: telemetry.CPUUtilisation},
		step:   func(m *machine) { m.stat(4, 10, 30); m.pressure(50_000) },
		want:   []float64{.25, .4},
		id:     "v2;cpu=utilisation;memory=available",
	}, {
		name:   "pressure alone",
		config: telemetry.Config{CPU: telemetry.CPUContended, Contention: telemetry.ContentionPressure},
		step:   func(m *machine) { m.stat(4, 10, 30); m.pressure(50_000) },
		want:   []float64{.5, .4},
		id:     "v2;cpu=pressure;memory=available",
	}, {
		name:   "free memory",
		config: telemetry.Config{Memory: telemetry.MemoryFree},
		step:   func(m *machine) { m.stat(4, 0, 40); m.meminfo(1000, 400) },
		want:   []float64{0, 1 - .230},
		id:     "v2;cpu=half-runnable;memory=free",
	}, {
		name:   "no pressure information",
		config: telemetry.Config{Contention: telemetry.ContentionPressure},
		setup:  func(m *machine) { os.RemoveAll(filepath.Join(m.proc, "pressure")) },
		step:   func(m *machine) { m.running = 9; m.stat(4, 30, 10) },
		want:   []float64{.75, .4},
		id:     "v2;cpu=utilisation;memory=available",
	}, {
		name:  "cgroup v2 counts microseconds",
		setup: func(m *machine) { m.usage("", 7) },
		step:  func(m *machine) { m.usage("", 100_007); m.stat(4, 40, 0) },
		want:  []float64{.25 / 2, .4},
		id:    "v2;cpu=half-runnable;memory=available",
	}, {
		name:  "hybrid layout",
		setup: func(m *machine) { m.usage("unified", 0) },
		step:  func(m *machine) { m.usage("unified", 200_000); m.stat(4, 40, 0) },
		want:  []float64{.5 / 2, .4},
		id:    "v2;cpu=half-runnable;memory=available",
	}, {
		name:  "cpuacct counts nanoseconds and comes first",
		setup: func(m *machine) { m.usage("unified", 0); m.cpuacct("cpu,cpuacct", 5) },
		step:  func(m *machine) { m.usage("unified", 200_000); m.cpuacct("cpu,cpuacct", 100_000_005); m.stat(4, 40, 0) },
		want:  []float64{.25 / 2, .4},
		id:    "v2;cpu=half-runnable;memory=available",
	}, {
		name:   "cgroup v2 on request",
		config: telemetry.Config{Counter: telemetry.CounterCgroup},
		setup:  func(m *machine) { m.usage("unified", 0); m.cpuacct("cpuacct", 5) },
		step:   func(m *machine) { m.usage("unified", 200_000); m.cpuacct("cpuacct", 100_000_005) },
		want:   []float64{.5 / 2, .4},
		id:     "v2;cpu=half-runnable;memory=available",
	}, {
		name: "a container's own cpuacct is not the machine's",
		setup: func(m *machine) {
			m.cpuacct("cpuacct", 0)
			m.remove(filepath.Join(m.root, "cpuacct/cgroup.sane_behavior"))
		},
		step: func(m *machine) {
			m.write(filepath.Join(m.root, "cpuacct/cpuacct.usage"), "100000000\n")
			m.stat(4, 40, 0)
		},
		want: []float64{1. / 2, .4},
		id:   "v2;cpu=half-runnable;memory=available",
	}, {
		name:   "/proc/stat on request",
		config: telemetry.Config{Counter: telemetry.CounterStat},
		setup:  func(m *machine) { m.usage("", 0) },
		step:   func(m *machine) { m.usage("", 100_000); m.stat(4, 40, 0) },
		want:   []float64{1. / 2, .4},
		id:     "v2;cpu=half-runnable;memory=available",
	}, {
		name: "a container's own cgroup is not the machine",
		setup: func(m *machine) {
			m.usage("", 0)
			m.write(filepath.Join(m.root, "cgroup.type"), "domain\n")
		},
		step: func(m *machine) { m.usage("", 100_000); m.stat(4, 40, 0) },
		want: []float64{1. / 2, .4},
		id:   "v2;cpu=half-runnable;memory=available",
	}, {
		name:  "never above 1",
		setup: func(m *machine) { m.usage("", 0) },
		step:  func(m *machine) { m.usage("", 500_000); m.running = 13; m.stat(4, 40, 0) },
		want:  []float64{1, .4},
		id:    "v2;cpu=half-runnable;memory=available",
	}} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMachine(t)
			if tc.setup != nil {
				tc.setup(m)
			}
			config := m.config()
			config.CPU, config.Memory, config.Counter = tc.config.CPU, tc.config.Memory, tc.config.Counter
			config.Contention = tc.config.Contention
			r := m.reader(config)
			m.prime(r, start)
			tc.step(m)
			got := m.sample(r, start.Add(period))
			if diff := cmp.Diff(tc.want, got, near); diff != "" {
				t.Errorf("sample (-want +got):\n%s", diff)
			}
			want := telemetry.Schema{ID: tc.id, Channels: []string{"cpu", "memory"}}
			if diff := cmp.Diff(want, r.Schema()); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]float64{4, 1000 << 10}, r.Sizes()); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
		})
	}
}

// An untrustworthy sample is dropped with a reason and leaves dst alone; after one good reading all
// is well.
func TestDroppedSample(t *testing.T) {
	for _, tc := range []struct {
		name  string
		usage bool // count in cgroup v2

		contention telemetry.CPUContention

		step    func(m *machine)
		after   time.Duration
		repair  func(m *machine)
		channel string
		err     error
		cause   string
	}{{
		name: "busy time backwards", after: period,
		step:    func(m *machine) { m.stat(4, 50, 200) },
		repair:  func(m *machine) { m.stat(4, 60, 230) },
		channel: "cpu", err: telemetry.ErrBackwards, cause: "backwards",
	}, {
		name: "idle time backwards", after: period,
		step:    func(m *machine) { m.stat(4, 200, 50) },
		repair:  func(m *machine) { m.stat(4, 210, 80) },
		channel: "cpu", err: telemetry.ErrBackwards, cause: "backwards",
	}, {
		name: "usage backwards", after: period, usage: true,
		step:    func(m *machine) { m.usage("", 10) },
		repair:  func(m *machine) { m.usage("", 100_010) },
		channel: "cpu", err: telemetry.ErrBackwards, cause: "backwards",
	}, {
		name: "stall time backwards", after: period, usage: true, contention: telemetry.ContentionPressure,
		step:    func(m *machine) { m.pressure(0) },
		repair:  func(m *machine) { m.usage("", 1_100_000) },
		channel: "cpu", err: telemetry.ErrBackwards, cause: "backwards",
	}, {
		name: "partial line", after: period,
		step:    func(m *machine) { m.write(filepath.Join(m.proc, "stat"), "cpu  100 0 0 1") },
		repair:  func(m *machine) { m.stat(4, 120, 160) },
		channel: "cpu", err: telemetry.ErrPartial, cause: "partial",
	}, {
		name: "malformed", after: period,
		step: func(m *machine) {
			m.stat(4, 110, 130)
			m.write(filepath.Join(m.proc, "meminfo"), "MemTotal: many kB\n")
		},
		repair:  func(m *machine) { m.meminfo(1000, 600); m.stat(4, 120, 160) },
		channel: "memory", err: telemetry.ErrMalformed, cause: "malformed",
	}, {
		name: "no MemAvailable", after: period,
		step: func(m *machine) {
			m.stat(4, 110, 130)
			m.write(filepath.Join(m.proc, "meminfo"), "MemTotal: 9 kB\nMemFree: 1 kB\nBuffers: 1 kB\nCached: 1 kB\n")
		},
		repair:  func(m *machine) { m.meminfo(1000, 600); m.stat(4, 120, 160) },
		channel: "memory", err: telemetry.ErrPartial, cause: "partial",
	}, {
		name: "no ticks", after: period,
		step:    func(m *machine) {},
		repair:  func(m *machine) { m.stat(4, 110, 130) },
		channel: "cpu", err: telemetry.ErrNoInterval, cause: "no-interval",
	}, {
		name: "no time", after: 0,
		step:    func(m *machine) { m.stat(4, 101, 101) },
		repair:  func(m *machine) { m.stat(4, 111, 131) },
		channel: "cpu", err: telemetry.ErrNoInterval, cause: "no-interval",
	}, {
		name: "clock set back", after: -time.Hour, usage: true,
		step:    func(m *machine) { m.usage("", 1_100_000) },
		repair:  func(m *machine) { m.usage("", 1_200_000) },
		channel: "cpu", err: telemetry.ErrNoInterval, cause: "no-interval",
	}, {
		name: "suspended", after: time.Hour,
		step:    func(m *machine) { m.stat(4, 300, 300) },
		repair:  func(m *machine) { m.stat(4, 310, 330) },
		channel: "cpu", err: telemetry.ErrLongInterval, cause: "long-interval",
	}, {
		name: "steal backwards", after: period,
		step:    func(m *machine) { m.steal = 40; m.stat(4, 110, 130) },
		repair:  func(m *machine) { m.stat(4, 120, 160) },
		channel: "cpu", err: telemetry.ErrBackwards, cause: "backwards",
	}, {
		name: "steal backwards beside a cgroup's counter", after: period, usage: true,
		step:    func(m *machine) { m.usage("", 1_100_000); m.steal = 40; m.stat(4, 110, 130) },
		repair:  func(m *machine) { m.usage("", 1_200_000); m.steal = 50; m.stat(4, 120, 160) },
		channel: "cpu", err: telemetry.ErrBackwards, cause: "backwards",
	}, {
		name: "CPU unplugged", after: period,
		step:    func(m *machine) { m.stat(3, 110, 110) },
		repair:  func(m *machine) { m.stat(3, 120, 140) },
		channel: "cpu", err: telemetry.ErrResized, cause: "resized",
	}, {
		name: "CPU plugged", after: period,
		step:    func(m *machine) { m.stat(8, 110, 130) },
		repair:  func(m *machine) { m.stat(8, 120, 160) },
		channel: "cpu", err: telemetry.ErrResized, cause: "resized",
	}, {
		name: "CPU unplugged under a cgroup's counter", after: period, usage: true,
		step:    func(m *machine) { m.stat(3, 110, 110); m.usage("", 1_100_000) },
		repair:  func(m *machine) { m.stat(3, 120, 140); m.usage("", 1_200_000) },
		channel: "cpu", err: telemetry.ErrResized, cause: "resized",
	}, {
		name: "clock set ahead", after: 10 * time.Second, usage: true,
		step:    func(m *machine) { m.usage("", 1_100_000) },
		repair:  func(m *machine) { m.usage("", 1_200_000) },
		channel: "cpu", err: telemetry.ErrLongInterval, cause: "long-interval",
	}} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMachine(t)
			m.steal = 45
			m.stat(4, 100, 100)
			m.pressure(1000)
			if tc.usage {
				m.usage("", 1_000_000)
			}
			config := m.config()
			config.Contention = tc.contention
			r := m.reader(config)
			dst := []float64{-1, -2}
			if _, err := r.SampleTo(dst, start); !errors.Is(err, telemetry.ErrPriming) {
				t.Fatal(err)
			}
			tc.step(m)
			_, err := r.SampleTo(dst, start.Add(tc.after))
			var channel *telemetry.ChannelError
			if !errors.As(err, &channel) || !errors.Is(err, tc.err) || channel.Channel != tc.channel {
				t.Fatalf("err = %v, want *ChannelError of %s: %v", err, tc.channel, tc.err)
			}
			if channel.Cause() != tc.cause {
				t.Errorf("cause = %s, want %s", channel.Cause(), tc.cause)
			}
			if !slices.Equal(dst, []float64{-1, -2}) {
				t.Errorf("dst = %v, changed by an error", dst)
			}
			tc.repair(m)
			got, err := r.SampleTo(dst, start.Add(tc.after+period))
			if err != nil {
				t.Fatalf("after repair: %v", err)
			}
			for i, y := range got {
				if math.IsNaN(y) || y < 0 || y > 1 {
					t.Errorf("channel %d = %v", i, y)
				}
			}
			if want := .125; !tc.usage && math.Abs(got[0]-want) > .06 {
				t.Errorf("cpu = %v, want about %v: the bad sample leaked", got[0], want)
			}
		})
	}
}

// A task that runs half of the time is seen as one or as none; that is no waiting. The last five
// readings count, none across a dropped sample.
func TestWaitingIsAveraged(t *testing.T) {
	m := newMachine(t)
	c := m.config()
	c.CPU = telemetry.CPUContended
	r := m.reader(c)
	m.prime(r, start)
	at, busy, idle := start, uint64(0), uint64(0)
	for i, step := range []struct {
		others uint64  // runnable
		want   float64 // (mean others − 2)/4: half of the 4 CPUs are busy
	}{
		{4, .5}, {0, 0}, {4, 1. / 6}, {4, .25}, {0, .1}, {0, 0}, {6, .2}, {6, .3}, {6, .4}, {6, .7}, {6, 1}, {9, 1}, {0, .85},
	} {
		at, busy, idle = at.Add(period), busy+20, idle+20
		m.running = 1 + step.others
		m.stat(4, busy, idle)
		if got := m.sample(r, at)[0]; math.Abs(got-step.want) > 1e-12 {
			t.Errorf("sample %d: %v, want %v", i, got, step.want)
		}
	}
	at = at.Add(time.Hour)
	if _, err := r.SampleTo(nil, at); !errors.Is(err, telemetry.ErrLongInterval) {
		t.Fatalf("err = %v", err)
	}
	m.running = 4
	m.stat(4, busy+20, idle+20)
	if got := m.sample(r, at.Add(period))[0]; got != .25 {
		t.Errorf("after a gap: %v, want .25", got)
	}
}

// With steal or without, a loop on one of four CPUs keeps a quarter of them busy, by either
// counter: in cpuacct and in the newer cpu.stat it has run for less.
func TestStealInEveryCounter(t *testing.T) {
	const lived = 1000                            // ticks of each since the start
	for _, steal := range []uint64{0, 2, 5, 20} { // % of the loop's CPU
		for name, tc := range map[string]struct {
			counter telemetry.CPUCounter
			used    func(m *machine, ran, stolen uint64) // ticks
		}{
			"stat":           {telemetry.CounterStat, func(*machine, uint64, uint64) {}},
			"cpuacct":        {telemetry.CounterCpuacct, func(m *machine, ran, _ uint64) { m.cpuacct("cpuacct", ran*10_000_000) }},
			"cgroup":         {telemetry.CounterCgroup, func(m *machine, ran, _ uint64) { m.usage("", ran*10_000) }},
			"cgroup of 6.14": {telemetry.CounterCgroup, func(m *machine, ran, stolen uint64) { m.usage("", (ran+stolen)*10_000) }},
		} {
			t.Run(fmt.Sprintf("%s, %d %%", name, steal), func(t *testing.T) {
				m := newMachine(t)
				write := func(seconds uint64) {
					m.steal = lived + seconds*steal
					ran := lived + seconds*(100-steal)
					m.stat(4, ran, lived+300*seconds)
					tc.used(m, ran, m.steal)
				}
				write(0)
				c := m.config()
				c.Counter, c.CPU = tc.counter, telemetry.CPUUtilisation
				r := m.reader(c)
				m.prime(r, start)
				write(1)
				if got := m.sample(r, start.Add(time.Second)); !cmp.Equal([]float64{.25, .4}, got, near) {
					t.Errorf("%v, want a quarter of the CPU", got)
				}
			})
		}
	}
}

func TestNewReaderErrors(t *testing.T) {
	for _, tc := range []struct {
		name  string
		setup func(m *machine, c *telemetry.Config)
		err   error
	}{
		{"no /proc/stat", func(m *machine, c *telemetry.Config) { os.Remove(filepath.Join(m.proc, "stat")) }, fs.ErrNotExist},
		{"no /proc/meminfo", func(m *machine, c *telemetry.Config) { os.Remove(filepath.Join(m.proc, "meminfo")) }, fs.ErrNotExist},
		{"pressure mode without pressure", func(m *machine, c *telemetry.Config) {
			os.RemoveAll(filepath.Join(m.proc, "pressure"))
			c.CPU, c.Contention = telemetry.CPUContended, telemetry.ContentionPressure
		}, telemetry.ErrNoPressure},
		{"cgroup counter without cgroup v2", func(m *machine, c *telemetry.Config) { c.Counter = telemetry.CounterCgroup }, fs.ErrNotExist},
		{"cpuacct counter without cgroup v1", func(m *machine, c *telemetry.Config) { c.Counter = telemetry.CounterCpuacct }, fs.ErrNotExist},
		{"no memory pressure", func(m *machine, c *telemetry.Config) { c.Channels.MemoryPressure = true }, telemetry.ErrNoPressure},
		{"no io pressure", func(m *machine, c *telemetry.Config) { c.Channels.IO = true }, telemetry.ErrNoPressure},
		{"malformed pressure", func(m *machine, c *telemetry.Config) {
			m.write(filepath.Join(m.proc, "pressure", "cpu"), "some\n")
			c.Contention = telemetry.ContentionPressure
		}, telemetry.ErrMalformed},
		{"no list of interfaces", func(m *machine, c *telemetry.Config) { c.Channels.Network = true }, fs.ErrNotExist},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMachine(t)
			c := m.config()
			tc.setup(m, &c)
			_, err := telemetry.NewReader(c)
			var channel *telemetry.ChannelError
			if !errors.As(err, &channel) || !errors.Is(err, tc.err) {
				t.Errorf("err = %v, want *ChannelError: %v", err, tc.err)
			}
		})
	}
}

func TestConfigValidate(t *testing.T) {
	for field, c := range map[string]telemetry.Config{
		"CPU":         {CPU: "most"},
		"Memory":      {Memory: "most"},
		"Counter":     {Counter: "most"},
		"Contention":  {Contention: "most"},
		"LinkSpeed":   {LinkSpeed: math.NaN()},
		"MaxInterval": {MaxInterval: -1},
	} {
		_, err := telemetry.NewReader(c)
		var f *telemetry.FieldError
		if !errors.As(err, &f) || f.Field != field || !errors.Is(err, telemetry.ErrInvalid) {
			t.Errorf("%+v: err = %v, want *FieldError of %s", c, err, field)
		}
	}
	if err := (telemetry.Config{}).Validate(); err != nil {
		t.Error(err)
	}
}

// A dst of any length holds one value a channel afterwards.
func TestSampleToLength(t *testing.T) {
	m := newMachine(t)
	r := m.reader(m.config())
	m.prime(r, start)
	for n := range 4 {
		m.stat(4, uint64(n+1), uint64(n+1))
		got, err := r.SampleTo(make([]float64, n), start.Add(time.Duration(n+1)*period))
		if err != nil || len(got) != 2 {
			t.Errorf("SampleTo of length %d = %v, %v", n, got, err)
		}
	}
}

func TestSizesFollowTheMachine(t *testing.T) {
	t.Cleanup(telemetry.WaitForSpeeds())
	m := newMachine(t)
	m.usage("", 0) // that no tick passed is no error then
	m.interfaces("eth0")
	m.link("eth0", "1000", "up", 0, 0)
	c := m.config()
	c.Channels.Network, c.MaxInterval = true, time.Minute
	r := m.reader(c)
	m.prime(r, start)
	at := start
	for _, step := range []struct {
		name    string
		do      func()
		resized bool
		sizes   []float64
	}{
		{"nothing changed", func() {}, false, []float64{4, 1000 << 10, 1.25e8}},
		{"CPUs plugged", func() { m.stat(16, 0, 0) }, true, []float64{16, 1000 << 10, 1.25e8}},
		{"memory plugged", func() { m.meminfo(4000, 600) }, false, []float64{16, 4000 << 10, 1.25e8}},
		{"CPUs unplugged", func() { m.stat(2, 0, 0) }, true, []float64{2, 4000 << 10, 1.25e8}},
		{"memory unplugged", func() { m.meminfo(2000, 600) }, false, []float64{2, 2000 << 10, 1.25e8}},
		{"a faster link", func() {
			at = at.Add(time.Second) // links are looked for once a second
			m.link("eth0", "10000", "up", 0, 0)
			m.write(m.linkFile("eth0", "carrier_changes"), "4\n")
		}, true, []float64{2, 2000 << 10, 1.25e9}},
	} {
		at = at.Add(period)
		step.do()
		_, err := r.SampleTo(nil, at)
		if resized := errors.Is(err, telemetry.ErrResized); resized != step.resized || !resized && err != nil {
			t.Errorf("%s: err = %v", step.name, err)
		}
		if got := r.Sizes(); !slices.Equal(got, step.sizes) {
			t.Errorf("%s: sizes %v, want %v", step.name, got, step.sizes)
		}
	}
	dst := make([]float64, 0, 3)
	if allocs := testing.AllocsPerRun(100, func() { dst = r.SizesTo(dst) }); allocs != 0 {
		t.Errorf("SizesTo allocates %v times", allocs)
	}
}

// This is a recorded machine: 2 CPUs, Linux 6.18, hybrid cgroups, and a virtio link that does not
// report its speed.
func TestRecordedMachine(t *testing.T) {
	config := telemetry.Config{
		ProcRoot:   "testdata/linux-6.18-hybrid/proc",
		SysRoot:    "testdata/linux-6.18-hybrid/sys",
		CgroupRoot: "testdata/linux-6.18-hybrid/cgroup",
		Channels:   telemetry.Channels{MemoryPressure: true, IO: true, Network: true},
	}
	_, err := telemetry.NewReader(config)
	if !errors.Is(err, telemetry.ErrNoLinkSpeed) || !strings.Contains(err.Error(), `["eth0"]`) {
		t.Errorf("err = %v, want ErrNoLinkSpeed of eth0", err)
	}
	config.LinkSpeed = 1.25e8
	r, err := telemetry.NewReader(config)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Counter() != telemetry.CounterCpuacct || !r.Pressure() {
		t.Errorf("counter %v, pressure %v", r.Counter(), r.Pressure())
	}
	if diff := cmp.Diff([]float64{2, 24684096 << 10, 1, 1, 1.25e8}, r.Sizes()); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}
