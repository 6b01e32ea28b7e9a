package telemetry_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// machine is a fake /proc, /sys and cgroup root whose counters a test sets.
type machine struct {
	t               testing.TB
	proc, sys, root string
	// running and steal are what stat writes of them; running includes the
	// reader.
	running, steal uint64
}

func newMachine(t testing.TB) *machine {
	m := emptyMachine(t)
	m.stat(4, 0, 0)
	m.meminfo(1000, 600)
	m.pressure(0)
	return m
}

func emptyMachine(t testing.TB) *machine {
	return &machine{t: t, proc: t.TempDir(), sys: t.TempDir(), root: t.TempDir(), running: 1}
}

func (m *machine) config() telemetry.Config {
	return telemetry.Config{ProcRoot: m.proc, SysRoot: m.sys, CgroupRoot: m.root}
}

func (m *machine) write(path, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// stat sets the busy and idle ticks of a machine with that many CPUs.
func (m *machine) stat(cpus int, busy, idle uint64) {
	m.t.Helper()
	m.write(filepath.Join(m.proc, "stat"), statText(cpus, busy, idle, m.steal, m.running))
}

// idle sets the ticks of a machine of 4 CPUs that has been idle since start.
func (m *machine) idle(at time.Time) {
	m.t.Helper()
	m.stat(4, 0, uint64(4*max(at.Sub(start), 0)/(10*time.Millisecond)))
}

// ticking returns a function that lets a tick of idle time pass in stat, in place and without
// allocating.
func (m *machine) ticking() (tick func()) {
	m.t.Helper()
	_, rest, _ := strings.Cut(string(m.read("stat")), "\n")
	const before = "cpu  1 0 0 "
	idle := uint64(1e18)
	m.write(filepath.Join(m.proc, "stat"), fmt.Sprintf("%s%d 0 0 0 0 0 0\n%s", before, idle, rest))
	f, err := os.OpenFile(filepath.Join(m.proc, "stat"), os.O_WRONLY, 0)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { f.Close() })
	digits := make([]byte, 0, 20)
	return func() {
		idle++
		if _, err := f.WriteAt(strconv.AppendUint(digits, idle, 10), int64(len(before))); err != nil {
			m.t.Error(err)
		}
	}
}

func statText(cpus int, busy, idle, steal, running uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "cpu  %d 0 0 %d 0 0 0 %d 0 0\n", busy, idle, steal)
	for i := range cpus {
		fmt.Fprintf(&b, "cpu%d 1234567 2345 345678 98765432 12345 0 6789 0 0 0\n", i)
	}
	b.WriteString("intr 123456 " + strings.Repeat("0 ", 10*cpus) + "\nctxt 5\nbtime 1700000000\nprocesses 7\n")
	fmt.Fprintf(&b, "procs_running %d\nprocs_blocked 0\nsoftirq 5 1 2 0 0 0 0 0 0 0 2\n", running)
	return b.String()
}

func (m *machine) meminfo(totalKiB, availableKiB int) {
	m.t.Helper()
	m.write(filepath.Join(m.proc, "meminfo"), fmt.Sprintf(
		"MemTotal:       %8d kB\nMemFree:        %8d kB\nMemAvailable:   %8d kB\nBuffers:               10 kB\nCached:                20 kB\nSwapCached:             0 kB\n",
		totalKiB, availableKiB/2, availableKiB))
}

// pressure sets the time that some task waited, in µs.
func (m *machine) pressure(micros uint64) {
	m.t.Helper()
	m.stall("cpu", micros)
}

// stall sets the time that some task waited for a resource, in µs.
func (m *machine) stall(resource string, micros uint64) {
	m.t.Helper()
	m.write(filepath.Join(m.proc, "pressure", resource), fmt.Sprintf(
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", micros))
}

// usage sets the root's CPU time in the cgroup v2 hierarchy at dir.
func (m *machine) usage(dir string, micros uint64) {
	m.t.Helper()
	m.write(filepath.Join(m.root, dir, "cgroup.controllers"), "cpu io memory\n")
	m.write(filepath.Join(m.root, dir, "cpu.stat"), fmt.Sprintf("usage_usec %d\nuser_usec 1\nsystem_usec 2\n", micros))
}

// cpuacct sets the root's CPU time in the v1 hierarchy at dir.
func (m *machine) cpuacct(dir string, nanos uint64) {
	m.t.Helper()
	m.write(filepath.Join(m.root, dir, "cgroup.sane_behavior"), "0\n")
	m.write(filepath.Join(m.root, dir, "cpuacct.usage"), fmt.Sprintf("%d\n", nanos))
}

// interfaces sets the list of network interfaces.
func (m *machine) interfaces(names ...string) {
	m.t.Helper()
	var b strings.Builder
	b.WriteString("Inter-|   Receive                                                |  Transmit\n" +
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n")
	for i, name := range names {
		fmt.Fprintf(&b, "%6s: %7d %7d    0    0    0     0          0         0 %8d %7d    0    0    0     0       0          0\n", name, 1000*i, i, 2000*i, 2*i)
	}
	m.write(filepath.Join(m.proc, "net", "dev"), b.String())
}

// link makes an interface with a device.
func (m *machine) link(name, speed, state string, received, sent uint64) {
	m.t.Helper()
	m.write(m.linkFile(name, "device/uevent"), "DRIVER=virtio_net\n")
	m.write(m.linkFile(name, "speed"), speed+"\n")
	m.write(m.linkFile(name, "operstate"), state+"\n")
	m.write(m.linkFile(name, "carrier_changes"), "2\n")
	m.moved(name, received, sent)
}

// moved sets the bytes that a link has carried.
func (m *machine) moved(name string, received, sent uint64) {
	m.t.Helper()
	m.write(m.linkFile(name, "statistics/rx_bytes"), fmt.Sprintf("%d\n", received))
	m.write(m.linkFile(name, "statistics/tx_bytes"), fmt.Sprintf("%d\n", sent))
}

func (m *machine) linkFile(name, file string) string {
	return filepath.Join(m.sys, "class/net", name, file)
}

// read returns a file of proc.
func (m *machine) read(path string) []byte {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.proc, path))
	if err != nil {
		m.t.Fatal(err)
	}
	return text
}

func (m *machine) remove(path string) {
	m.t.Helper()
	if err := os.RemoveAll(path); err != nil {
		m.t.Fatal(err)
	}
}

// sample takes a sample that must succeed.
func (m *machine) sample(r *telemetry.Reader, at time.Time) []float64 {
	m.t.Helper()
	got, err := r.SampleTo(nil, at)
	if err != nil {
		m.t.Fatal(err)
	}
	return got
}

// prime takes the first sample.
func (m *machine) prime(r *telemetry.Reader, at time.Time) {
	m.t.Helper()
	if got, err := r.SampleTo(nil, at); !errors.Is(err, telemetry.ErrPriming) {
		m.t.Fatalf("first sample = %v, %v, want ErrPriming", got, err)
	}
}

func (m *machine) reader(c telemetry.Config) *telemetry.Reader {
	m.t.Helper()
	r, err := telemetry.NewReader(c)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { r.Close() })
	return r
}

var start = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

const period = 100 * time.Millisecond
