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

	"github.com/spazio-scheduler/spazio/telemetry"
)

func TestParseStat(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       telemetry.CPUTimes
		err        error
	}{
		{"6.x", "cpu  1 2 4 8 16 32 64 128 256 512\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu7 1\nintr 5\nprocs_running 33\nprocs_blocked 9\n",
			telemetry.CPUTimes{Busy: 1 + 2 + 4 + 32 + 64 + 128, Idle: 24, Steal: 128, Online: 2, Running: 33}, nil},
		{"before guest and steal", "cpu  1 2 4 8\ncpu0 1 2 4 8\nprocs_running 1\n", telemetry.CPUTimes{Busy: 7, Idle: 8, Online: 1, Running: 1}, nil},
		{"cut ahead of procs_running", "cpu  1 2 4 8\ncpu0 1\nintr 5\n", telemetry.CPUTimes{}, telemetry.ErrPartial},
		{"cut after procs_running", "cpu  1 2 4 8\ncpu0 1\nintr 5\nprocs_running 3", telemetry.CPUTimes{}, telemetry.ErrPartial},
		{"no number of procs_running", "cpu  1 2 4 8\ncpu0 1\nprocs_running \n", telemetry.CPUTimes{}, telemetry.ErrMalformed},
		{"more than a number", "cpu  1 2 4 8\ncpu0 1\nprocs_running 3 x\n", telemetry.CPUTimes{}, telemetry.ErrMalformed},
		{"more tasks than there can be", "cpu  1 2 4 8\ncpu0 1\nprocs_running 4194305\n", telemetry.CPUTimes{}, telemetry.ErrMalformed},
		{"procs_running beyond 64 bits", "cpu  1 2 4 8\ncpu0 1\nprocs_running 18446744073709551616\n", telemetry.CPUTimes{}, telemetry.ErrMalformed},
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
		{"a newer kernel's column", "some avg10=0.00 total=5 subtotal=x\n", telemetry.Stall{Some: 5}, nil},
		{"a newer kernel's line", "most avg10=x\nsome subtotal=7 total=5\n", telemetry.Stall{Some: 5}, nil},
		{"no number for full", "some total=5\nfull total=-3\n", telemetry.Stall{Some: 5}, nil},
		{"more in the number", "some total=5x\n", telemetry.Stall{}, telemetry.ErrMalformed},
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
		want       uint64
		err        error
	}{
		{"root", "usage_usec 604\nuser_usec 400\nsystem_usec 204\n", 604, nil},
		{"limited", "user_usec 400\nusage_usec 604\nnr_periods 9\n", 604, nil},
		{"v1", "nr_periods 40\nnr_throttled 40\nthrottled_time 3190001999\n", 0, telemetry.ErrPartial},
		{"cut", "usage_usec 604", 0, telemetry.ErrPartial},
		{"empty", "", 0, telemetry.ErrPartial},
		{"no number", "usage_usec x\n", 0, telemetry.ErrMalformed},
		{"more than a number", "usage_usec 1 2\n", 0, telemetry.ErrMalformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := telemetry.ParseCPUStat([]byte(tc.text))
			checkParsed(t, tc.want, got, tc.err, err)
		})
	}
}

func TestParseCounter(t *testing.T) {
	for _, tc := range []struct {
		text string
		want uint64
		err  error
	}{
		{"0\n", 0, nil},
		{"18446744073709551615\n", 1<<64 - 1, nil},
		{"18446744073709551616\n", 0, telemetry.ErrMalformed},
		{"15", 0, telemetry.ErrPartial},
		{"", 0, telemetry.ErrPartial},
		{"\n", 0, telemetry.ErrMalformed},
		{"-1\n", 0, telemetry.ErrMalformed},
		{"1 2\n", 0, telemetry.ErrMalformed},
		{"1\n2\n", 0, telemetry.ErrMalformed},
		{"1\n\n", 0, telemetry.ErrMalformed},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, err := telemetry.ParseCounter([]byte(tc.text))
			checkParsed(t, tc.want, got, tc.err, err)
		})
	}
}

func TestParseInterfaces(t *testing.T) {
	const head = "Inter-| Receive | Transmit\n face |bytes|bytes\n"
	for _, tc := range []struct {
		name, text string
		want       []string
		err        error
	}{
		{"two", head + "    lo: 1 2\n  eth0:3 4\n", []string{"lo", "eth0"}, nil},
		{"none", head, nil, nil},
		{"the last line is cut", head + "    lo: 1 2\n  eth0: 3", []string{"lo"}, nil},
		{"cut in the heading", head[:30], nil, telemetry.ErrPartial},
		{"other file", "MemTotal: 1 kB\nMemFree: 1 kB\n", nil, telemetry.ErrMalformed},
		{"no name", head + ": 1 2\n", nil, telemetry.ErrMalformed},
		{"no colon", head + "eth0 1 2\n", nil, telemetry.ErrMalformed},
		{"not a name but a path", head + "../../etc: 1 2\n", nil, telemetry.ErrMalformed},
		{"the parent", head + "  ..: 1 2\n", nil, telemetry.ErrMalformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			names, err := telemetry.ParseInterfaces([][]byte{[]byte("reused")}, []byte(tc.text))
			var got []string
			for _, n := range names {
				got = append(got, string(n))
			}
			checkParsed(t, tc.want, got, tc.err, err)
		})
	}
}

func TestParseLinkSpeed(t *testing.T) {
	for _, tc := range []struct {
		text  string
		want  float64
		known bool
		err   error
	}{
		{"1000\n", 1.25e8, true, nil},
		{"400000\n", 5e10, true, nil},
		{"-1\n", 0, false, nil},
		{"4294967295\n", 0, false, nil},
		{"0\n", 0, false, nil},
		{"10", 0, false, telemetry.ErrPartial},
		{"-2\n", 0, false, telemetry.ErrMalformed},
		{"4294967296\n", 0, false, telemetry.ErrMalformed},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, known, err := telemetry.ParseLinkSpeed([]byte(tc.text))
			checkParsed(t, tc.want, got, tc.err, err)
			if known != tc.known {
				t.Errorf("known = %v", known)
			}
		})
	}
}

func TestParseMeminfo(t *testing.T) {
	const head = "MemTotal:       1000 kB\nMemFree:         300 kB\n"
	const tail = "Buffers:          10 kB\nCached:           20 kB\n"
	for _, tc := range []struct {
		name, text string
		want       telemetry.Meminfo
		err        error
	}{
		{"6.x", head + "MemAvailable:    600 kB\n" + tail + "SwapCached: 1 kB\n",
			telemetry.Meminfo{Total: 1000 << 10, Free: 300 << 10, Available: 600 << 10, Buffers: 10 << 10, Cached: 20 << 10, HasAvailable: true, HasCache: true}, nil},
		{"before 3.14", head + tail, telemetry.Meminfo{Total: 1000 << 10, Free: 300 << 10, Buffers: 10 << 10, Cached: 20 << 10, HasCache: true}, nil},
		{"cut", head + "MemAvailable: 600 kB\nBuffers:          10 kB\nCached:           20", telemetry.Meminfo{Total: 1000 << 10, Available: 600 << 10, HasAvailable: true}, nil},
		{"cut in MemTotal", head[:20], telemetry.Meminfo{}, telemetry.ErrPartial},
		{"empty", "", telemetry.Meminfo{}, telemetry.ErrPartial},
		{"other unit", strings.ReplaceAll(head+tail, "kB", "MB"), telemetry.Meminfo{}, telemetry.ErrMalformed},
		{"no memory at all", strings.ReplaceAll(head, "1000", "0") + tail, telemetry.Meminfo{}, telemetry.ErrMalformed},
		{"more free than there is", strings.ReplaceAll(head, "300", "1001") + "MemAvailable: 600 kB\n" + tail,
			telemetry.Meminfo{Total: 1000 << 10, Available: 600 << 10, HasAvailable: true}, nil},
		{"more free and cached than there is", strings.ReplaceAll(head, "300", "981") + "MemAvailable: 600 kB\n" + tail,
			telemetry.Meminfo{Total: 1000 << 10, Available: 600 << 10, HasAvailable: true}, nil},
		{"more available than there is", head + "MemAvailable: 1001 kB\n" + tail,
			telemetry.Meminfo{Total: 1000 << 10, Free: 300 << 10, Buffers: 10 << 10, Cached: 20 << 10, HasCache: true}, nil},
		{"no number", head + "MemAvailable: 600 kB\nBuffers: -4 kB\nCached: 20 kB\n",
			telemetry.Meminfo{Total: 1000 << 10, Available: 600 << 10, HasAvailable: true}, nil},
		{"two characters end a line", strings.ReplaceAll(head+"MemAvailable: 600 kB\n"+tail, "\n", "\r\n"),
			telemetry.Meminfo{Total: 1000 << 10, Free: 300 << 10, Available: 600 << 10, Buffers: 10 << 10, Cached: 20 << 10, HasAvailable: true, HasCache: true}, nil},
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
	agreeWithProcfs(t, "testdata/linux-6.18-hybrid/proc")
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
	seed(f, "proc/stat", "cpu  1 2 4 8\ncpu0 1\nprocs_running 2\n", "cpu  18446744073709551615 1 1 1\ncpu0\nprocs_running \n")
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := parsed(t, telemetry.ParseStat, text)
		if !ok {
			return
		}
		if got.Online < 1 || got.Steal > got.Busy {
			t.Errorf("%+v", got)
		}
		again := fmt.Appendf(nil, "cpu  %d 0 0 %d 0 0 0 %d\n", got.Busy-got.Steal, got.Idle, got.Steal)
		again = append(again, strings.Repeat("cpu0\n", got.Online)...)
		same, err := telemetry.ParseStat(fmt.Appendf(again, "procs_running %d\n", got.Running))
		checkParsed(t, got, same, nil, err)
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
	seed(f, "cgroup/unified/cpu.stat", "nr_periods 0\nthrottled_time 5000\n", "usage_usec 1\nthrottled_usec 2\n")
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, ok := parsed(t, telemetry.ParseCPUStat, text); ok {
			again, err := telemetry.ParseCPUStat(fmt.Appendf(nil, "usage_usec %d\n", got))
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

func FuzzParseCounter(f *testing.F) {
	seed(f, "cgroup/cpuacct/cpuacct.usage", "0\n", "18446744073709551616\n", "-1\n")
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, ok := parsed(t, telemetry.ParseCounter, text); ok {
			again, err := telemetry.ParseCounter(fmt.Appendln(nil, got))
			checkParsed(t, got, again, nil, err)
		}
	})
}

func FuzzParseInterfaces(f *testing.F) {
	seed(f, "proc/net/dev", "a|\nb|\nlo:1\n", "a|\nb|\n../..: 1\n")
	f.Fuzz(func(t *testing.T, text []byte) {
		joined := func(text []byte) (string, error) {
			names, err := telemetry.ParseInterfaces(nil, text)
			return string(bytes.Join(names, []byte{'/'})), err
		}
		got, ok := parsed(t, joined, text)
		for _, name := range strings.Split(got, "/") {
			if ok && got != "" && (name != filepath.Base(name) || name == "." || name == "..") {
				t.Errorf("%q is no name", name)
			}
		}
	})
}

func FuzzParseLinkSpeed(f *testing.F) {
	seed(f, "sys/class/net/eth0/speed", "10000\n", "4294967295\n", "0\n", "-1\n0")
	f.Fuzz(func(t *testing.T, text []byte) {
		speed := func(text []byte) (float64, error) {
			speed, known, err := telemetry.ParseLinkSpeed(text)
			if known != (speed > 0) {
				t.Errorf("%v, %v", speed, known)
			}
			return speed, err
		}
		if got, ok := parsed(t, speed, text); ok && (math.IsNaN(got) || got < 0 || got > 1<<32*125_000) {
			t.Errorf("%v", got)
		}
	})
}
