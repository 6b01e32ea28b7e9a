package telemetry_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// kubelet is a made-up tree of cgroups in one of the layouts.
type kubelet struct {
	*machine
	// tree is the kubelet's directory, below each of the layout's hierarchies.
	tree string
	v1   bool
	// unified: the v1 layout is hybrid and the runtime knows it.
	unified, systemd bool
	parts            []string
}

// usageTrees are all layouts that a kubelet may have.
func usageTrees(t *testing.T) map[string]*kubelet {
	made := map[string]*kubelet{}
	for _, systemd := range []bool{false, true} {
		for name, k := range map[string]*kubelet{
			"v2":     {parts: []string{""}},
			"v1":     {v1: true, parts: []string{"cpu", "cpuacct", "memory"}},
			"v1-one": {v1: true, parts: []string{"cpuacct,cpu", "memory"}},
			"hybrid": {v1: true, unified: true, parts: []string{"cpu,cpuacct", "memory", "unified"}},
		} {
			k := *k
			k.machine, k.tree, k.systemd = newMachine(t), "kubepods", systemd
			if systemd {
				k.tree, name = "kubepods.slice", name+"-systemd"
			}
			for _, part := range k.parts {
				k.mkdir(filepath.Join(part, k.tree, k.class()))
			}
			made[name] = &k
		}
	}
	return made
}

func (k *kubelet) class() string {
	if k.systemd {
		return "kubepods-besteffort.slice"
	}
	return "besteffort"
}

func (k *kubelet) mkdir(dir string) {
	k.t.Helper()
	if err := os.MkdirAll(filepath.Join(k.root, dir), 0o755); err != nil {
		k.t.Fatal(err)
	}
}

// pod and container are directories relative to the kubelet's.
func (k *kubelet) pod(uid string) string {
	if k.systemd {
		return k.class() + "/kubepods-besteffort-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice"
	}
	return k.class() + "/pod" + uid
}

func (k *kubelet) container(uid, id string) string {
	if k.systemd {
		return k.pod(uid) + "/cri-containerd-" + id + ".scope"
	}
	return k.pod(uid) + "/" + id
}

// group has the contents of a cgroup's files.
type group struct {
	cpu, stalled, throttled           time.Duration
	periods, held                     uint64
	memory, cache, current, peak, oom uint64
	// unrun: no process has ever been in it.
	unrun bool
}

// set writes the files of a cgroup.
func (k *kubelet) set(dir string, g group) {
	k.t.Helper()
	if g.cpu == 0 && !g.unrun { // as little as a process that has run can have taken
		g.cpu = time.Microsecond
	}
	file := func(part, name, text string) { k.write(filepath.Join(k.root, part, k.tree, dir, name), text) }
	stat := fmt.Sprintf("usage_usec %d\nuser_usec 5\nsystem_usec 7\nnice_usec 0\n", g.cpu.Microseconds())
	pressure := fmt.Sprintf("some avg10=1.00 avg60=2.00 avg300=3.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n", g.stalled.Microseconds())
	if !k.v1 {
		file("", "cpu.stat", stat+fmt.Sprintf("core_sched.force_idle_usec 0\nnr_periods %d\nnr_throttled %d\nthrottled_usec %d\nnr_bursts 0\nburst_usec 0\n",
			g.periods, g.held, g.throttled.Microseconds()))
		file("", "cpu.pressure", pressure)
		file("", "memory.stat", fmt.Sprintf("anon %d\nfile %d\nkernel 9\nkernel_stack 0\npagetables 0\nsec_pagetables 0\npercpu 64\nsock 100\nvmalloc 0\nshmem 200\nzswap 0\nslab_reclaimable 55\nslab_unreclaimable 0\nslab 55\n",
			g.memory-300, g.cache))
		file("", "memory.current", fmt.Sprintln(g.current))
		file("", "memory.peak", fmt.Sprintln(g.peak))
		file("", "memory.events", fmt.Sprintf("low 0\nhigh 0\nmax 4\noom 3\noom_kill %d\noom_group_kill 0\n", g.oom))
		return
	}
	cpu, acct := k.parts[0], k.parts[0]
	if cpu == "cpu" {
		acct = "cpuacct"
	}
	file(acct, "cpuacct.usage", fmt.Sprintln(g.cpu.Nanoseconds()))
	file(cpu, "cpu.stat", fmt.Sprintf("nr_periods %d\nnr_throttled %d\nthrottled_time %d\nnr_bursts 0\n", g.periods, g.held, g.throttled.Nanoseconds()))
	file("memory", "memory.stat", fmt.Sprintf("cache %d\nrss 1\nshmem 2\ntotal_cache %d\ntotal_rss %d\ntotal_shmem 200\n", g.cache, g.cache, g.memory-200))
	file("memory", "memory.usage_in_bytes", fmt.Sprintln(g.current))
	file("memory", "memory.max_usage_in_bytes", fmt.Sprintln(g.peak))
	if k.unified {
		file("unified", "cpu.stat", stat)
		file("unified", "cpu.pressure", pressure)
	}
}

// start makes a cgroup with a process of a name, or none.
func (k *kubelet) start(dir, comm string, g group) {
	k.t.Helper()
	for _, part := range k.parts {
		k.mkdir(filepath.Join(part, k.tree, dir))
		if comm == "" {
			continue
		}
		k.write(filepath.Join(k.root, part, k.tree, dir, "cgroup.procs"), "77"+strconv.Itoa(len(comm))+"\n")
		k.write(filepath.Join(k.proc, "77"+strconv.Itoa(len(comm)), "comm"), comm+"\n")
	}
	k.set(dir, g)
}

func (k *kubelet) end(dir string) {
	k.t.Helper()
	for _, part := range k.parts {
		if err := os.RemoveAll(filepath.Join(k.root, part, k.tree, dir)); err != nil {
			k.t.Fatal(err)
		}
	}
}

func (k *kubelet) usage() *telemetry.PodUsage {
	k.t.Helper()
	u, err := telemetry.NewPodUsage(telemetry.CgroupConfig{Root: k.root, ProcRoot: k.proc})
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { u.Close() })
	return u
}

func read(t testing.TB, u *telemetry.PodUsage, at time.Time) []telemetry.PodReading {
	t.Helper()
	var dst telemetry.Usage
	if err := u.ReadTo(&dst, at); err != nil {
		t.Fatal(err)
	}
	for _, err := range dst.Failed {
		t.Error(err)
	}
	return append([]telemetry.PodReading(nil), dst.Pods...)
}

const (
	podA = "0a000000-0000-4000-8000-000000000001"
	podB = "0b000000-0000-4000-8000-000000000002"
	idA  = "aaaaaaaaaaaaaaaa0000000000000000000000000000000000000000000000aa"
	idB  = "bbbbbbbbbbbbbbbb0000000000000000000000000000000000000000000000bb"
	idP  = "cccccccccccccccc0000000000000000000000000000000000000000000000cc"
)

// TestPodUsageLife follows a pod of two containers from its first container to the end
// of its cgroup, in every layout.
func TestPodUsageLife(t *testing.T) {
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			k.t = t
			u := k.usage()
			if got := read(t, u, start); len(got) > 0 {
				t.Fatalf("read %v of an empty node", got)
			}
			at := start.Add(300 * time.Millisecond)
			u.Observe(at, []telemetry.Pod{{UID: podA}})
			first := group{cpu: 40 * time.Millisecond, memory: 5000, cache: 1e6, current: 1e6, peak: 1e6}
			k.start(k.pod(podA), "", first)
			k.start(k.container(podA, idP), "pause", group{memory: 300})
			if got := read(t, u, at.Add(100*time.Millisecond)); len(got) > 0 {
				t.Errorf("read %v ahead of an age of 1 s", got)
			}
			k.start(k.container(podA, idA), "server", group{cpu: time.Second, memory: 4000})
			u.Observe(at.Add(time.Second), telemetry.RunningPods(podA))
			later := group{
				cpu: 1500 * time.Millisecond, stalled: 300 * time.Millisecond, throttled: 20 * time.Millisecond, periods: 10, held: 2,
				memory: 7000, cache: 2e6, current: 2e6, peak: 2e6 + 500, oom: 1,
			}
			k.set(k.pod(podA), later)
			want := telemetry.PodReading{
				UID: podA, Age: time.Second, CPU: later.cpu, Stalled: later.stalled, Pressure: true,
				Throttled: later.throttled, Periods: 10, ThrottledPeriods: 2, Memory: 7000, MemoryPeak: 7500, OOMKills: 1,
			}
			if k.v1 {
				want.OOMKills = 0
				if !k.unified {
					want.Stalled, want.Pressure = 0, false
				}
			}
			ended := want
			if k.v1 && !slices.Contains(k.parts, "unified") { // where no pressure is reported, nor is this of a young pod
				want.Throttled, want.Periods, want.ThrottledPeriods = 0, 0, 0
			}
			expect := func(at time.Time, want ...telemetry.PodReading) {
				t.Helper()
				if d := cmp.Diff(want, read(t, u, at)); d != "" {
					t.Errorf("at %v (-want +got):\n%s", at.Sub(start), d)
				}
			}
			expect(at.Add(time.Second), want) // one container and the sandbox: the pod alone
			expect(at.Add(1100 * time.Millisecond))

			k.start(k.container(podA, idB), "sidecar", group{cpu: 7 * time.Second, memory: 900})
			u.Observe(at.Add(1200*time.Millisecond), []telemetry.Pod{{UID: podA, State: telemetry.PodRunning, Starts: 2}})
			got := read(t, u, at.Add(2*time.Second))
			if len(got) != 3 || got[0].Container != "" || got[1].Container != idA || got[2].Container != idB ||
				got[1].CPU != time.Second || got[2].CPU != 7*time.Second || got[2].Memory != 900 || got[0].Age != 2*time.Second {
				t.Fatalf("a pod of two containers: %+v", got)
			}

			// A container goes, and with the next the pod: one reading each, the last
			// with what the counters end at.
			k.end(k.container(podA, idB))
			u.Observe(at.Add(3*time.Second), []telemetry.Pod{{UID: podA, State: telemetry.PodRunning, Starts: 3}})
			want.Age = 3 * time.Second
			expect(at.Add(3*time.Second), want)
			later.cpu, later.memory, later.current = 1900*time.Millisecond, 300, 300
			k.set(k.pod(podA), later)
			k.end(k.container(podA, idA))
			k.end(k.container(podA, idP))
			u.Observe(at.Add(4*time.Second), nil)
			ended.CPU, ended.Memory, ended.Age, ended.Ended = later.cpu, 300, 4*time.Second, true
			expect(at.Add(4*time.Second), ended)
			expect(at.Add(5 * time.Second))
			k.end(k.pod(podA))
			expect(at.Add(40 * time.Second)) // the tree is listed anew: nothing more to say
			expect(at.Add(80 * time.Second))
		})
	}
}

// TestTreeMadeAnew: a kubelet's tree that was replaced between two scans is not read as the former
// one.
func TestTreeMadeAnew(t *testing.T) {
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			k.start(k.pod(podA), "", group{cpu: time.Second, memory: 1000})
			u := k.usage()
			if got := read(t, u, start); len(got) != 1 || got[0].UID != podA {
				t.Fatalf("read %v", got)
			}
			k.end("")
			k.start(k.pod(podB), "", group{cpu: 3 * time.Second, memory: 2000})
			u.Observe(start.Add(time.Second), telemetry.RunningPods(podB))
			got := read(t, u, start.Add(2*time.Second))
			got = slices.DeleteFunc(got, func(r telemetry.PodReading) bool { return r.UID == podA })
			if len(got) != 1 || got[0].UID != podB || got[0].CPU != 3*time.Second || got[0].Memory != 2000 {
				t.Errorf("read %+v", got)
			}
		})
	}
}

// TestNoSandbox: without sandboxes both of two containers work, once that many have started; with
// CRI-O always.
func TestNoSandbox(t *testing.T) {
	for name, k := range usageTrees(t) {
		for _, id := range []string{idA, idB} {
			k.start(k.pod(podA)+"/crio-"+id+".scope", "server", group{cpu: time.Second, memory: 1000})
			k.start(k.container(podB, id), "server", group{cpu: time.Second, memory: 1000})
		}
		for _, uid := range []string{podA, podB} {
			k.set(k.pod(uid), group{cpu: 2 * time.Second, memory: 2000})
		}
		u := k.usage()
		read(t, u, start)
		u.Observe(start, []telemetry.Pod{{UID: podA, State: telemetry.PodRunning, Starts: 1}, {UID: podB, State: telemetry.PodRunning, Starts: 2}})
		got := read(t, u, start.Add(12*time.Second))
		for i, id := range []string{"", idA, idB, "", idA, idB} {
			if len(got) != 6 || got[i].Container != id {
				t.Fatalf("%s: %+v", name, got)
			}
		}
	}
}

// TestNestedContainers: the workload may run in groups below its container's, as crun does with
// systemd. OpenShift's sandbox is none of them.
func TestNestedContainers(t *testing.T) {
	for name, k := range usageTrees(t) {
		for i, comm := range []string{"nginx", "sidecars", "pod"} {
			id := []string{idA, idB, idP}[i]
			scope := k.pod(podA) + "/crio-" + id + ".scope"
			k.start(scope, "", group{cpu: time.Second, memory: 1000})
			k.start(scope+"/container", comm, group{cpu: time.Second, memory: 1000})
			k.start(k.pod(podA)+"/crio-conmon-"+id+".scope", "conmon", group{cpu: time.Second, memory: 1000})
		}
		k.set(k.pod(podA), group{cpu: 3 * time.Second, memory: 3000})
		u := k.usage()
		read(t, u, start)
		u.Observe(start, []telemetry.Pod{{UID: podA, State: telemetry.PodRunning, Starts: 2}})
		got := read(t, u, start.Add(12*time.Second))
		for i, id := range []string{"", idA, idB} {
			if len(got) != 3 || got[i].Container != id {
				t.Fatalf("%s: %+v", name, got)
			}
		}
	}
}

// TestStoppedPodIsRead: when a pod's container has gone, the pod is read whatever its age, and its
// schedule continues.
func TestStoppedPodIsRead(t *testing.T) {
	for name, k := range usageTrees(t) {
		u := k.usage()
		read(t, u, start)
		pod := telemetry.Pod{UID: podA}
		u.Observe(start, []telemetry.Pod{pod})
		k.start(k.pod(podA), "", group{cpu: time.Second, memory: 2000})
		k.start(k.container(podA, idP), "pause", group{memory: 300})
		var ages []float64
		for tick := range 120 {
			at := start.Add(time.Duration(tick) * 100 * time.Millisecond)
			switch tick {
			case 3:
				k.start(k.container(podA, idA), "server", group{memory: 1000})
				pod.State, pod.Starts = telemetry.PodRunning, 1
			case 23:
				k.end(k.container(podA, idA))
				pod.State = telemetry.PodStopped
			case 70:
				k.end(k.container(podA, idP))
			}
			if tick < 70 {
				u.Observe(at, []telemetry.Pod{pod})
			} else {
				u.Observe(at, nil)
			}
			for _, r := range read(t, u, at) {
				ages = append(ages, r.Age.Seconds())
				if r.Ended != (tick >= 70) {
					t.Errorf("%s: at %v ended %v", name, r.Age, r.Ended)
				}
			}
		}
		if want := []float64{1, 2, 2.3, 5, 7}; !slices.Equal(ages, want) {
			t.Errorf("%s: read at %v, want %v", name, ages, want)
		}
	}
}

// TestStoppedPodEndsAsItWas: the reading after a pod's only container has gone is complete, and is
// also its last one, whatever its files contain later. A restarted pod is read again.
func TestStoppedPodEndsAsItWas(t *testing.T) {
	for name, k := range usageTrees(t) {
		for _, then := range []string{"stays", "goes", "starts again"} {
			t.Run(name+" "+then, func(t *testing.T) {
				k.t = t
				k.start(k.pod(podB), "", group{memory: 1000})
				k.start(k.container(podB, idB), "server", group{memory: 1000})
				u := k.usage()
				read(t, u, start) // lists the other, so that this one is not
				k.end(k.pod(podB))
				pod := telemetry.Pod{UID: podA, State: telemetry.PodRunning, Starts: 1}
				at := start
				tell := func(after time.Duration, pods ...telemetry.Pod) []telemetry.PodReading {
					at = start.Add(after)
					u.Observe(at, pods)
					return slices.DeleteFunc(read(t, u, at), func(r telemetry.PodReading) bool { return r.UID != podA })
				}
				k.start(k.pod(podA), "", group{cpu: time.Second, memory: 2000, current: 9000, peak: 9000})
				k.start(k.container(podA, idP), "pause", group{memory: 300})
				k.start(k.container(podA, idA), "server", group{memory: 1700})
				tell(0, pod)
				tell(time.Second, pod)
				k.set(k.pod(podA), group{
					cpu: 3 * time.Second, stalled: time.Second, throttled: 200 * time.Millisecond, periods: 10, held: 2,
					memory: 300, current: 400, peak: 9000, oom: 1,
				})
				k.end(k.container(podA, idA))
				pod.State = telemetry.PodStopped
				want := tell(1500*time.Millisecond, pod)
				if len(want) != 1 || want[0].Ended || want[0].CPU != 3*time.Second || want[0].Memory != 300 ||
					want[0].Throttled != 200*time.Millisecond || want[0].ThrottledPeriods != 2 {
					t.Fatalf("as the container had gone: %+v", want)
				}
				last := group{cpu: 4 * time.Second, memory: 2500, current: 9000, peak: 9000}
				k.set(k.pod(podA), last)
				if then == "starts again" {
					k.start(k.container(podA, idB), "server", group{memory: 1700})
					pod.State, pod.Starts = telemetry.PodRunning, 2
					tell(1600*time.Millisecond, pod)
					k.end(k.container(podA, idB))
					want[0].CPU, want[0].Stalled, want[0].Throttled, want[0].Periods, want[0].ThrottledPeriods = last.cpu, 0, 0, 0, 0
					want[0].Memory, want[0].MemoryPeak, want[0].OOMKills = last.memory, last.memory, 0
				}
				k.end(k.container(podA, idP))
				if then == "goes" {
					k.end(k.pod(podA))
				}
				want[0].Age, want[0].Ended = 1700*time.Millisecond, true
				if d := cmp.Diff(want, tell(1700*time.Millisecond)); d != "" {
					t.Errorf("at its end (-want +got):\n%s", d)
				}
				for _, after := range []time.Duration{1800 * time.Millisecond, 40 * time.Second, 80 * time.Second, 120 * time.Second} {
					if after == 120*time.Second {
						k.end(k.pod(podA)) // seen gone at a scan
					}
					if got := tell(after); len(got) > 0 {
						t.Errorf("%v after its end: %+v", after, got)
					}
				}
			})
		}
	}
}

// TestEndIsToldOnce: a late report of a container's end causes no second last reading.
func TestEndIsToldOnce(t *testing.T) {
	for name, k := range usageTrees(t) {
		u := k.usage()
		read(t, u, start)
		u.Observe(start, []telemetry.Pod{{UID: podA}})
		k.start(k.pod(podA), "", group{cpu: time.Second, memory: 2000})
		k.start(k.container(podA, idP), "pause", group{memory: 300})
		read(t, u, start.Add(31*time.Second)) // lists the sandbox
		u.Observe(start.Add(32*time.Second), telemetry.RunningPods(podA))
		k.end(k.container(podA, idP))
		var ended int
		for s := 33; s < 60; s++ {
			at := start.Add(time.Duration(s) * time.Second)
			if s == 50 {
				u.Observe(at, []telemetry.Pod{{UID: podA, State: telemetry.PodStopped, Starts: 1}})
			}
			for _, r := range read(t, u, at) {
				if r.Ended {
					ended++
				}
			}
		}
		if ended != 1 {
			t.Errorf("%s: %d last readings", name, ended)
		}
	}
}

// TestEndedPodStaysEnded: a source that reports a pod again after its end, because its events are
// out of order, causes no further reading, nor does its sandbox, which may outlive it. A new
// container does.
func TestEndedPodStaysEnded(t *testing.T) {
	for name, k := range usageTrees(t) {
		for _, listed := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s listed %t", name, listed), func(t *testing.T) {
				k.t = t
				u := k.usage()
				if !listed { // where another has shown that there are sandboxes, one container is not looked for
					k.start(k.pod(podB), "", group{memory: 1000})
					k.start(k.container(podB, idB), "server", group{memory: 1000})
					read(t, u, start)
					k.end(k.pod(podB))
				}
				k.start(k.pod(podA), "", group{cpu: time.Second, memory: 2000})
				k.start(k.container(podA, idP), "pause", group{memory: 300})
				k.start(k.container(podA, idA), "server", group{memory: 1700})
				if listed {
					read(t, u, start)
				}
				running, again := telemetry.RunningPods(podA), []telemetry.Pod{{UID: podA, State: telemetry.PodRunning, Starts: 2}}
				got := map[int][]telemetry.PodReading{}
				for _, step := range []struct {
					second int
					pods   []telemetry.Pod
					change func()
				}{
					{0, running, nil},
					{1, running, nil},
					{2, []telemetry.Pod{{UID: podA, State: telemetry.PodStopped, Starts: 1}}, func() { k.end(k.container(podA, idA)) }},
					{3, nil, nil},
					{4, again, nil},
					{5, nil, nil},
					{40, nil, nil}, // the tree is scanned
					{80, nil, nil},
					{81, again, func() { k.end(k.container(podA, idP)) }},
					{82, nil, nil},
					{120, nil, func() {
						k.start(k.container(podA, idB), "server", group{memory: 1700})
						k.set(k.pod(podA), group{cpu: 2 * time.Second, memory: 2500})
					}},
				} {
					if step.change != nil {
						step.change()
					}
					at := start.Add(time.Duration(step.second) * time.Second)
					u.Observe(at, step.pods)
					for _, r := range read(t, u, at) {
						if r.UID == podA && step.second > 2 {
							got[step.second] = append(got[step.second], r)
						}
					}
				}
				last := telemetry.PodReading{
					UID: podA, Age: 3 * time.Second, AgeUnknown: listed, Ended: true, CPU: time.Second, Memory: 2000, MemoryPeak: 2000, Pressure: !k.v1 || k.unified,
				}
				back := last
				back.Age, back.AgeUnknown, back.Ended, back.CPU = 120*time.Second, true, false, 2*time.Second
				back.Memory, back.MemoryPeak = 2500, 2500
				if d := cmp.Diff(map[int][]telemetry.PodReading{3: {last}, 120: {back}}, got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				k.end(k.pod(podA))
			})
		}
	}
}

// TestUnlistedPodComesBack: the source loses a pod whose containers were never listed, and it ends.
// A container that has come when the pod is reported again is found beside its sandbox.
func TestUnlistedPodComesBack(t *testing.T) {
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			k.t = t
			k.start(k.pod(podB), "", group{memory: 1000})
			k.start(k.container(podB, idB), "server", group{memory: 1000})
			u := k.usage()
			read(t, u, start) // shows that there are sandboxes
			k.end(k.pod(podB))
			k.start(k.pod(podA), "", group{cpu: time.Second, memory: 2000})
			k.start(k.container(podA, idP), "pause", group{memory: 300})
			var got []telemetry.PodReading
			for s, pods := range [][]telemetry.Pod{
				telemetry.RunningPods(podA), telemetry.RunningPods(podA), {{UID: podA, State: telemetry.PodStopped, Starts: 1}}, nil,
				{{UID: podA, State: telemetry.PodRunning, Starts: 2}},
			} {
				at := start.Add(time.Duration(s) * time.Second)
				if s == 4 {
					k.start(k.container(podA, idB), "server", group{memory: 1700})
					k.set(k.pod(podA), group{cpu: time.Second, memory: 2600})
				}
				u.Observe(at, pods)
				got = slices.DeleteFunc(read(t, u, at), func(r telemetry.PodReading) bool { return r.UID != podA })
			}
			if len(got) != 1 || got[0].UID != podA || got[0].Ended || !got[0].AgeUnknown || got[0].CPU != time.Second || got[0].Memory != 2600 {
				t.Errorf("read %+v", got)
			}
		})
	}
}

// TestThrottlingReadAgain: a limit that could not be read once does not count as none.
func TestThrottlingReadAgain(t *testing.T) {
	k := usageTrees(t)["v1"]
	limited := group{cpu: time.Second, memory: 1000, periods: 100, held: 7}
	k.start(k.pod(podA), "", limited)
	u := k.usage()
	for s := range 12 {
		read(t, u, start.Add(time.Duration(s)*time.Second))
	}
	k.write(filepath.Join(k.root, "cpu", k.tree, k.pod(podA), "cpu.stat"), "nonsense\n")
	var dst telemetry.Usage
	if err := u.ReadTo(&dst, start.Add(25*time.Second)); err != nil || len(dst.Failed) != 1 {
		t.Fatalf("%v, %+v", err, dst)
	}
	k.set(k.pod(podA), limited)
	if got := read(t, u, start.Add(37*time.Second)); len(got) != 1 || got[0].ThrottledPeriods != limited.held {
		t.Errorf("%+v", got)
	}
}

// TestUnifiedTellsPressure: in a hybrid layout the unified hierarchy has the pressure of pods that
// are in it, which it shows by their waiting or usage there.
func TestUnifiedTellsPressure(t *testing.T) {
	const used = 40 * time.Millisecond
	for name, c := range map[string]struct {
		stalled, there time.Duration
		want           bool
	}{
		"it waited":                         {3 * time.Microsecond, used, true},
		"it waited, and nothing more known": {3 * time.Microsecond, 0, true},
		"it used its time there":            {0, used, true},
		"it used it elsewhere":              {0, used / 4, false},
		"it is empty":                       {0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			k := usageTrees(t)["hybrid"]
			k.t = t
			k.start(k.pod(podA), "", group{cpu: used, memory: 1000, stalled: c.stalled})
			k.write(filepath.Join(k.root, "unified", k.tree, k.pod(podA), "cpu.stat"), fmt.Sprintf("usage_usec %d\n", c.there.Microseconds()))
			got := read(t, k.usage(), start)
			want := []telemetry.PodReading{{UID: podA, AgeUnknown: true, CPU: used, Memory: 1000, MemoryPeak: 1000, Stalled: c.stalled, Pressure: c.want}}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestMemoryPressureOfShortPods: the pressure of a pod that ends before it is a minute old is
// unknown, although the kernel counts it.
func TestMemoryPressureOfShortPods(t *testing.T) {
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			k.t = t
			u := k.usage()
			read(t, u, start)
			u.Observe(start, telemetry.RunningPods(podA))
			k.start(k.pod(podA), "", group{cpu: time.Second, memory: 1000})
			k.start(k.container(podA, idA), "task", group{memory: 500})
			k.write(filepath.Join(k.root, k.parts[len(k.parts)-1], k.tree, k.pod(podA), "memory.pressure"), "some avg10=0.00 avg60=0.00 avg300=0.00 total=5000\n")
			ends := 0
			for s := range 50 {
				at := start.Add(time.Duration(s) * time.Second)
				if s == 49 {
					k.end(k.container(podA, idA))
					u.Observe(at, nil)
				}
				for _, r := range read(t, u, at) {
					if r.MemoryPressure || r.MemoryStalled != 0 {
						t.Errorf("at %v: %+v", r.Age, r)
					}
					if r.Ended {
						ends++
					}
				}
			}
			if ends != 1 {
				t.Errorf("ended %d times", ends)
			}
		})
	}
}

// TestMemoryPressure: it is read from a minute on, each minute and at the end, if the kernel counts
// it.
func TestMemoryPressure(t *testing.T) {
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			k.t = t
			u := k.usage()
			read(t, u, start)
			u.Observe(start, telemetry.RunningPods(podA))
			stalled := func(us int) {
				part := ""
				if k.v1 {
					part = "unified"
				}
				k.write(filepath.Join(k.root, part, k.tree, k.pod(podA), "memory.pressure"),
					fmt.Sprintf("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n", us))
			}
			k.start(k.pod(podA), "", group{cpu: time.Second, memory: 1000})
			k.start(k.container(podA, idA), "server", group{memory: 500})
			if !k.v1 || k.unified {
				stalled(0)
			}
			var known []time.Duration
			told := map[time.Duration]time.Duration{}
			for s := range 130 {
				age := time.Duration(s) * time.Second
				if !k.v1 || k.unified {
					stalled(1000 * s)
				}
				if s == 125 {
					k.end(k.container(podA, idA))
					u.Observe(start.Add(age), nil)
				}
				for _, r := range read(t, u, start.Add(age)) {
					if r.MemoryPressure {
						known, told[r.Age] = append(known, r.Age), r.MemoryStalled
					} else if r.MemoryStalled != 0 {
						t.Errorf("at %v waited %v, and that is not known", r.Age, r.MemoryStalled)
					}
				}
			}
			if k.v1 && !k.unified {
				if len(known) > 0 {
					t.Errorf("known at %v", known)
				}
				return
			}
			if len(known) < 6 || known[0] < 50*time.Second || known[0] > 62*time.Second {
				t.Fatalf("known at %v", known)
			}
			read := map[time.Duration]bool{}
			for _, age := range known {
				if told[age] > age/1000 || told[age] < (age-time.Minute-2*time.Second)/1000 {
					t.Errorf("at %v waited %v", age, told[age])
				}
				read[told[age]] = true
			}
			if last := known[len(known)-1]; last != 125*time.Second || told[last] != 125*time.Millisecond {
				t.Errorf("at its end, %v, it waited %v", last, told[last])
			}
			if len(read) != 3 {
				t.Errorf("read %d times, want once a minute and at the end: %v", len(read), told)
			}
		})
	}
}

// TestPodUsageSchedule: a pod is read at 1, 2, 5 s, then every 9 to 11 s; one that was there first,
// at once.
func TestPodUsageSchedule(t *testing.T) {
	k := usageTrees(t)["v2"]
	k.start(k.pod(podB), "", group{cpu: time.Hour, memory: 1000})
	u := k.usage()
	ages := map[string][]float64{}
	for tick := range 600 {
		at := start.Add(time.Duration(tick) * 100 * time.Millisecond)
		if tick == 5 {
			k.start(k.pod(podA), "", group{memory: 1000})
			u.Observe(at, telemetry.RunningPods(podA, podB))
		}
		for _, r := range read(t, u, at) {
			ages[r.UID] = append(ages[r.UID], r.Age.Seconds())
			if r.AgeUnknown != (r.UID == podB) {
				t.Errorf("%s older: %v", r.UID, r.AgeUnknown)
			}
		}
	}
	young, old := ages[podA], ages[podB]
	if len(young) < 8 || !slices.Equal(young[:3], []float64{1, 2, 5}) || len(old) < 5 || old[0] != 0 {
		t.Fatalf("read at %v", ages)
	}
	for _, steps := range [][]float64{young[2:], old} {
		for i := 1; i < len(steps); i++ {
			if step := steps[i] - steps[i-1]; step < 9 || step > 11.1 {
				t.Errorf("%v s between two readings", step)
			}
		}
	}
}

// TestPodUsageTogether: pods are read at the ages that matter, then every 9 to 11 s, and those that
// are due within a second are read together.
func TestPodUsageTogether(t *testing.T) {
	k := usageTrees(t)["v2"]
	u := k.usage()
	const pods, seconds = 50, 120
	rng := rand.New(rand.NewPCG(14, 4))
	begins, told := map[int][]string{}, []string{}
	for i := range pods {
		at := 1 + rng.IntN(200) // in tenths of a second
		begins[at] = append(begins[at], fmt.Sprintf("%08x-0000-4000-8000-000000000000", i))
	}
	ages, rested := map[string][]float64{}, 0
	for tick := range seconds * 10 {
		at := start.Add(time.Duration(tick) * 100 * time.Millisecond)
		for _, uid := range begins[tick] {
			k.start(k.pod(uid), "", group{memory: 1000})
			told = append(told, uid)
			u.Observe(at, telemetry.RunningPods(told...))
		}
		got := read(t, u, at)
		for _, r := range got {
			ages[r.UID] = append(ages[r.UID], r.Age.Seconds())
		}
		if tick >= (seconds-60)*10 && len(got) > 0 {
			rested++
		}
	}
	if len(ages) != pods {
		t.Errorf("%d pods read", len(ages))
	}
	for uid, all := range ages {
		if len(all) < 10 || !slices.Equal(all[:3], []float64{1, 2, 5}) {
			t.Errorf("%s read at %v", uid, all)
			continue
		}
		for i := 3; i < len(all); i++ {
			if step := all[i] - all[i-1]; step < 9 || step > 11.1 {
				t.Errorf("%s read at %v", uid, all)
				break
			}
		}
	}
	// In a minute each is read six times: 300 readings, in less than one pass a second.
	if rested == 0 || rested > 60 {
		t.Errorf("pods that all rest are looked at %d times in a minute", rested)
	}
}

// TestLimitGivenLater: on cgroup v1 a group without a CPU limit is checked for one once a minute
// and at its end, one with a limit at each reading, as is one that has not run yet.
func TestLimitGivenLater(t *testing.T) {
	for name, k := range usageTrees(t) {
		if k.systemd {
			continue // the names are another's matter
		}
		t.Run(name, func(t *testing.T) {
			k.t = t
			u := k.usage()
			read(t, u, start)
			const podC = "0c000000-0000-4000-8000-000000000003"
			u.Observe(start, telemetry.RunningPods(podA, podB, podC))
			k.start(k.container(podA, idA), "server", group{})
			k.start(k.container(podB, idB), "server", group{})
			k.start(k.container(podC, idP), "server", group{})
			held := map[string][]uint64{}
			for s := range 68 {
				age := time.Duration(s) * time.Second
				// podA and podC run at once and have a limit from 20 s on; podC ends at 41 s. podB runs
				// from 8 s on, with a limit.
				a, b := group{cpu: age, memory: 1000}, group{memory: 1000, unrun: s < 8}
				if s >= 20 {
					a.periods, a.held, a.throttled = uint64(10*(s-19)), uint64(s), age/2
				}
				if s >= 8 {
					b.cpu, b.periods, b.held = age, uint64(10*(s-7)), uint64(s)
				}
				k.set(k.pod(podA), a)
				k.set(k.pod(podB), b)
				k.set(k.pod(podC), a)
				if s == 41 {
					k.end(k.container(podC, idP))
					u.Observe(start.Add(age), telemetry.RunningPods(podA, podB))
				}
				for _, r := range read(t, u, start.Add(age)) {
					held[r.UID] = append(held[r.UID], r.ThrottledPeriods)
					late := time.Duration(0)
					if k.v1 && r.UID != podB && r.Age < 63*time.Second && !r.Ended {
						late = r.Age
					}
					if want := uint64(s); s >= 20 && late == 0 && r.ThrottledPeriods != want {
						t.Errorf("%s at %v: held up in %d periods, want %d", r.UID, r.Age, r.ThrottledPeriods, want)
					}
				}
			}
			if c := held[podC]; len(c) < 5 || c[len(c)-1] != 41 {
				t.Errorf("held up in %v periods", c)
			}
			if n := len(held[podA]); n < 8 || k.v1 && held[podA][5] != 0 {
				t.Errorf("a limit was asked about at each reading: %v", held[podA])
			}
		})
	}
}

// TestContainerReplaced: if a container was replaced since the last pass, a cgroup file system does
// not show it in the pod's directory, which has the same number of links and the same time.
func TestContainerReplaced(t *testing.T) {
	const idC = "dddddddddddddddd0000000000000000000000000000000000000000000000dd"
	for name, k := range usageTrees(t) {
		k.start(k.pod(podA), "", group{cpu: 3 * time.Second, memory: 3000})
		for _, id := range []string{idA, idB} {
			k.start(k.container(podA, id), "work", group{cpu: time.Second, memory: 1000})
		}
		dirs, was := []string{}, []time.Time{}
		for _, part := range k.parts {
			dir := filepath.Join(k.root, part, k.tree, k.pod(podA))
			info, err := os.Stat(dir)
			if err != nil {
				t.Fatal(err)
			}
			dirs, was = append(dirs, dir), append(was, info.ModTime())
		}
		u := k.usage()
		read(t, u, start)
		k.end(k.container(podA, idB))
		k.start(k.container(podA, idC), "work", group{cpu: 2 * time.Second, memory: 2000})
		for i, dir := range dirs {
			if err := os.Chtimes(dir, was[i], was[i]); err != nil {
				t.Fatal(err)
			}
		}
		read(t, u, start.Add(31*time.Second))
		got := read(t, u, start.Add(45*time.Second))
		if len(got) != 3 || got[1].Container != idA || got[2].Container != idC || got[2].CPU != 2*time.Second {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestPodUsageGoesOn: a pod with broken files fails alone, by name; one whose cgroup disappears
// without an event ends with the last reading; so does the whole tree.
func TestPodUsageGoesOn(t *testing.T) {
	k := usageTrees(t)["v2"]
	k.start(k.pod(podA), "", group{cpu: time.Second, memory: 1000})
	k.start(k.pod(podB), "", group{cpu: 2 * time.Second, memory: 1000})
	u := k.usage()
	read(t, u, start)
	broken := filepath.Join(k.root, k.tree, k.pod(podA), "memory.stat")
	k.write(broken, "anon many\nshmem 0\n")
	k.end(k.pod(podB))
	var dst telemetry.Usage
	if err := u.ReadTo(&dst, start.Add(31*time.Second)); err != nil {
		t.Fatal(err)
	}
	if len(dst.Failed) != 1 || !errors.Is(dst.Failed[0], telemetry.ErrMalformed) || !strings.Contains(dst.Failed[0].Error(), broken) {
		t.Errorf("failed: %v", dst.Failed)
	}
	if len(dst.Pods) != 2 || dst.Pods[1].UID != podB || !dst.Pods[1].Ended || dst.Pods[1].CPU != 2*time.Second || dst.Pods[1].Age != 31*time.Second {
		t.Errorf("read %+v", dst.Pods)
	}
	if a := dst.Pods[0]; a.UID != podA || a.CPU != time.Second || a.NoCPU || !a.NoMemory || a.Memory != 0 {
		t.Errorf("of a pod whose memory can't be read: %+v", a)
	}
	k.set(k.pod(podA), group{cpu: 3 * time.Second, memory: 1000})
	if got := read(t, u, start.Add(45*time.Second)); len(got) != 1 || got[0].CPU != 3*time.Second {
		t.Errorf("mended: %+v", got)
	}
	k.end("")
	if err := u.ReadTo(&dst, start.Add(80*time.Second)); !errors.Is(err, telemetry.ErrNoPodUsage) || len(dst.Pods) > 0 {
		t.Errorf("without a tree: %v, %v", dst.Pods, err)
	}
	k.start(k.pod(podA), "", group{memory: 1000})
	if got := read(t, u, start.Add(120*time.Second)); len(got) != 1 {
		t.Errorf("with a tree again: %+v", got)
	}
}

// TestPodUsageBounds: 1,024 pods are followed, 64 are read at once, and none is left out.
func TestPodUsageBounds(t *testing.T) {
	k := usageTrees(t)["v2"]
	for i := range 1030 {
		dir := filepath.Join(k.root, k.tree, k.pod(fmt.Sprintf("%08x", i)))
		k.write(filepath.Join(dir, "memory.stat"), "anon 5\nshmem 0\n")
		k.write(filepath.Join(dir, "cpu.stat"), "usage_usec 5\n")
	}
	u := k.usage()
	seen := map[string]bool{}
	var dst telemetry.Usage
	for tick := range 20 {
		if err := u.ReadTo(&dst, start.Add(time.Duration(tick)*100*time.Millisecond)); err != nil || dst.Untracked != 6 || len(dst.Pods) > 64 {
			t.Fatalf("%v, %d untracked, %d read", err, dst.Untracked, len(dst.Pods))
		}
		for _, r := range dst.Pods {
			seen[r.UID] = true
		}
	}
	if len(seen) != 1024 {
		t.Errorf("%d pods read, want 1024", len(seen))
	}
}

func TestPodUsageRefuses(t *testing.T) {
	var bad *telemetry.FieldError
	if _, err := telemetry.NewPodUsage(telemetry.CgroupConfig{Rescan: -1}); !errors.As(err, &bad) || bad.Field != "Rescan" {
		t.Errorf("error %v", err)
	}
	if _, err := telemetry.NewPodUsage(telemetry.CgroupConfig{Root: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// TestPodUsageAgainstSlowReader compares readings of random counters with those of a reader that
// opens each file anew and splits it into words.
func TestPodUsageAgainstSlowReader(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 1))
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			k.t = t
			u, slow := k.usage(), &slowReader{k: k, memory: map[string]*slowMemory{}}
			groups, uids := map[string]*group{}, []string{}
			for i := range 5 {
				uid := fmt.Sprintf("%08x-0000-4000-8000-000000000000", i)
				uids = append(uids, uid)
				groups[uid] = &group{memory: 1000, peak: 1000}
				k.start(k.pod(uid), "", *groups[uid])
			}
			for step := range 12 {
				for _, uid := range uids {
					g := groups[uid]
					g.cpu += time.Duration(rng.IntN(1e7)) * time.Microsecond
					g.stalled += time.Duration(rng.IntN(1e7)) * time.Microsecond
					g.throttled += time.Duration(rng.IntN(1e6)) * time.Microsecond
					g.periods, g.held = g.periods+uint64(rng.IntN(100)), g.held+uint64(rng.IntN(50))
					g.memory, g.cache = 1000+rng.Uint64N(1e9), rng.Uint64N(1e10)
					g.current = g.memory + g.cache
					g.peak = max(g.peak, g.current+rng.Uint64N(1e8))
					g.oom += uint64(rng.IntN(2))
					k.set(k.pod(uid), *g)
				}
				at := start.Add(time.Duration(step) * 12 * time.Second)
				var want []telemetry.PodReading
				for _, uid := range uids {
					want = append(want, slow.read(uid, at.Sub(start)))
				}
				if d := cmp.Diff(want, read(t, u, at)); d != "" {
					t.Fatalf("step %d (-slow +fast):\n%s", step, d)
				}
			}
		})
	}
}

// slowReader keeps no file open and has no buffer.
type slowReader struct {
	k      *kubelet
	memory map[string]*slowMemory
}

// slowMemory is what a reader may report of a pod's memory without reading it again: a value at
// most a minute old, as long as the peak rises by no more than a 64th of it.
type slowMemory struct {
	held, kills, peak, largest, current uint64
	age                                 time.Duration
}

// words are the lines of a file by their first word; a file of one number has it under
// the empty one.
func (s *slowReader) words(part, uid, name string) map[string]uint64 {
	text, err := os.ReadFile(filepath.Join(s.k.root, part, s.k.tree, s.k.pod(uid), name))
	if err != nil {
		s.k.t.Fatal(err)
	}
	words := map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(strings.ReplaceAll(line, "total=", ""))
		value, err := strconv.ParseUint(fields[len(fields)-1], 10, 64)
		if err != nil {
			s.k.t.Fatal(err)
		}
		if len(fields) == 1 {
			fields[0] = ""
		}
		words[fields[0]] = value
	}
	return words
}

func (s *slowReader) read(uid string, age time.Duration) telemetry.PodReading {
	r := telemetry.PodReading{UID: uid, Age: age, AgeUnknown: true}
	var current, peak uint64
	if s.k.v1 {
		cpu := s.words(s.k.parts[0], uid, "cpu.stat")
		acct := s.k.parts[len(s.k.parts)-2]
		if s.k.unified {
			acct = s.k.parts[0]
			r.Pressure, r.Stalled = true, time.Duration(s.words("unified", uid, "cpu.pressure")["some"])*time.Microsecond
		}
		r.CPU = time.Duration(s.words(acct, uid, "cpuacct.usage")[""])
		r.Periods, r.ThrottledPeriods, r.Throttled = cpu["nr_periods"], cpu["nr_throttled"], time.Duration(cpu["throttled_time"])
		memory := s.words("memory", uid, "memory.stat")
		r.Memory = memory["total_rss"] + memory["total_shmem"]
		current, peak = s.words("memory", uid, "memory.usage_in_bytes")[""], s.words("memory", uid, "memory.max_usage_in_bytes")[""]
	} else {
		cpu := s.words("", uid, "cpu.stat")
		r.CPU, r.Throttled = time.Duration(cpu["usage_usec"])*time.Microsecond, time.Duration(cpu["throttled_usec"])*time.Microsecond
		r.Periods, r.ThrottledPeriods = cpu["nr_periods"], cpu["nr_throttled"]
		r.Pressure, r.Stalled = true, time.Duration(s.words("", uid, "cpu.pressure")["some"])*time.Microsecond
		memory := s.words("", uid, "memory.stat")
		for _, kind := range []string{"anon", "shmem", "slab_unreclaimable", "kernel_stack", "pagetables", "sock"} {
			r.Memory += memory[kind]
		}
		r.OOMKills = s.words("", uid, "memory.events")["oom_kill"]
		current, peak = s.words("", uid, "memory.current")[""], s.words("", uid, "memory.peak")[""]
	}
	m := s.memory[uid]
	if m == nil {
		m = &slowMemory{}
		s.memory[uid] = m
	}
	if m.age < 5*time.Second || age-m.age >= 50*time.Second || peak-m.peak > m.held/64 {
		*m = slowMemory{r.Memory, r.OOMKills, peak, max(m.largest, r.Memory), max(m.current, current), age}
	}
	r.Memory, r.OOMKills, r.MemoryPeak = m.held, m.kills, m.largest
	if peak > m.current {
		r.MemoryPeak = max(m.held, min(m.largest+peak-m.current, peak))
	}
	return r
}

// TestMemoryIsReadAsItRises: a change of the peak triggers a reading of memory, which is also read
// at 5 s, once a minute and when a container stops.
func TestMemoryIsReadAsItRises(t *testing.T) {
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			k.t = t
			u := k.usage()
			read(t, u, start)
			running := telemetry.Pod{UID: podA, State: telemetry.PodRunning, Starts: 1}
			u.Observe(start, []telemetry.Pod{running})
			now := group{memory: 6400, cache: 3600, current: 10_000, peak: 10_000}
			k.start(k.pod(podA), "", now)
			k.start(k.container(podA, idP), "pause", group{memory: 300})
			k.start(k.container(podA, idA), "server", group{memory: 6000})
			look := func(after time.Duration, memory, peak uint64) {
				t.Helper()
				k.set(k.pod(podA), now)
				got := read(t, u, start.Add(after))
				if len(got) != 1 || got[0].Memory != memory || got[0].MemoryPeak != peak {
					t.Errorf("at %v: %+v, want %d bytes, at most %d", after, got, memory, peak)
				}
			}
			look(1*time.Second, 6400, 6400)
			now.memory = 6500 // of the page cache's
			look(2*time.Second, 6400, 6400)
			now.memory = 6600
			look(5*time.Second, 6600, 6600)
			now.memory = 6700
			look(17*time.Second, 6600, 6600)
			now.peak = 10_103 // a 64th of 6,600
			look(29*time.Second, 6600, 6703)
			now.peak, now.current = 10_104, 10_104
			look(41*time.Second, 6700, 6700)
			now.memory = 6800
			look(90*time.Second, 6700, 6700)
			look(102*time.Second, 6800, 6800)
			now.memory = 300
			k.end(k.container(podA, idA))
			running.State = telemetry.PodStopped
			u.Observe(start.Add(103*time.Second), []telemetry.Pod{running})
			look(103*time.Second, 300, 6800)
		})
	}
}

// TestYoungMemoryIsReadAsItRises: memory is also read at 2 s, and OOM kills with it.
func TestYoungMemoryIsReadAsItRises(t *testing.T) {
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			k.t = t
			u := k.usage()
			read(t, u, start)
			u.Observe(start, telemetry.RunningPods(podA))
			for i, second := range []int{1, 2, 5} {
				held, kills := uint64(5000+1000*i), uint64(i)
				k.start(k.pod(podA), "", group{memory: held, current: held, peak: held, oom: kills})
				if k.v1 {
					kills = 0
				}
				got := read(t, u, start.Add(time.Duration(second)*time.Second))
				if len(got) != 1 || got[0].Memory != held || got[0].MemoryPeak != held || got[0].OOMKills != kills {
					t.Errorf("at %d s: %+v, want %d bytes and %d kills", second, got, held, kills)
				}
			}
		})
	}
}

// TestPodIsSoughtAsItEnds: a pod's cgroup is searched for when its first reading is due, or at once
// when it is reported to have stopped or gone, in which case only once.
func TestPodIsSoughtAsItEnds(t *testing.T) {
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			k.t = t
			u := k.usage()
			read(t, u, start)
			at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
			u.Observe(start, telemetry.RunningPods(podA, podB))
			for _, uid := range []string{podA, podB} {
				k.start(k.pod(uid), "", group{cpu: 70 * time.Millisecond, memory: 1000})
				k.start(k.container(uid, idP), "pause", group{memory: 300})
			}
			if got := read(t, u, at(100)); len(got) > 0 {
				t.Errorf("read %+v when nothing was due", got)
			}
			k.end(k.container(podA, idP))
			u.Observe(at(200), telemetry.RunningPods(podB))
			got := read(t, u, at(200))
			if len(got) != 1 || got[0].UID != podA || !got[0].Ended || got[0].CPU != 70*time.Millisecond || got[0].Age != 200*time.Millisecond {
				t.Errorf("at the end of a pod: %+v", got)
			}
			u.Observe(at(300), []telemetry.Pod{{UID: podB, State: telemetry.PodStopped, Starts: 1}})
			if got := read(t, u, at(300)); len(got) != 1 || got[0].UID != podB || got[0].CPU != 70*time.Millisecond {
				t.Errorf("a stopped pod: %+v", got)
			}
			k.end(k.container(podB, idP))
			u.Observe(at(400), nil)
			if got := read(t, u, at(400)); len(got) != 1 || got[0].UID != podB || !got[0].Ended {
				t.Errorf("at the end of a stopped pod: %+v", got)
			}
			const podC = "0c000000-0000-4000-8000-000000000003"
			u.Observe(at(500), telemetry.RunningPods(podC))
			u.Observe(at(600), nil)
			read(t, u, at(600))
			k.start(k.pod(podC), "", group{memory: 1000})
			if got := read(t, u, at(2000)); len(got) > 0 {
				t.Errorf("of one that nobody knows: %+v", got)
			}
		})
	}
}

// TestFirstContainerIsNotListed: beside sandboxes a pod is read without listing containers while
// one has started, whatever its cgroup looks like, until another is reported. With CRI-O they are
// listed.
func TestFirstContainerIsNotListed(t *testing.T) {
	for name, k := range usageTrees(t) {
		for _, crio := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s crio=%v", name, crio), func(t *testing.T) {
				k.t = t
				container := k.container
				if crio {
					container = func(uid, id string) string { return k.pod(uid) + "/crio-" + id + ".scope" }
				}
				first, second := fmt.Sprintf("%08x", 1), fmt.Sprintf("%08x-%v", 2, crio)
				k.start(k.pod(first), "", group{memory: 1000})
				k.start(container(first, idA), "server", group{memory: 1000})
				u := k.usage()
				read(t, u, start) // lists the first
				defer k.end(k.pod(first))
				k.start(k.pod(second), "", group{memory: 1000})
				k.start(container(second, idP), "pause", group{memory: 1000})
				for _, id := range []string{idA, idB} {
					k.start(container(second, id), "server", group{memory: 1000})
				}
				of := func(at time.Duration, starts int) (n int) {
					u.Observe(start.Add(at), []telemetry.Pod{{UID: second, State: telemetry.PodRunning, Starts: starts}})
					for _, r := range read(t, u, start.Add(at)) {
						if r.UID == second {
							n++
						}
					}
					return n
				}
				want := map[bool][]int{false: {0, 1, 3}, true: {0, 3, 3}}[crio]
				for i, got := range []int{of(0, 1), of(time.Second, 1), of(2*time.Second, 2)} {
					if got != want[i] {
						t.Errorf("after %d s %d readings, want %d", i, got, want[i])
					}
				}
				for _, id := range []string{idP, idA, idB} {
					k.end(container(second, id))
				}
				u.Observe(start.Add(3*time.Second), nil)
				if got := read(t, u, start.Add(3*time.Second)); len(got) == 0 || got[len(got)-1].UID != second || !got[len(got)-1].Ended {
					t.Errorf("at its end: %+v", got)
				}
				k.end(k.pod(second))
			})
		}
	}
}

// TestUnlistedPodEnds: a pod whose containers were never listed is read when its container stops
// and at its end.
func TestUnlistedPodEnds(t *testing.T) {
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			k.t = t
			k.start(k.pod(podB), "", group{memory: 1000})
			k.start(k.container(podB, idB), "server", group{memory: 1000})
			u := k.usage()
			read(t, u, start)
			k.start(k.pod(podA), "", group{memory: 1000})
			k.start(k.container(podA, idP), "pause", group{memory: 300})
			k.start(k.container(podA, idA), "server", group{memory: 700})
			old := telemetry.Pod{UID: podB, State: telemetry.PodRunning, Starts: 1}
			var ages []float64
			for tick := range 50 {
				at := start.Add(time.Duration(tick) * 100 * time.Millisecond)
				switch tick {
				case 23:
					k.end(k.container(podA, idA))
				case 40:
					k.end(k.container(podA, idP))
				}
				switch {
				case tick < 23:
					u.Observe(at, telemetry.RunningPods(podA, podB))
				case tick < 40:
					u.Observe(at, []telemetry.Pod{{UID: podA, State: telemetry.PodStopped, Starts: 1}, old})
				default:
					u.Observe(at, []telemetry.Pod{old})
				}
				for _, r := range read(t, u, at) {
					if r.UID != podA {
						continue
					}
					ages = append(ages, r.Age.Seconds())
					if r.Ended != (tick >= 40) {
						t.Errorf("at %v ended %v", r.Age, r.Ended)
					}
				}
			}
			if want := []float64{1, 2, 2.3, 4}; !slices.Equal(ages, want) {
				t.Errorf("read at %v, want %v", ages, want)
			}
		})
	}
}

// TestMemoryWithoutPeaks: before Linux 5.19 there is no peak, so memory is read each time.
func TestMemoryWithoutPeaks(t *testing.T) {
	for name, k := range usageTrees(t) {
		if k.v1 {
			continue // always has one
		}
		t.Run(name, func(t *testing.T) {
			k.t = t
			u := k.usage()
			k.start(k.pod(podA), "", group{})
			k.start(k.container(podA, idA), "server", group{})
			for i, want := range []struct{ memory, most uint64 }{{6400, 6400}, {6500, 6500}, {9000, 9000}, {700, 9000}} {
				k.set(k.pod(podA), group{memory: want.memory})
				if err := os.Remove(filepath.Join(k.root, k.tree, k.pod(podA), "memory.peak")); err != nil {
					t.Fatal(err)
				}
				got := read(t, u, start.Add(time.Duration(i)*12*time.Second))
				if len(got) != 1 || got[0].Memory != want.memory || got[0].MemoryPeak != want.most {
					t.Errorf("reading %d: %+v, want %+v", i, got, want)
				}
			}
		})
	}
}

// TestMemoryIsReadAsContainersGo: this holds also if the pod has others and its peak stays.
func TestMemoryIsReadAsContainersGo(t *testing.T) {
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			k.t = t
			u := k.usage()
			now := group{memory: 6400, current: 10_000, peak: 10_000}
			k.start(k.pod(podA), "", now)
			k.start(k.container(podA, idP), "pause", group{memory: 300})
			k.start(k.container(podA, idA), "server", group{memory: 3000})
			k.start(k.container(podA, idB), "sidecar", group{memory: 3000})
			look := func(after time.Duration, memory uint64) {
				t.Helper()
				got := read(t, u, start.Add(after))
				if len(got) == 0 || got[0].Container != "" || got[0].Memory != memory || got[0].MemoryPeak != 6400 {
					t.Errorf("at %v: %+v, want %d bytes", after, got, memory)
				}
			}
			look(0, 6400)
			look(12*time.Second, 6400)
			now.memory = 3400
			k.set(k.pod(podA), now)
			look(24*time.Second, 6400)
			k.end(k.container(podA, idB))
			u.Observe(start.Add(25*time.Second), []telemetry.Pod{{UID: podA, State: telemetry.PodRunning, Starts: 2}})
			look(25*time.Second, 3400)
		})
	}
}

// TestSteadyPodUsage: a reading of known pods allocates nothing.
func TestSteadyPodUsage(t *testing.T) {
	for name, k := range usageTrees(t) {
		k.start(k.pod(podA), "", group{cpu: time.Second, memory: 1000})
		k.start(k.pod(podB), "", group{cpu: time.Second, memory: 1000})
		u, err := telemetry.NewPodUsage(telemetry.CgroupConfig{Root: k.root, ProcRoot: k.proc, Rescan: 1 << 62})
		if err != nil {
			t.Fatal(err)
		}
		var dst telemetry.Usage
		at, total := start, 0
		if n := testing.AllocsPerRun(50, func() {
			at = at.Add(12 * time.Second)
			if err := u.ReadTo(&dst, at); err != nil {
				t.Fatal(err)
			}
			total += len(dst.Pods)
		}); n != 0 || total != 2*51 {
			t.Errorf("%s: %v allocations in %d readings", name, n, total)
		}
		u.Close()
	}
}

// TestPodUsageLooksAgain: containers are read from the next reading after their pod runs, and one
// whose process was the runtime's when it was first seen, from the next rescan.
func TestPodUsageLooksAgain(t *testing.T) {
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			for _, uid := range []string{podA, podB} {
				k.start(k.pod(uid), "", group{memory: 1000})
				k.start(k.container(uid, idP), "pause", group{memory: 1000})
			}
			u := k.usage()
			read(t, u, start)
			u.Observe(start, []telemetry.Pod{{UID: podA, State: telemetry.PodPending}, {UID: podB, State: telemetry.PodPending}})
			read(t, u, start.Add(time.Second))
			for uid, comm := range map[string]string{podA: "runc", podB: "sidecar"} {
				k.start(k.container(uid, idA), "server", group{memory: 1000})
				k.start(k.container(uid, idB), comm, group{memory: 1000})
			}
			u.Observe(start.Add(2*time.Second), telemetry.RunningPods(podA, podB))
			readings := func(at time.Time) map[string]int {
				n := map[string]int{}
				for _, r := range read(t, u, at) {
					n[r.UID]++
				}
				return n
			}
			// A pod with one working container has only the pod's reading.
			if d := cmp.Diff(map[string]int{podA: 1, podB: 3}, readings(start.Add(29*time.Second))); d != "" {
				t.Errorf("while one container starts (-want +got):\n%s", d)
			}
			k.write(filepath.Join(k.proc, "774", "comm"), "worker\n")
			if d := cmp.Diff(map[string]int{podA: 3, podB: 3}, readings(start.Add(60*time.Second))); d != "" {
				t.Errorf("when all run (-want +got):\n%s", d)
			}
		})
	}
}
