package telemetry_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// machine is a fake /proc and cgroup root whose counters a test sets.
type machine struct {
	t          testing.TB
	proc, root string
}

func newMachine(t testing.TB) *machine {
	m := &machine{t: t, proc: t.TempDir(), root: t.TempDir()}
	m.stat(4, 0, 0)
	m.meminfo(1000, 600)
	m.pressure(0)
	return m
}

func (m *machine) config() telemetry.Config {
	return telemetry.Config{ProcRoot: m.proc, CgroupRoot: m.root}
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

// stat sets busy and idle ticks of a machine with so many CPUs.
func (m *machine) stat(cpus int, busy, idle uint64) {
	m.t.Helper()
	m.write(filepath.Join(m.proc, "stat"), statText(cpus, busy, idle))
}

func statText(cpus int, busy, idle uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "cpu  %d 0 0 %d 0 0 0 0 0 0\n", busy, idle)
	for i := range cpus {
		fmt.Fprintf(&b, "cpu%d 1234567 2345 345678 98765432 12345 0 6789 0 0 0\n", i)
	}
	b.WriteString("intr 123456 " + strings.Repeat("0 ", 10*cpus) + "\nctxt 5\nbtime 1700000000\nprocesses 7\n")
	return b.String()
}

func (m *machine) meminfo(totalKiB, availableKiB int) {
	m.t.Helper()
	m.write(filepath.Join(m.proc, "meminfo"), fmt.Sprintf(
		"MemTotal:       %8d kB\nMemFree:        %8d kB\nMemAvailable:   %8d kB\nBuffers:               10 kB\nCached:                20 kB\nSwapCached:             0 kB\n",
		totalKiB, availableKiB/2, availableKiB))
}

// pressure sets the time some task waited, in µs.
func (m *machine) pressure(micros uint64) {
	m.t.Helper()
	m.write(filepath.Join(m.proc, "pressure", "cpu"), fmt.Sprintf(
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", micros))
}

// usage sets the root's CPU time in the cgroup v2 hierarchy at dir.
func (m *machine) usage(dir string, micros uint64) {
	m.t.Helper()
	m.write(filepath.Join(m.root, dir, "cgroup.controllers"), "cpu io memory\n")
	m.write(filepath.Join(m.root, dir, "cpu.stat"), fmt.Sprintf("usage_usec %d\nuser_usec 1\nsystem_usec 2\n", micros))
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
