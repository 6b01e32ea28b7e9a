package telemetry_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// layout is a kernel and its node's set-up. Its files are complete, so that a parser meets every
// line that it must skip.
type layout struct {
	name string
	cpus int
	// online is the list of CPUs, when not all are.
	online string
	// available: MemAvailable is in meminfo (3.14 on).
	available bool
	// psi: pressure stall information (4.20 on); full: also the line "full" for
	// cpu (5.13 on).
	psi, full bool
	// cgroups are v1, v2, hybrid, none or container (v2, seen from a cgroup
	// namespace); controller is v1's directory of cpu and cpuacct.
	cgroups, controller string
	// rootStat: the root of v2 has cpu.stat (5.8 on), with these lines more;
	// rootSteal: steal is part of it (until 6.14).
	rootStat, rootSteal bool
	statLines           string
	// running is the number of runnable tasks, the reader's own included.
	running int
	links   []nic

	config telemetry.Config
	want   expected
}

// nic is an interface with a device; in the interval it carries a share of its capacity in one
// direction.
type nic struct {
	name, speed, state string
	whole, share       float64 // bytes/s
}

type expected struct {
	id       string
	counter  telemetry.CPUCounter
	pressure bool
	sizes    []float64
	values   []float64
}

const (
	// interval is long enough for whole ticks on one CPU.
	interval = 400 * time.Millisecond

	utilised, waited, waitedMemory, waitedIO = .25, .5, .1, .2
)

var all = telemetry.Channels{MemoryPressure: true, IO: true, Network: true}

// perCPU is the memory for each CPU in bytes, 4,000,000 KiB: its shares are whole.
const perCPU = 4_000_000 << 10

var layouts = []layout{{
	name: "3.10 with v1: no MemAvailable, no pressure", cpus: 2, running: 3,
	cgroups: "v1", controller: "cpuacct,cpu",
	config: telemetry.Config{Memory: telemetry.MemoryFree},
	want: expected{"v2;cpu=half-runnable;memory=free", telemetry.CounterCpuacct, true,
		[]float64{2, 2 * perCPU}, []float64{(utilised + .75) / 2, .5}},
}, {
	name: "4.19 without cgroups", cpus: 1, available: true, cgroups: "none", running: 1,
	want: expected{"v2;cpu=half-runnable;memory=available", telemetry.CounterStat, true,
		[]float64{1, 1 * perCPU}, []float64{utilised / 2, .4}},
}, {
	name: "4.20 with v2: no full line, no cpu.stat at the root", cpus: 1, available: true, psi: true, running: 9,
	cgroups: "v2",
	config:  telemetry.Config{Contention: telemetry.ContentionPressure, Channels: telemetry.Channels{MemoryPressure: true, IO: true}},
	want: expected{"v2;cpu=half-pressure;memory=available;memory-pressure=some;io=some", telemetry.CounterStat, true,
		[]float64{1, 1 * perCPU, 1, 1}, []float64{(utilised + waited) / 2, .4, waitedMemory, waitedIO}},
}, {
	name: "5.4 hybrid, a bond of two links", cpus: 64, available: true, psi: true, running: 49,
	cgroups: "hybrid", controller: "cpu,cpuacct",
	links:  []nic{{"eno1", "10000", "up", 10e9 / 8, .3}, {"eno2", "1000", "up", 1e9 / 8, .6}},
	config: telemetry.Config{Channels: all},
	want: expected{"v2;cpu=half-runnable;memory=available;memory-pressure=some;io=some;network=link", telemetry.CounterCpuacct, true,
		[]float64{64, 64 * perCPU, 1, 1, 1.25e9}, []float64{(utilised + waited) / 2, .4, waitedMemory, waitedIO, .6}},
}, {
	name: "5.10 with v2, psi off", cpus: 2, available: true, cgroups: "v2", rootStat: true, rootSteal: true, running: 9,
	config: telemetry.Config{Contention: telemetry.ContentionPressure},
	want: expected{"v2;cpu=utilisation;memory=available", telemetry.CounterCgroup, false,
		[]float64{2, 2 * perCPU}, []float64{utilised, .4}},
}, {
	name: "5.15 with v2, one link without a carrier", cpus: 128, available: true, psi: true, full: true,
	cgroups: "v2", rootStat: true, rootSteal: true, running: 9,
	links:  []nic{{"ens5f0np0", "100000", "up", 100e9 / 8, .25}, {"ens5f1np1", "-1", "down", 0, 0}},
	config: telemetry.Config{Channels: all, CPU: telemetry.CPUContended, Contention: telemetry.ContentionPressure},
	want: expected{"v2;cpu=pressure;memory=available;memory-pressure=some;io=some;network=link", telemetry.CounterCgroup, true,
		[]float64{128, 128 * perCPU, 1, 1, 12.5e9}, []float64{waited, .4, waitedMemory, waitedIO, .25}},
}, {
	name: "6.1 with v1, a quarter of the CPUs offline", cpus: 64, online: "0-15,32-63", available: true, psi: true, running: 9, full: true,
	cgroups: "v1", controller: "cpuacct",
	config: telemetry.Config{CPU: telemetry.CPUUtilisation, Channels: telemetry.Channels{IO: true}},
	want: expected{"v2;cpu=utilisation;memory=available;io=some", telemetry.CounterCpuacct, true,
		[]float64{48, 64 * perCPU, 1}, []float64{utilised, .4, waitedIO}},
}, {
	name: "6.6 with v2, from a container", cpus: 64, available: true, psi: true, full: true,
	cgroups: "container", rootStat: true, running: 49, statLines: "core_sched.force_idle_usec 0\n",
	want: expected{"v2;cpu=half-runnable;memory=available", telemetry.CounterStat, true,
		[]float64{64, 64 * perCPU}, []float64{(utilised + waited) / 2, .4}},
}, {
	name: "6.12 with v2, virtio of unknown speed", cpus: 2, available: true, psi: true, full: true,
	cgroups: "v2", rootStat: true, rootSteal: true, running: 2, statLines: "core_sched.force_idle_usec 0\n",
	links:  []nic{{"enp1s0", "-1", "up", 1e8, .5}},
	config: telemetry.Config{Channels: telemetry.Channels{Network: true}, LinkSpeed: 1e8},
	want: expected{"v2;cpu=half-runnable;memory=available;network=link", telemetry.CounterCgroup, true,
		[]float64{2, 2 * perCPU, 1e8}, []float64{(utilised + .25) / 2, .4, .5}},
}, {
	name: "6.18 with v2 on 256 CPUs", cpus: 256, available: true, psi: true, full: true,
	cgroups: "v2", rootStat: true, running: 193, statLines: "nice_usec 481440963\ncore_sched.force_idle_usec 0\n",
	links:  []nic{{"eth0", "200000", "up", 200e9 / 8, .125}, {"eth1", "200000", "unknown", 200e9 / 8, .0625}},
	config: telemetry.Config{Channels: all},
	want: expected{"v2;cpu=half-runnable;memory=available;memory-pressure=some;io=some;network=link", telemetry.CounterCgroup, true,
		[]float64{256, 256 * perCPU, 1, 1, 25e9}, []float64{(utilised + waited) / 2, .4, waitedMemory, waitedIO, .125}},
}, {
	name: "6.18 hybrid, /proc/stat on request", cpus: 128, available: true, psi: true, full: true,
	cgroups: "hybrid", controller: "cpuacct", rootStat: true, running: 129, statLines: "nice_usec 7\n",
	config: telemetry.Config{Counter: telemetry.CounterStat},
	want: expected{"v2;cpu=half-runnable;memory=available", telemetry.CounterStat, true,
		[]float64{128, 128 * perCPU}, []float64{(utilised + .75) / 2, .4}},
}}

// Two readings of every layout give the values that were written.
func TestKernelsAndLayouts(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			m := emptyMachine(t)
			l.write(m, 0)
			config := l.config
			config.ProcRoot, config.SysRoot, config.CgroupRoot = m.proc, m.sys, m.root
			r := m.reader(config)
			m.prime(r, start)
			l.write(m, 1)
			got := expected{r.Schema().ID, r.Counter(), r.Pressure(), r.Sizes(), m.sample(r, start.Add(interval))}
			if diff := cmp.Diff(l.want, got, cmp.AllowUnexported(expected{}), near); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// On every layout the narrow parsers agree with prometheus/procfs.
func TestLayoutsAgreeWithProcfs(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			m := emptyMachine(t)
			l.write(m, 1)
			agreeWithProcfs(t, m.proc)
		})
	}
}

func agreeWithProcfs(t *testing.T, proc string) {
	t.Helper()
	fs, err := procfs.NewFS(proc)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := fs.Stat()
	if err != nil {
		t.Fatal(err)
	}
	times := mustParse(t, telemetry.ParseStat, filepath.Join(proc, "stat"))
	all := stat.CPUTotal
	busy := all.User + all.Nice + all.System + all.IRQ + all.SoftIRQ + all.Steal
	if math.Abs(float64(times.Busy)/100-busy) > 1e-6 || math.Abs(float64(times.Idle)/100-all.Idle-all.Iowait) > 1e-6 || times.Online != len(stat.CPU) {
		t.Errorf("%+v disagrees with %+v", times, all)
	}
	if steal := float64(times.Steal) / 100; math.Abs(steal-all.Steal) > 1e-6 || times.Running != stat.ProcessesRunning {
		t.Errorf("%+v disagrees with %v s of steal, %d running", times, all.Steal, stat.ProcessesRunning)
	}

	info, err := fs.Meminfo()
	if err != nil {
		t.Fatal(err)
	}
	memory := mustParse(t, telemetry.ParseMeminfo, filepath.Join(proc, "meminfo"))
	want := telemetry.Meminfo{Total: *info.MemTotalBytes, Free: *info.MemFreeBytes, Buffers: *info.BuffersBytes, Cached: *info.CachedBytes, HasCache: true}
	if info.MemAvailableBytes != nil {
		want.Available, want.HasAvailable = *info.MemAvailableBytes, true
	}
	checkParsed(t, want, memory, nil, nil)

	resources, _ := filepath.Glob(filepath.Join(proc, "pressure", "*"))
	for _, path := range resources {
		pressure, err := fs.PSIStatsForResource(filepath.Base(path))
		if err != nil {
			t.Fatal(err)
		}
		want := telemetry.Stall{Some: pressure.Some.Total}
		if pressure.Full != nil {
			want.Full = pressure.Full.Total
		}
		checkParsed(t, want, mustParse(t, telemetry.ParsePressure, path), nil, nil)
	}
	agreeOnInterfaces(t, proc)
}

func agreeOnInterfaces(t *testing.T, proc string) {
	t.Helper()
	names := mustParse(t, func(text []byte) (map[string]bool, error) {
		names, err := telemetry.ParseInterfaces(nil, text)
		set := map[string]bool{}
		for _, n := range names {
			set[string(n)] = true
		}
		return set, err
	}, filepath.Join(proc, "net/dev"))
	fs, err := procfs.NewFS(proc)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := fs.NetDev()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for name := range dev {
		want[name] = true
	}
	checkParsed(t, want, names, nil, nil)
}

func mustParse[T any](t *testing.T, parse func([]byte) (T, error), path string) T {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	value, err := parse(text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return value
}

// write writes all files of one reading; the second is an interval later.
func (l layout) write(m *machine, reading uint64) {
	m.t.Helper()
	ids := l.ids()
	m.write(filepath.Join(m.proc, "stat"), l.stat(ids, reading))
	m.write(filepath.Join(m.proc, "meminfo"), l.meminfo())
	if l.psi {
		l.pressure(m, "cpu", l.full, waited, reading)
		l.pressure(m, "memory", true, waitedMemory, reading)
		l.pressure(m, "io", true, waitedIO, reading)
	}
	names := []string{"lo", "cni0", "veth1a2b3c4d", "bond0"}
	for _, n := range l.links {
		names = append(names, n.name)
		moved := uint64(n.whole * n.share * interval.Seconds())
		m.link(n.name, n.speed, n.state, 1e9+reading*moved/2, 1e9+reading*moved)
	}
	m.interfaces(names...)
	l.usage(m, len(ids), reading)
}

func (l layout) ids() []int {
	var ids []int
	for i := range l.cpus {
		if l.online == "" || i < 16 || i >= 32 { // of 0-15,32-63
			ids = append(ids, i)
		}
	}
	return ids
}

// The times of a CPU at the first reading and what the interval of 40 ticks adds,
// 10 of them busy: user nice system idle iowait irq softirq steal guest
// guest_nice.
var (
	baseTimes = [10]uint64{170_68, 481, 201_37, 3_595_590, 12_69, 0, 161, 89, 12, 0}
	stepTimes = [10]uint64{5, 1, 2, 28, 2, 0, 1, 1, 3, 0}
)

func (l layout) stat(ids []int, reading uint64) string {
	var b strings.Builder
	line := func(name string, times uint64) {
		b.WriteString(name)
		for i := range baseTimes {
			fmt.Fprintf(&b, " %d", times*(baseTimes[i]+reading*stepTimes[i]))
		}
		b.WriteByte('\n')
	}
	line("cpu ", uint64(len(ids)))
	for _, id := range ids {
		line(fmt.Sprintf("cpu%d", id), 1)
	}
	fmt.Fprintf(&b, "intr %d%s\n", 1689178+reading, strings.Repeat(" 0 14", 64+2*l.cpus))
	fmt.Fprintf(&b, "ctxt %d\nbtime 1748779200\nprocesses 48731\nprocs_running %d\nprocs_blocked 0\n", 8_412_003+reading, l.running)
	b.WriteString("softirq 1052673 1 264471 13 17219 16 0 1025 460102 0 309826\n")
	return b.String()
}

func (l layout) meminfo() string {
	total := l.cpus * 4_000_000 // KiB
	var b strings.Builder
	line := func(key string, kib int) { fmt.Fprintf(&b, "%-16s%8d kB\n", key+":", kib) }
	line("MemTotal", total)
	line("MemFree", total/5)
	if l.available {
		line("MemAvailable", total*3/5)
	}
	line("Buffers", total/20)
	line("Cached", total/4)
	for _, key := range []string{"SwapCached", "Active", "Inactive", "Active(anon)", "Inactive(anon)", "Active(file)", "Inactive(file)",
		"Unevictable", "Mlocked", "SwapTotal", "SwapFree", "Dirty", "Writeback", "AnonPages", "Mapped", "Shmem", "Slab", "SReclaimable",
		"SUnreclaim", "KernelStack", "PageTables", "NFS_Unstable", "Bounce", "WritebackTmp", "CommitLimit", "Committed_AS"} {
		line(key, total/97)
	}
	line("VmallocTotal", 1<<31-1)
	line("VmallocUsed", 0)
	if l.available {
		line("Percpu", 1184*l.cpus)
	}
	b.WriteString("HugePages_Total:       0\nHugePages_Free:        0\n")
	line("Hugepagesize", 2048)
	line("DirectMap4k", 120704)
	return b.String()
}

func (l layout) pressure(m *machine, resource string, full bool, share float64, reading uint64) {
	m.t.Helper()
	some := 5_000_559_236 + reading*uint64(share*float64(interval.Microseconds()))
	text := fmt.Sprintf("some avg10=3.07 avg60=16.48 avg300=10.98 total=%d\n", some)
	if full {
		text += "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
	}
	m.write(filepath.Join(m.proc, "pressure", resource), text)
}

// usage writes the cgroups: cpu.stat sums the times of tasks and interrupts, and steal if the
// kernel does; cpuacct has measured the same time for the interval. In hybrid, the root of v2 is
// further ahead.
func (l layout) usage(m *machine, cpus int, reading uint64) {
	m.t.Helper()
	ran := func(times [10]uint64) uint64 { // µs
		ticks := times[0] + times[1] + times[2] + times[5] + times[6]
		if l.rootSteal {
			ticks += times[7]
		}
		return ticks * 10_000 * uint64(cpus)
	}
	base, used := ran(baseTimes), reading*ran(stepTimes)
	v2 := func(dir string, micros uint64) {
		m.write(filepath.Join(m.root, dir, "cgroup.controllers"), "cpuset cpu io memory hugetlb pids rdma misc\n")
		m.write(filepath.Join(m.root, dir, "cgroup.procs"), "1\n")
		if l.rootStat {
			m.write(filepath.Join(m.root, dir, "cpu.stat"), fmt.Sprintf("usage_usec %d\nuser_usec %d\nsystem_usec 202985710\n%s",
				base+micros, base+micros-202985710, l.statLines))
		}
	}
	switch l.cgroups {
	case "v2":
		v2("", used)
	case "container":
		v2("", used/7)
		m.write(filepath.Join(m.root, "cgroup.type"), "domain\n")
	case "hybrid":
		v2("unified", 2*used)
	}
	if l.controller != "" {
		m.cpuacct(l.controller, 15_196_028_692_892+1000*used)
		m.write(filepath.Join(m.root, l.controller, "cgroup.procs"), "1\n")
		m.write(filepath.Join(m.root, "memory", "memory.usage_in_bytes"), "1\n")
	}
}

// A kernel without MemAvailable is refused unless its older measure is configured.
func TestNoMemAvailable(t *testing.T) {
	m := emptyMachine(t)
	layouts[0].write(m, 0)
	_, err := telemetry.NewReader(m.config())
	if failed := telemetry.ChannelErrors(err); len(failed) != 1 || failed[0].Channel != "memory" {
		t.Errorf("err = %v, want one of the memory channel", err)
	}
}
