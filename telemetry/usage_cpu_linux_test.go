package telemetry_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// counted reads a cgroup's CPU time the simple way.
func (k *kubelet) counted(dir string) time.Duration {
	k.t.Helper()
	part, name := "", "cpu.stat"
	if k.v1 {
		name = "cpuacct.usage"
		for _, p := range k.parts {
			if strings.Contains(p, "cpuacct") {
				part = p
				break
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(k.root, part, k.tree, dir, name))
	if err != nil {
		k.t.Fatal(err)
	}
	number, unit := string(text), time.Nanosecond
	if !k.v1 {
		number, _, _ = strings.Cut(strings.TrimPrefix(number, "usage_usec "), "\n")
		unit = time.Microsecond
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil {
		k.t.Fatal(err)
	}
	return time.Duration(n) * unit
}

// TestCPUOfChildren reads the real machine and real cgroups: the reported value lies between two
// simple readings, and a child's time is in its pod's, the tree's and the machine's.
func TestCPUOfChildren(t *testing.T) {
	k := realTree(t)
	if k == nil {
		t.Log("cgroups can't be made here: nothing to see")
		return
	}
	// The root of the cgroups is the test's own; the machine's CPU time comes from /proc.
	u := k.usage()
	first := readCPU(t, u, start)
	u.Observe(start, []telemetry.Pod{{UID: podA}, {UID: podB}})
	burner := k.enter(k.container(podA, idA), `i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done`)
	short := k.enter(k.container(podB, idB), `i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done`)
	if err := short.Wait(); err != nil {
		t.Fatal(err)
	}
	least := [3]time.Duration{k.counted(k.pod(podA)), k.counted(k.pod(podB)), k.counted("")}
	got := readCPU(t, u, start.Add(time.Second))
	most := [3]time.Duration{k.counted(k.pod(podA)), k.counted(k.pod(podB)), k.counted("")}
	if len(got.Pods) != 2 || got.Pods[0].UID != podA || got.Pods[1].UID != podB || got.Pods[0].AgeUnknown || got.Pods[1].AgeUnknown {
		t.Fatalf("%+v", got)
	}
	for i, d := range []time.Duration{got.Pods[0].CPU, got.Pods[1].CPU, got.Tree} {
		if d < least[i] || d > most[i] {
			t.Errorf("%v, a simple reading before says %v and one after %v", d, least[i], most[i])
		}
	}
	if err := burner.Wait(); err != nil {
		t.Fatal(err)
	}
	used := burner.ProcessState.UserTime() + burner.ProcessState.SystemTime()
	last := readCPU(t, u, start.Add(2*time.Second))
	if last.Pods[0].CPU < used/3 || last.Tree < last.Pods[0].CPU+last.Pods[1].CPU {
		t.Errorf("of a child that took %v: %+v", used, last)
	}
	// Ticks are sampled: a child that ran for less than a second may have few.
	if busy := last.Node.Busy - first.Node.Busy; busy < used/3-100*time.Millisecond || last.Node.Cores < 1 {
		t.Errorf("the machine was busy for %v, a child of it for %v", busy, used)
	}
	// The pod ends; its time stays in the tree's.
	for _, dir := range []string{k.container(podA, idA), k.pod(podA)} {
		removeGroupsOf(k, dir)
	}
	if ended := readCPU(t, u, start.Add(3*time.Second)); len(ended.Pods) != 1 || ended.Pods[0].UID != podB || ended.Tree < last.Tree {
		t.Errorf("after its end: %+v", ended)
	}
}

// TestCPUReadFirstEndsNoPod: a pod whose end is found while reading CPU times still gets its last
// reading by ReadTo.
func TestCPUReadFirstEndsNoPod(t *testing.T) {
	k := realTree(t)
	if k == nil {
		t.Log("cgroups can't be made here: nothing to see")
		return
	}
	u := k.usage()
	if err := k.enter(k.container(podA, idA), `i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done`).Wait(); err != nil {
		t.Fatal(err)
	}
	readCPU(t, u, start)
	first := read(t, u, start)
	if len(first) != 1 || first[0].CPU <= 0 {
		t.Fatalf("%+v", first)
	}
	for _, dir := range []string{k.container(podA, idA), k.pod(podA)} {
		removeGroupsOf(k, dir)
	}
	if got := readCPU(t, u, start.Add(time.Second)); len(got.Pods) != 0 {
		t.Errorf("%+v", got)
	}
	if last := read(t, u, start.Add(time.Second)); len(last) != 1 || !last[0].Ended || last[0].CPU != first[0].CPU {
		t.Errorf("%+v", last)
	}
}

// TestCPUOfEndedPodsIsClosed: files are closed also if no other reader reads the pods.
func TestCPUOfEndedPodsIsClosed(t *testing.T) {
	k := &kubelet{machine: newMachine(t), tree: "kubepods", parts: []string{""}}
	k.set("", group{cpu: time.Hour})
	k.start(k.pod(podA), "", group{cpu: time.Second})
	k.start(k.pod(podB), "", group{cpu: time.Second})
	u := k.usage()
	if got := readCPU(t, u, start); len(got.Pods) != 2 || openBelow(t, k.pod(podA)) == 0 {
		t.Fatalf("%+v", got)
	}
	u.Observe(start, telemetry.RunningPods(podA, podB))
	k.end(k.pod(podA))
	u.Observe(start, telemetry.RunningPods(podB))
	if got := readCPU(t, u, start.Add(time.Second)); len(got.Pods) != 1 || got.Pods[0].UID != podB {
		t.Errorf("%+v", got)
	}
	if n := openBelow(t, k.pod(podA)); n != 0 {
		t.Errorf("%d files of a pod that ended are open", n)
	}
}

// openBelow counts this process's open files whose path has dir in it.
func openBelow(t *testing.T, dir string) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if path, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && strings.Contains(path, dir) {
			n++
		}
	}
	return n
}

// BenchmarkCPUOfPods reads the machine, the tree and that many pods.
func BenchmarkCPUOfPods(b *testing.B) {
	for _, pods := range []int{1, 50} {
		b.Run("pods="+strconv.Itoa(pods), func(b *testing.B) {
			u := usageOfPods(b, pods)
			var dst telemetry.CPUUsage
			b.ReportAllocs()
			for b.Loop() {
				if err := u.ReadCPUTo(&dst, start); err != nil || len(dst.Pods) != pods {
					b.Fatal(err, len(dst.Pods))
				}
			}
		})
	}
}
