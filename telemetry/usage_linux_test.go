package telemetry_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// realTree makes a kubelet's tree in cgroups of this machine and a root that leads to it. It
// returns nil without the rights.
func realTree(t testing.TB) *kubelet {
	t.Helper()
	k := &kubelet{machine: newMachine(t), tree: "kubepods"}
	k.proc = "/proc"
	base := fmt.Sprintf("spazio-usage-%d", os.Getpid())
	link := func(part, at string) bool {
		if _, err := os.Stat(filepath.Join(at, "cgroup.procs")); err != nil {
			return false
		}
		own := filepath.Join(at, base)
		if os.MkdirAll(filepath.Join(own, k.tree, "besteffort"), 0o755) != nil {
			return false
		}
		t.Cleanup(func() { removeGroups(own) })
		if part == "" {
			k.root = own
			return true
		}
		return os.Symlink(own, filepath.Join(k.root, part)) == nil
	}
	const root = "/sys/fs/cgroup"
	if _, err := os.Stat(root + "/cgroup.controllers"); err == nil {
		for _, dir := range []string{"", base, base + "/kubepods", base + "/kubepods/besteffort"} {
			if dir != "" && os.MkdirAll(filepath.Join(root, dir), 0o755) != nil ||
				os.WriteFile(filepath.Join(root, dir, "cgroup.subtree_control"), []byte("+cpu +memory"), 0o644) != nil {
				return nil
			}
		}
		k.parts = []string{""}
		if !link("", root) {
			return nil
		}
		return k
	}
	k.v1 = true
	for _, part := range []string{"cpu,cpuacct", "cpu", "cpuacct", "memory", "unified"} {
		if link(part, filepath.Join(root, part)) {
			k.parts = append(k.parts, part)
			k.unified = k.unified || part == "unified"
		}
	}
	if len(k.parts) < 2 {
		return nil
	}
	return k
}

// removeGroups removes cgroups from below; those that still hold a dying process need
// another try.
func removeGroups(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			removeGroups(filepath.Join(dir, e.Name()))
		}
	}
	for range 1000 {
		if err := os.Remove(dir); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// enter makes a cgroup and a child in it that runs a script.
func (k *kubelet) enter(dir, script string) *exec.Cmd {
	k.t.Helper()
	var join strings.Builder
	for _, part := range k.parts {
		k.mkdir(filepath.Join(part, k.tree, dir))
		fmt.Fprintf(&join, "echo $$ > '%s' && ", filepath.Join(k.root, part, k.tree, dir, "cgroup.procs"))
	}
	c := exec.Command("sh", "-c", join.String()+script)
	if err := c.Start(); err != nil {
		k.t.Fatal(err)
	}
	return c
}

// anonymous is the memory that a pod's processes hold according to the kernel, which may be seconds
// late, because it adds up its processors' counts every two.
func (k *kubelet) anonymous(uid string) uint64 {
	k.t.Helper()
	reader, part, name := slowReader{k: k}, "", "anon"
	if k.v1 {
		part, name = "memory", "total_rss"
	}
	return reader.words(part, uid, "memory.stat")[name]
}

// TestPodUsageOfChildren reads real cgroups of real processes: one that burns half a
// second and holds 30 MB, and one that is over before any reading.
func TestPodUsageOfChildren(t *testing.T) {
	k := realTree(t)
	if k == nil {
		t.Log("cgroups can't be made here: nothing to see")
		return
	}
	u := k.usage()
	read(t, u, start)
	u.Observe(start, []telemetry.Pod{{UID: podA}, {UID: podB}})
	// The shell reports when it has used the CPU time and holds the memory, and waits for a signal
	// to end.
	dir := t.TempDir()
	ready, end := filepath.Join(dir, "ready"), filepath.Join(dir, "end")
	long := k.enter(k.container(podA, idA), `i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done
		x=$(head -c 30000000 /dev/zero | tr '\0' x); echo > '`+ready+`.tmp'; mv '`+ready+`.tmp' '`+ready+`'; while [ ! -e '`+end+`' ]; do sleep .01; done`)
	short := k.enter(k.container(podB, idB), `i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done`)
	if err := short.Wait(); err != nil {
		t.Fatal(err)
	}
	removeGroupsOf(k, k.container(podB, idB))
	used := short.ProcessState.UserTime() + short.ProcessState.SystemTime()
	for {
		if _, err := os.Stat(ready); err == nil && k.anonymous(podA) >= 30e6 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	got := map[string]telemetry.PodReading{}
	u.Observe(start.Add(time.Second), telemetry.RunningPods(podA))
	for _, r := range read(t, u, start.Add(time.Second)) {
		got[r.UID] = r
	}
	// The shell was in its group except at its start.
	if r := got[podB]; r.CPU < used/3 || r.CPU > used+50*time.Millisecond || !r.Ended {
		t.Errorf("a child that took %v and was over: %+v", used, r)
	}
	if r := got[podA]; r.Memory < 30e6 || r.Memory > 200e6 || r.MemoryPeak < r.Memory || r.CPU <= 0 || r.Ended {
		t.Errorf("a child that holds 30 MB: %+v", r)
	}
	if err := os.WriteFile(end, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := long.Wait(); err != nil {
		t.Fatal(err)
	}
	removeGroupsOf(k, k.container(podA, idA))
	u.Observe(start.Add(1500*time.Millisecond), nil)
	last := read(t, u, start.Add(1500*time.Millisecond))
	burnt := long.ProcessState.UserTime() + long.ProcessState.SystemTime()
	if len(last) != 1 || last[0].UID != podA || !last[0].Ended || last[0].CPU < burnt/3 || last[0].MemoryPeak < 30e6 || last[0].Memory > last[0].MemoryPeak {
		t.Errorf("at its end, after %v: %+v", burnt, last)
	}
}

func removeGroupsOf(k *kubelet, dir string) {
	for _, part := range k.parts {
		removeGroups(filepath.Join(k.root, part, k.tree, dir))
	}
}

// usageOfPods reads that many pods of real cgroups, else of made-up ones.
func usageOfPods(b *testing.B, pods int) *telemetry.PodUsage {
	k := realTree(b)
	if k == nil {
		k = &kubelet{machine: newMachine(b), tree: "kubepods", parts: []string{""}}
		k.set("", group{})
	}
	for i := range pods {
		dir := k.pod(fmt.Sprintf("%08x", i))
		for _, part := range k.parts {
			k.mkdir(filepath.Join(part, k.tree, dir))
		}
		if k.proc != "/proc" {
			k.set(dir, group{memory: 1000})
		} else if err := k.enter(dir, ":").Wait(); err != nil { // one in which no process has run has no reading
			b.Fatal(err)
		}
	}
	u, err := telemetry.NewPodUsage(telemetry.CgroupConfig{Root: k.root, Rescan: 1 << 62})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { u.Close() })
	return u
}

// BenchmarkPodUsage reads real cgroups, else made-up ones; an operation is a reading of
// one pod.
func BenchmarkPodUsage(b *testing.B) {
	for _, pods := range []int{1, 50} {
		b.Run("pods="+strconv.Itoa(pods), func(b *testing.B) {
			u := usageOfPods(b, pods)
			var dst telemetry.Usage
			at, n := start, 0
			if err := u.ReadTo(&dst, at); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				for n == 0 || len(dst.Pods) == 0 {
					at = at.Add(time.Second)
					if err := u.ReadTo(&dst, at); err != nil || len(dst.Failed) > 0 {
						b.Fatal(err, dst.Failed)
					}
					n += len(dst.Pods)
				}
				dst.Pods = dst.Pods[:len(dst.Pods)-1]
			}
		})
	}
}

// TestPodUsageLeavesNoFileOpen: files are closed when their container goes and by Close, and no
// child process inherits them.
func TestPodUsageLeavesNoFileOpen(t *testing.T) {
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			k.start(k.pod(podA), "", group{memory: 1000})
			k.start(k.container(podA, idP), "pause", group{memory: 1000})
			k.start(k.container(podA, idA), "server", group{memory: 1000})
			k.start(k.container(podA, idB), "sidecar", group{memory: 1000})
			u := k.usage()
			if got := read(t, u, start); len(got) != 3 || openBelow(t, k.container(podA, idB)) == 0 {
				t.Fatalf("%+v", got)
			}
			if n := inheritedBelow(t, k.root); n != 0 {
				t.Errorf("a child process inherits %d files", n)
			}
			k.end(k.container(podA, idB))
			if got := read(t, u, start.Add(31*time.Second)); len(got) == 0 || openBelow(t, k.pod(podA)) == 0 {
				t.Fatalf("%+v", got)
			}
			if n := openBelow(t, k.container(podA, idB)); n != 0 {
				t.Errorf("%d files of a container that ended are open", n)
			}
			if err := u.Close(); err != nil {
				t.Fatal(err)
			}
			if n := openBelow(t, k.root) + openBelow(t, k.proc); n != 0 {
				t.Errorf("%d files are open after Close", n)
			}
		})
	}
}

// TestLongPaths: the path of the cgroups' root may have any length.
func TestLongPaths(t *testing.T) {
	for length := 150; length <= 210; length++ {
		k := &kubelet{machine: newMachine(t), tree: "kubepods", parts: []string{""}}
		if pad := length - len(k.root); pad > 1 {
			k.root = filepath.Join(k.root, strings.Repeat("x", min(pad, 150)), strings.Repeat("y", max(1, pad-150)))
		}
		k.mkdir(filepath.Join(k.tree, k.class()))
		k.start(k.pod(podA), "", group{cpu: time.Second, memory: 1000})
		if got := read(t, k.usage(), start); len(got) != 1 || got[0].CPU != time.Second {
			t.Fatalf("below %d bytes: %+v", length, got)
		}
	}
}

// inheritedBelow counts this process's open files whose path has dir in it and which a
// child process would have too.
func inheritedBelow(t *testing.T, dir string) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if path, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err != nil || !strings.Contains(path, dir) {
			continue
		}
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			n++
		}
	}
	return n
}
