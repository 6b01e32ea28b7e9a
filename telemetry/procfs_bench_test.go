package telemetry_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// BenchmarkStatBesideProcfs reads /proc/stat of 128 CPUs by turns with the package's own parser and
// with prometheus/procfs, which shows what the own parser gains. ReadFile is in both.
func BenchmarkStatBesideProcfs(b *testing.B) {
	m := newMachine(b)
	m.stat(128, 1, 1)
	fs, err := procfs.NewFS(m.proc)
	if err != nil {
		b.Fatal(err)
	}
	own := func() error {
		text, err := os.ReadFile(filepath.Join(m.proc, "stat"))
		if err == nil {
			_, err = telemetry.ParseStat(text)
		}
		return err
	}
	theirs := func() error {
		_, err := fs.Stat()
		return err
	}
	var spent [2]time.Duration
	var allocated [2]uint64
	var before, after runtime.MemStats
	for b.Loop() {
		for i, read := range []func() error{own, theirs} {
			runtime.ReadMemStats(&before)
			start := time.Now()
			err := read()
			spent[i] += time.Since(start)
			runtime.ReadMemStats(&after)
			if err != nil {
				b.Fatal(err)
			}
			allocated[i] += after.Mallocs - before.Mallocs
		}
	}
	n := float64(b.N)
	b.ReportMetric(0, "ns/op") // it is both
	b.ReportMetric(float64(spent[0].Microseconds())/n, "own-µs")
	b.ReportMetric(float64(spent[1].Microseconds())/n, "procfs-µs")
	b.ReportMetric(float64(allocated[0])/n, "own-allocs")
	b.ReportMetric(float64(allocated[1])/n, "procfs-allocs")
}
