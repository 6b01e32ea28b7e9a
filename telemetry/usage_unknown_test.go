package telemetry_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// TestCgroupWithoutAProcess: the usage of a pod whose cgroup never had a process is unknown,
// whether its containers' cgroups are missing or empty. Once a process runs, all usage is known.
func TestCgroupWithoutAProcess(t *testing.T) {
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			k.t = t
			u := k.usage()
			read(t, u, start)
			pods := []telemetry.Pod{{UID: podA, State: telemetry.PodRunning, Starts: 1}, {UID: podB}}
			u.Observe(start, pods)
			for _, uid := range []string{podA, podB} {
				k.start(k.pod(uid), "", group{unrun: true, memory: 300})
			}
			k.start(k.container(podB, idB), "", group{unrun: true, memory: 300})
			k.set("", group{cpu: time.Second, memory: 300})
			for _, age := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 31 * time.Second} {
				var dst telemetry.Usage
				if err := u.ReadTo(&dst, start.Add(age)); err != nil || len(dst.Pods) != 0 {
					t.Fatalf("at %v: %+v, %v", age, dst, err)
				}
				// podA is known to run, so this is an error once it is no longer young.
				if unseen := age >= 30*time.Second; unseen != (len(dst.Failed) == 1) ||
					unseen && (!errors.Is(dst.Failed[0], telemetry.ErrUnseenPods) || !strings.Contains(dst.Failed[0].Error(), k.pod(podA))) {
					t.Errorf("at %v failed %v", age, dst.Failed)
				}
				var cpu telemetry.CPUUsage
				if err := u.ReadCPUTo(&cpu, start.Add(age)); err != nil || len(cpu.Pods) != 0 || len(cpu.Failed) != 0 {
					t.Fatalf("at %v: %+v, %v", age, cpu, err)
				}
			}
			k.set(k.pod(podB), group{cpu: time.Second, memory: 5000, current: 5000, peak: 5000})
			u.Observe(start.Add(40*time.Second), []telemetry.Pod{{UID: podA}, {UID: podB}})
			got := read(t, u, start.Add(50*time.Second))
			if len(got) != 1 || got[0].UID != podB || got[0].CPU != time.Second || got[0].Memory != 5000 || got[0].Age != 50*time.Second {
				t.Errorf("when it runs: %+v", got)
			}
			for _, uid := range []string{podA, podB} {
				k.end(k.pod(uid))
			}
			u.Observe(start.Add(51*time.Second), nil)
			if got = read(t, u, start.Add(51*time.Second)); len(got) != 1 || got[0].UID != podB || !got[0].Ended {
				t.Errorf("at their end: %+v", got)
			}
		})
	}
}

// TestBadFilesCostThemselves: a missing, empty or absurd file of a pod's cgroup makes only its own
// values unknown.
func TestBadFilesCostThemselves(t *testing.T) {
	const missing = "\x00"
	good := group{cpu: time.Second, stalled: time.Second / 4, throttled: time.Second / 8, periods: 10, held: 2, memory: 6000, current: 9000, peak: 9000, oom: 1}
	full := telemetry.PodReading{
		UID: podA, Age: time.Second, CPU: time.Second, Stalled: time.Second / 4, Pressure: true, Throttled: time.Second / 8,
		Periods: 10, ThrottledPeriods: 2, Memory: 6000, MemoryPeak: 6000, OOMKills: 1,
	}
	without := func(change func(r *telemetry.PodReading)) telemetry.PodReading {
		r := full
		change(&r)
		return r
	}
	noMemory := without(func(r *telemetry.PodReading) { r.NoMemory, r.Memory, r.MemoryPeak, r.OOMKills = true, 0, 0, 0 })
	noCPU := without(func(r *telemetry.PodReading) {
		r.NoCPU, r.CPU, r.Stalled, r.Pressure, r.Throttled, r.Periods, r.ThrottledPeriods = true, 0, 0, false, 0, 0, 0
	})
	noPressure := without(func(r *telemetry.PodReading) { r.Stalled, r.Pressure = 0, false })
	noLimit := without(func(r *telemetry.PodReading) { r.Throttled, r.Periods, r.ThrottledPeriods = 0, 0, 0 })
	noKills := without(func(r *telemetry.PodReading) { r.OOMKills = 0 })
	for name, tc := range map[string]struct {
		file, text string
		want       telemetry.PodReading
		failed     string
	}{
		"memory below zero":             {"memory.stat", "anon -4096\nshmem 200\n", noMemory, "memory.stat"},
		"memory below zero, unsigned":   {"memory.stat", "anon 18446744073709547520\nshmem 200\n", noMemory, "memory.stat"},
		"a kind of memory below zero":   {"memory.stat", "anon 5700\nshmem 200\nsock 100\nslab_unreclaimable 18446744073709547520\nfile_dirty -1\n", full, ""},
		"no memory controller":          {"memory.stat", missing, noMemory, ""},
		"empty memory":                  {"memory.stat", "", noMemory, "memory.stat"},
		"no peak":                       {"memory.peak", missing, full, ""},
		"an absurd peak":                {"memory.peak", "-1\n", full, "memory.peak"},
		"an endless peak":               {"memory.peak", "max\n", full, "memory.peak"},
		"a peak below zero, unsigned":   {"memory.peak", "18446744073709547520\n", full, "memory.peak"},
		"a peak without limit":          {"memory.peak", "9223372036854771712\n", full, "memory.peak"},
		"current memory below zero":     {"memory.current", "18446744073709547520\n", full, "memory.current"},
		"memory beyond any machine":     {"memory.stat", "anon 576460752303423488\nshmem 0\n", noMemory, "memory.stat"},
		"no current memory":             {"memory.current", missing, full, ""},
		"empty current memory":          {"memory.current", "", full, "memory.current"},
		"no kills":                      {"memory.events", missing, noKills, ""},
		"absurd kills":                  {"memory.events", "oom_kill -1\n", noKills, "memory.events"},
		"no CPU time":                   {"cpu.stat", "user_usec 5\n", noCPU, "cpu.stat"},
		"no CPU file":                   {"cpu.stat", missing, noCPU, ""},
		"empty CPU file":                {"cpu.stat", "", noCPU, "cpu.stat"},
		"CPU time below zero":           {"cpu.stat", "usage_usec -5\n", noCPU, "cpu.stat"},
		"CPU time below zero, unsigned": {"cpu.stat", "usage_usec 18446744073709547520\n", noCPU, "cpu.stat"},
		"parts of CPU time below zero":  {"cpu.stat", "usage_usec 1000000\nuser_usec -5\nsystem_usec x\n", noLimit, ""},
		"a limit's figures below zero":  {"cpu.stat", "usage_usec 1000000\nnr_periods -5\nnr_throttled 2\nthrottled_usec 125000\n", noLimit, ""},
		"two characters end a line":     {"cpu.stat", "usage_usec 1000000\r\nnr_periods 10\r\nnr_throttled 2\r\nthrottled_usec 125000\r\n", full, ""},
		"no pressure":                   {"cpu.pressure", missing, noPressure, ""},
		"empty pressure":                {"cpu.pressure", "", noPressure, "cpu.pressure"},
		"pressure below zero":           {"cpu.pressure", "some avg10=0.00 total=-5\n", noPressure, "cpu.pressure"},
		"full pressure below zero":      {"cpu.pressure", "some avg10=0.00 total=250000\nfull avg10=0.00 total=-5\n", full, ""},
		"words of a newer kernel":       {"cpu.pressure", "most x\nsome avg10=0.00 total=250000 subtotal=x\n", full, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := usageTrees(t)["v2"]
			u := k.usage()
			read(t, u, start)
			u.Observe(start, telemetry.RunningPods(podA))
			k.start(k.pod(podA), "", good)
			path := filepath.Join(k.root, k.tree, k.pod(podA), tc.file)
			if tc.text == missing {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			} else {
				k.write(path, tc.text)
			}
			var dst telemetry.Usage
			if err := u.ReadTo(&dst, start.Add(time.Second)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]telemetry.PodReading{tc.want}, dst.Pods); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			switch {
			case tc.failed == "" && len(dst.Failed) > 0:
				t.Errorf("failed: %v", dst.Failed)
			case tc.failed != "" && (len(dst.Failed) != 1 || !strings.Contains(dst.Failed[0].Error(), path)):
				t.Errorf("failed: %v, want %s", dst.Failed, path)
			}
			k.set(k.pod(podA), good)
			if err := u.ReadTo(&dst, start.Add(12*time.Second)); err != nil || len(dst.Failed) > 0 || len(dst.Pods) != 1 {
				t.Fatalf("mended: %+v, %v", dst, err)
			}
			if got := dst.Pods[0]; got.NoCPU || got.NoMemory || got.CPU != time.Second || got.Memory != 6000 || got.Periods != 10 {
				t.Errorf("mended: %+v", got)
			}
		})
	}
}

// TestControllersThatAreOff: on cgroup v1 a kernel may have one of the controllers alone.
func TestControllersThatAreOff(t *testing.T) {
	for _, off := range []string{"memory", "cpuacct"} {
		k := usageTrees(t)["v1"]
		k.t = t
		u := k.usage()
		k.start(k.pod(podA), "", group{cpu: time.Second, memory: 6000})
		if err := os.RemoveAll(filepath.Join(k.root, off)); err != nil {
			t.Fatal(err)
		}
		got := read(t, u, start)
		if len(got) != 1 || got[0].NoMemory != (off == "memory") || got[0].NoCPU != (off == "cpuacct") ||
			off == "memory" && got[0].CPU != time.Second || off == "cpuacct" && got[0].Memory != 6000 {
			t.Errorf("without %s: %+v", off, got)
		}
	}
}

// TestWhatWasReadIsKept: sums that one reading lacks stay as they were; memory pressure, which is
// wall time, is unknown over an interval in which it grew by more.
func TestWhatWasReadIsKept(t *testing.T) {
	k := usageTrees(t)["v2"]
	u := k.usage()
	read(t, u, start)
	u.Observe(start, telemetry.RunningPods(podA))
	k.start(k.pod(podA), "", group{cpu: time.Second, throttled: time.Second / 8, periods: 10, held: 2, memory: 6000, oom: 1})
	set := func(file, text string) { k.write(filepath.Join(k.root, k.tree, k.pod(podA), file), text) }
	stall := func(total time.Duration) {
		set("memory.pressure", fmt.Sprintf("some avg10=0.00 total=%d\n", total.Microseconds()))
	}
	stall(0)
	if got := read(t, u, start.Add(time.Second)); len(got) != 1 || got[0].Periods != 10 {
		t.Fatalf("%+v", got)
	}
	set("cpu.stat", "usage_usec 2000000\nnr_periods -1\nnr_throttled 2\nthrottled_usec 5\n")
	got := read(t, u, start.Add(12*time.Second))
	if len(got) != 1 || got[0].CPU != 2*time.Second || got[0].Periods != 10 || got[0].ThrottledPeriods != 2 || got[0].Throttled != time.Second/8 {
		t.Errorf("of a limit that can't be read: %+v", got)
	}
	for i, tc := range []struct {
		total time.Duration
		known bool
	}{{5 * time.Second, true}, {10 * time.Minute, false}, {10*time.Minute + 5*time.Second, true}, {0, false}, {time.Second, true}} {
		stall(tc.total)
		age := time.Duration(i+1) * time.Minute
		if got := read(t, u, start.Add(age)); len(got) != 1 || got[0].MemoryPressure != tc.known {
			t.Errorf("%v waited for memory at %v: %+v", tc.total, age, got)
		}
	}
}
