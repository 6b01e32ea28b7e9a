package telemetry_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"

	"github.com/spazio-scheduler/spazio/telemetry"
)

func TestParseStat(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       telemetry.CPUTimes
		err        error
	}{
		{"6.x", "cpu  1 2 4 8 16 32 64 128 256 512\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu7 1\nintr 5\n",
			telemetry.CPUTimes{Busy: 1 + 2 + 4 + 32 + 64 + 128, Idle: 24, Online: 2}, nil},
		{"before guest and steal", "cpu  1 2 4 8\ncpu0 1 2 4 8\n", telemetry.CPUTimes{Busy: 7, Idle: 8, Online: 1}, nil},
		{"cut in the first line", "cpu  1 2 4 8", telemetry.CPUTimes{}, telemetry.ErrPartial},
		{"cut after the first line", "cpu  1 2 4 8\ncpu0 1", telemetry.CPUTimes{}, telemetry.ErrPartial},
		{"empty", "", telemetry.CPUTimes{}, telemetry.ErrPartial},
		{"other file", "MemTotal: 5 kB\n", telemetry.CPUTimes{}, telemetry.ErrMalformed},
		{"three fields", "cpu  1 2 4\ncpu0 1\n", telemetry.CPUTimes{}, telemetry.ErrMalformed},
		{"negative", "cpu  1 2 4 -8\ncpu0 1\n", telemetry.CPUTimes{}, telemetry.ErrMalformed},
		{"beyond 64 bits", "cpu  1 2 4 18446744073709551616\ncpu0 1\n", telemetry.CPUTimes{}, telemetry.ErrMalformed},
		{"sum beyond 64 bits", "cpu  18446744073709551615 2 4 8\ncpu0 1\n", telemetry.CPUTimes{}, telemetry.ErrMalformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := telemetry.ParseStat([]byte(tc.text))
			checkParsed(t, tc.want, got, tc.err, err)
		})
	}
}

func TestParsePressure(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       telemetry.Stall
		err        error
	}{
		{"6.x", "some avg10=0.12 avg60=3.00 avg300=9.59 total=137024728\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=12\n",
			telemetry.Stall{Some: 137024728, Full: 12}, nil},
		{"4.20, no full line for cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n", telemetry.Stall{Some: 5}, nil},
		{"cut", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5", telemetry.Stall{}, telemetry.ErrPartial},
		{"empty", "", telemetry.Stall{}, telemetry.ErrPartial},
		{"no total", "some avg10=0.00\n", telemetry.Stall{}, telemetry.ErrMalformed},
		{"no number", "some total=\n", telemetry.Stall{}, telemetry.ErrMalformed},
		{"more after the number", "some total=5 x\n", telemetry.Stall{}, telemetry.ErrMalformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := telemetry.ParsePressure([]byte(tc.text))
			checkParsed(t, tc.want, got, tc.err, err)
		})
	}
}

func TestParseCPUStat(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       telemetry.CPUStat
		err        error
	}{
		{"root", "usage_usec 604\nuser_usec 400\nsystem_usec 204\n", telemetry.CPUStat{Usage: 604}, nil},
		{"limited", "usage_usec 604\nuser_usec 400\nsystem_usec 204\nnr_periods 9\nnr_throttled 3\nthrottled_usec 77\n",
			telemetry.CPUStat{Usage: 604, Throttled: 77}, nil},
		{"cut", "usage_usec 604", telemetry.CPUStat{}, telemetry.ErrPartial},
		{"empty", "", telemetry.CPUStat{}, telemetry.ErrPartial},
		{"no number", "usage_usec x\n", telemetry.CPUStat{}, telemetry.ErrMalformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := telemetry.ParseCPUStat([]byte(tc.text))
			checkParsed(t, tc.want, got, tc.err, err)
		})
	}
}

func TestParseMeminfo(t *testing.T) {
	const head = "MemTotal:       1000 kB\nMemFree:         300 kB\n"
	const tail = "Buffers:          10 kB\nCached:           20 kB\n"
	for _, tc := range []struct {
		name, text string
		want       telemetry.Memory
		err        error
	}{
		{"6.x", head + "MemAvailable:    600 kB\n" + tail + "SwapCached: 1 kB\n",
			telemetry.Memory{Total: 1000 << 10, Free: 300 << 10, Available: 600 << 10, Buffers: 10 << 10, Cached: 20 << 10, HasAvailable: true}, nil},
		{"before 3.14", head + tail, telemetry.Memory{Total: 1000 << 10, Free: 300 << 10, Buffers: 10 << 10, Cached: 20 << 10}, nil},
		{"cut", head + "Buffers:          10 kB\nCached:           20", telemetry.Memory{}, telemetry.ErrPartial},
		{"empty", "", telemetry.Memory{}, telemetry.ErrPartial},
		{"other unit", strings.ReplaceAll(head+tail, "kB", "MB"), telemetry.Memory{}, telemetry.ErrMalformed},
		{"no memory at all", strings.ReplaceAll(head, "1000", "0") + tail, telemetry.Memory{}, telemetry.ErrMalformed},
		{"more free than there is", strings.ReplaceAll(head, "300", "1001") + tail, telemetry.Memory{}, telemetry.ErrMalformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := telemetry.ParseMeminfo([]byte(tc.text))
			checkParsed(t, tc.want, got, tc.err, err)
		})
	}
}

func checkParsed[T any](t *testing.T, want, got T, wantErr, err error) {
	t.Helper()
	if !errors.Is(err, wantErr) {
		t.Fatalf("err = %v, want %v", err, wantErr)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The narrow parsers agree with prometheus/procfs on what a kernel wrote.
func TestParsersAgreeWithProcfs(t *testing.T) {
	const root = "testdata/linux-6.18-hybrid/proc"
	fs, err := procfs.NewFS(root)
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}

	stat, err := fs.Stat()
	if err != nil {
		t.Fatal(err)
	}
	times, err := telemetry.ParseStat(read("stat"))
	if err != nil {
		t.Fatal(err)
	}
	all := stat.CPUTotal
	busy := all.User + all.Nice + all.System + all.IRQ + all.SoftIRQ + all.Steal
	if math.Abs(float64(times.Busy)/100-busy) > 1e-6 || math.Abs(float64(times.Idle)/100-all.Idle-all.Iowait) > 1e-6 || times.Online != len(stat.CPU) {
		t.Errorf("%+v disagrees with %+v", times, all)
	}

	pressure, err := fs.PSIStatsForResource("cpu")
	if err != nil {
		t.Fatal(err)
	}
	stall, err := telemetry.ParsePressure(read("pressure/cpu"))
	if err != nil {
		t.Fatal(err)
	}
	checkParsed(t, telemetry.Stall{Some: pressure.Some.Total, Full: pressure.Full.Total}, stall, nil, nil)

	info, err := fs.Meminfo()
	if err != nil {
		t.Fatal(err)
	}
	memory, err := telemetry.ParseMeminfo(read("meminfo"))
	if err != nil {
		t.Fatal(err)
	}
	checkParsed(t, telemetry.Memory{
		Total: *info.MemTotalBytes, Free: *info.MemFreeBytes, Available: *info.MemAvailableBytes,
		Buffers: *info.BuffersBytes, Cached: *info.CachedBytes, HasAvailable: true,
	}, memory, nil, nil)
}

// parsed checks what holds for every parser: a failure is one of the two typed
// ones and gives the zero value; the incomplete last line never counts.
func parsed[T comparable](t *testing.T, parse func([]byte) (T, error), text []byte) (T, bool) {
	t.Helper()
	before := bytes.Clone(text)
	got, err := parse(text)
	if !bytes.Equal(before, text) {
		t.Fatal("the text was modified")
	}
	var zero T
	if err != nil && (got != zero || !errors.Is(err, telemetry.ErrPartial) && !errors.Is(err, telemetry.ErrMalformed)) {
		t.Fatalf("%+v, %v", got, err)
	}
	complete := text[:bytes.LastIndexByte(text, '\n')+1]
	again, errAgain := parse(complete)
	if got != again || (err == nil) != (errAgain == nil) {
		t.Fatalf("%+v, %v with the cut line; %+v, %v without", got, err, again, errAgain)
	}
	return got, err == nil
}

func seed(f *testing.F, path string, more ...string) {
	text, err := os.ReadFile(filepath.Join("testdata/linux-6.18-hybrid", path))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)/2])
	for _, s := range more {
		f.Add([]byte(s))
	}
}

func FuzzParseStat(f *testing.F) {
	seed(f, "proc/stat", "cpu  1 2 4 8\ncpu0 1\n", "cpu  18446744073709551615 1 1 1\ncpu0\n")
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, ok := parsed(t, telemetry.ParseStat, text); ok && got.Online < 1 {
			t.Errorf("%+v", got)
		}
	})
}

func FuzzParsePressure(f *testing.F) {
	seed(f, "proc/pressure/cpu", "some total=1\n", "full total=1\nsome total=\n")
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, ok := parsed(t, telemetry.ParsePressure, text); ok {
			again, err := telemetry.ParsePressure(fmt.Appendf(nil, "some avg10=0.00 total=%d\nfull avg10=0.00 total=%d\n", got.Some, got.Full))
			checkParsed(t, got, again, nil, err)
		}
	})
}

func FuzzParseCPUStat(f *testing.F) {
	seed(f, "cgroup/unified/cpu.stat", "usage_usec 1\nthrottled_usec 2\n")
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, ok := parsed(t, telemetry.ParseCPUStat, text); ok {
			again, err := telemetry.ParseCPUStat(fmt.Appendf(nil, "usage_usec %d\nthrottled_usec %d\n", got.Usage, got.Throttled))
			checkParsed(t, got, again, nil, err)
		}
	})
}

func FuzzParseMeminfo(f *testing.F) {
	seed(f, "proc/meminfo", "MemTotal: 9 kB\nMemFree: 1 kB\nBuffers: 1 kB\nCached: 1 kB\n")
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := parsed(t, telemetry.ParseMeminfo, text)
		if ok && (got.Total == 0 || got.Available > got.Total || !got.HasAvailable && got.Available != 0) {
			t.Errorf("%+v", got)
		}
	})
}
