package telemetry_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// readCPU reads the CPU time of the node, the tree and its pods.
func readCPU(t *testing.T, u *telemetry.PodUsage, at time.Time) telemetry.CPUUsage {
	t.Helper()
	var dst telemetry.CPUUsage
	if err := u.ReadCPUTo(&dst, at); err != nil {
		t.Fatal(err)
	}
	for _, err := range dst.Failed {
		t.Error(err)
	}
	return dst
}

// TestCPUOfNodeTreeAndPods follows an old and a new pod to the end of one of them, in every layout,
// with and without readings of pods' usage.
func TestCPUOfNodeTreeAndPods(t *testing.T) {
	for name, k := range usageTrees(t) {
		for _, beside := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/beside=%v", name, beside), func(t *testing.T) {
				k.t = t
				for _, pod := range []string{podA, podB} {
					k.end(k.pod(pod))
				}
				u := k.usage()
				check := func(at time.Time, want telemetry.CPUUsage) {
					t.Helper()
					want.At = at
					if d := cmp.Diff(want, readCPU(t, u, at), cmpopts.EquateEmpty()); d != "" {
						t.Errorf("at %v (-want +got):\n%s", at.Sub(start), d)
					}
				}
				ended := 0
				pods := func(at time.Time) {
					t.Helper()
					if !beside {
						return
					}
					for _, r := range read(t, u, at) {
						if r.Ended {
							ended++
						}
					}
				}
				k.set("", group{cpu: 10 * time.Second})
				k.start(k.pod(podB), "", group{cpu: 4 * time.Second, memory: 1000})
				k.stat(8, 2000, 5000)
				pods(start)
				check(start, telemetry.CPUUsage{
					Node: telemetry.NodeCPU{Busy: 20 * time.Second, Cores: 8}, Tree: 10 * time.Second,
					Pods: []telemetry.PodCPU{{UID: podB, CPU: 4 * time.Second, AgeUnknown: true}},
				})
				at := start.Add(2 * time.Second)
				k.start(k.pod(podA), "", group{cpu: 500 * time.Millisecond, memory: 1000})
				k.start(k.container(podA, idA), "server", group{cpu: 400 * time.Millisecond, memory: 1000})
				u.Observe(at, telemetry.RunningPods(podA, podB))
				k.set(k.pod(podB), group{cpu: 7 * time.Second, memory: 1000})
				k.set("", group{cpu: 14 * time.Second})
				k.steal = 300 // which is none of the machine's
				k.stat(6, 2500, 5100)
				pods(at)
				check(at.Add(time.Second), telemetry.CPUUsage{
					Node: telemetry.NodeCPU{Busy: 25 * time.Second, Cores: 6}, Tree: 14 * time.Second,
					Pods: []telemetry.PodCPU{{UID: podA, CPU: 500 * time.Millisecond}, {UID: podB, CPU: 7 * time.Second, AgeUnknown: true}},
				})
				pods(at.Add(time.Second))
				// The pod ends: its time stays in the tree's.
				k.end(k.pod(podA))
				u.Observe(at.Add(2*time.Second), telemetry.RunningPods(podB))
				pods(at.Add(2 * time.Second))
				k.set("", group{cpu: 15 * time.Second})
				k.steal = 0
				k.stat(6, 2600, 5200)
				for i := range 2 {
					check(at.Add(time.Duration(i+2)*time.Second), telemetry.CPUUsage{
						Node: telemetry.NodeCPU{Busy: 26 * time.Second, Cores: 6}, Tree: 15 * time.Second,
						Pods: []telemetry.PodCPU{{UID: podB, CPU: 7 * time.Second, AgeUnknown: true}},
					})
					pods(at.Add(time.Duration(i+2) * time.Second))
				}
				if beside && ended != 1 {
					t.Errorf("%d last readings of the pod that ended, want 1", ended)
				}
			})
		}
	}
}

// TestNodesCPUFromItsCounters: if the kernel has a finer counter than ticks, that is reported,
// without the steal that some include.
func TestNodesCPUFromItsCounters(t *testing.T) {
	for name, tt := range map[string]struct {
		file, text string
		marks      []string
		want       time.Duration
	}{
		"cpuacct":                 {"cpuacct/cpuacct.usage", "20123456789\n", []string{"cpuacct/cgroup.sane_behavior"}, 20123456789},
		"cpuacct of a container":  {"cpuacct/cpuacct.usage", "5\n", nil, 20 * time.Second},
		"v2":                      {"cpu.stat", "usage_usec 20123456\n", []string{"cgroup.controllers"}, 20123456 * time.Microsecond},
		"v2, steal among it":      {"cpu.stat", "usage_usec 25123456\n", []string{"cgroup.controllers"}, 20123456 * time.Microsecond},
		"v2 of a container":       {"cpu.stat", "usage_usec 5\n", []string{"cgroup.controllers", "cgroup.type"}, 20 * time.Second},
		"hybrid":                  {"unified/cpu.stat", "usage_usec 20123456\n", []string{"unified/cgroup.controllers"}, 20123456 * time.Microsecond},
		"a counter out of bounds": {"cpuacct/cpuacct.usage", "18446744073709551615\n", []string{"cpuacct/cgroup.sane_behavior"}, 1 << 60},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.steal = 500
			m.stat(4, 2000, 9000)
			m.write(filepath.Join(m.root, tt.file), tt.text)
			for _, mark := range tt.marks {
				m.write(filepath.Join(m.root, mark), "")
			}
			u, err := telemetry.NewPodUsage(telemetry.CgroupConfig{Root: m.root, ProcRoot: m.proc})
			if err != nil {
				t.Fatal(err)
			}
			defer u.Close()
			for range 2 {
				got, err := u.ReadNode()
				if want := (telemetry.NodeCPU{Busy: tt.want, Cores: 4}); err != nil || got != want {
					t.Errorf("%+v, %v, want %+v", got, err, want)
				}
			}
		})
	}
}

// TestCPUWithoutAKubelet: the node is read anyway, and the tree once it exists.
func TestCPUWithoutAKubelet(t *testing.T) {
	k := &kubelet{machine: newMachine(t), tree: "kubepods", parts: []string{""}}
	k.stat(4, 100, 0)
	u := k.usage()
	var dst telemetry.CPUUsage
	for range 2 {
		if err := u.ReadCPUTo(&dst, start); !errors.Is(err, telemetry.ErrNoPodUsage) || dst.Node.Busy != time.Second || len(dst.Pods) > 0 || dst.Tree != 0 {
			t.Errorf("%+v, %v", dst, err)
		}
	}
	k.start(k.pod(podA), "", group{cpu: time.Second})
	k.set("", group{cpu: 3 * time.Second})
	if got := readCPU(t, u, start.Add(10*time.Second)); got.Tree != 3*time.Second || len(got.Pods) != 1 {
		t.Errorf("%+v", got)
	}
	// The kubelet's tree goes, and comes back under another name.
	k.end("")
	if err := u.ReadCPUTo(&dst, start.Add(40*time.Second)); !errors.Is(err, telemetry.ErrNoPodUsage) || dst.Node.Busy != time.Second || len(dst.Pods) > 0 {
		t.Errorf("%+v, %v", dst, err)
	}
	k.tree = "kubelet/kubepods"
	k.start(k.pod(podB), "", group{cpu: 2 * time.Second})
	k.set("", group{cpu: 5 * time.Second})
	if got := readCPU(t, u, start.Add(50*time.Second)); got.Tree != 5*time.Second || len(got.Pods) != 1 || got.Pods[0].UID != podB {
		t.Errorf("%+v", got)
	}
}

// TestCPUThatCannotBeRead: a pod's unreadable file is reported; the others are read.
func TestCPUThatCannotBeRead(t *testing.T) {
	k := &kubelet{machine: newMachine(t), tree: "kubepods", parts: []string{""}}
	u := k.usage()
	k.set("", group{cpu: 3 * time.Second})
	k.start(k.pod(podA), "", group{cpu: time.Second})
	k.start(k.pod(podB), "", group{cpu: time.Second})
	k.write(filepath.Join(k.root, k.tree, k.pod(podA), "cpu.stat"), "usage_usec -3\n")
	var dst telemetry.CPUUsage
	for range 2 {
		if err := u.ReadCPUTo(&dst, start); err != nil || len(dst.Failed) != 1 || !errors.Is(dst.Failed[0], telemetry.ErrMalformed) {
			t.Errorf("%v, %v", dst.Failed, err)
		}
		if len(dst.Pods) != 1 || dst.Pods[0].UID != podB || dst.Tree != 3*time.Second {
			t.Errorf("%+v", dst)
		}
	}
	k.write(filepath.Join(k.root, k.tree, "cpu.stat"), "usage_usec\n")
	if err := u.ReadCPUTo(&dst, start); !errors.Is(err, telemetry.ErrNoPodUsage) || !errors.Is(err, telemetry.ErrMalformed) || len(dst.Pods) > 0 {
		t.Errorf("%+v, %v", dst, err)
	}
	k.write(filepath.Join(k.proc, "stat"), "cpu  1 2\n")
	var bad *telemetry.ChannelError
	if err := u.ReadCPUTo(&dst, start); !errors.As(err, &bad) || bad.Path != filepath.Join(k.proc, "stat") || len(dst.Pods) > 0 {
		t.Errorf("%+v, %v", dst, err)
	}
}

func TestReadingCPUDoesNotAllocate(t *testing.T) {
	k := &kubelet{machine: newMachine(t), tree: "kubepods", parts: []string{""}}
	k.set("", group{cpu: time.Hour})
	for i := range 50 {
		k.start(k.pod(fmt.Sprintf("%08x", i)), "", group{cpu: time.Minute})
	}
	u := k.usage()
	var dst telemetry.CPUUsage
	if n := testing.AllocsPerRun(100, func() {
		if err := u.ReadCPUTo(&dst, start); err != nil || len(dst.Pods) != 50 {
			t.Fatal(err, len(dst.Pods))
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
