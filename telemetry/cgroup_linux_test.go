package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// cgroups is a fake cgroup file system with a fake /proc.
type cgroups struct {
	t          testing.TB
	root, proc string
	pid        int
}

func newCgroups(t testing.TB) *cgroups {
	return &cgroups{t: t, root: t.TempDir(), proc: t.TempDir()}
}

// newFastCgroups is in memory if the machine has such a file system, as cgroups are; a disk takes a
// minute for a storm.
func newFastCgroups(t testing.TB) *cgroups {
	c := newCgroups(t)
	//nolint:usetesting // TempDir is on the disk.
	if dir, err := os.MkdirTemp("/dev/shm", "spazio"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		c.root = dir
	}
	return c
}

func (c *cgroups) dir(elem ...string) string {
	c.t.Helper()
	path := filepath.Join(append([]string{c.root}, elem...)...)
	if err := os.MkdirAll(path, 0o755); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// container makes a container's cgroup below pod with one process of each name. An empty name is a
// process of another PID namespace.
func (c *cgroups) container(pod, name string, comms ...string) string {
	c.t.Helper()
	dir := filepath.Join(pod, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	c.processes(dir, comms...)
	return dir
}

func (c *cgroups) processes(dir string, comms ...string) {
	c.t.Helper()
	procs := ""
	for _, comm := range comms {
		if comm == "" {
			procs += "0\n"
			continue
		}
		c.pid++
		procs += strconv.Itoa(c.pid) + "\n"
		c.file(filepath.Join(c.proc, strconv.Itoa(c.pid), "comm"), comm+"\n")
	}
	c.file(filepath.Join(dir, "cgroup.procs"), procs)
}

func (c *cgroups) file(path, text string) {
	c.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cgroups) remove(dir string) {
	c.t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		c.t.Fatal(err)
	}
}

// watch runs a source over the fake until the test ends.
func (c *cgroups) watch(config telemetry.CgroupConfig) *watched {
	c.t.Helper()
	config.Root, config.ProcRoot = c.root, c.proc
	if config.Rescan == 0 {
		config.Rescan = time.Hour // events alone have to do
	}
	if config.Gather == 0 {
		config.Gather = time.Millisecond // not to wait long after every step
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	source, err := telemetry.NewCgroupPods(config)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.run(source)
}

// run runs a source until the test ends.
func (c *cgroups) run(source telemetry.PodSource) *watched {
	w := c.newWatched()
	w.run(func(ctx context.Context) error { return source.Run(ctx, w.notify) })
	return w
}

func (c *cgroups) newWatched() *watched {
	return &watched{t: c.t, changed: make(chan struct{}, 1)}
}

func (w *watched) run(do func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- do(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("Run = %v", err)
		}
	})
}

// watched collects the events of a source.
type watched struct {
	t       testing.TB
	changed chan struct{}
	block   sync.Mutex // held by a test to stall the source

	mu     sync.Mutex
	states []telemetry.Pod
	pods   []string // that run
	known  bool
	churn  int
}

func (w *watched) notify(e telemetry.PodEvent) {
	w.block.Lock()
	defer w.block.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Changed {
		w.states, w.pods, w.known = e.Pods, running(e.Pods), true
	}
	if e.Churn {
		w.churn++
	}
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// until waits for a condition on the pods and the number of churn events.
func (w *watched) until(what string, ok func(pods []string, churn int) bool) {
	w.t.Helper()
	deadline := time.After(time.Minute)
	for {
		w.mu.Lock()
		pods, known, churn := w.pods, w.known, w.churn
		w.mu.Unlock()
		if known && ok(pods, churn) {
			return
		}
		select {
		case <-w.changed:
		case <-deadline:
			w.mu.Lock()
			defer w.mu.Unlock()
			w.t.Fatalf("waited in vain for %s; pods %v, %d times churn", what, w.states, churn)
		}
	}
}

func (w *watched) untilPods(want ...string) {
	w.t.Helper()
	w.until(fmt.Sprint(want), func(pods []string, _ int) bool { return slices.Equal(pods, want) })
}

// untilStates waits until the pods are those wanted.
func (w *watched) untilStates(want ...telemetry.Pod) {
	w.t.Helper()
	w.until(fmt.Sprint(want), func([]string, int) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Equal(w.states, want)
	})
}

// running returns the UIDs of the running pods.
func running(pods []telemetry.Pod) (uids []string) {
	for _, p := range pods {
		if p.State == telemetry.PodRunning {
			uids = append(uids, p.UID)
		}
	}
	return uids
}

func (w *watched) churns() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.churn
}

const (
	uidA = "0a1b2c3d-1111-2222-3333-444455556666"
	uidB = "fa1b2c3d-1111-2222-3333-444455556666"
)

func TestCgroupLayouts(t *testing.T) {
	for _, tc := range []struct{ name, burstable, guaranteed, scope string }{
		{"v2, systemd", "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666.slice",
			"kubepods.slice/kubepods-podfa1b2c3d_1111_2222_3333_444455556666.slice", "cri-containerd-%s.scope"},
		{"v2, cgroupfs", "kubepods/burstable/pod" + uidA, "kubepods/pod" + uidB, "%s"},
		{"v1, cgroupfs", "cpu,cpuacct/kubepods/besteffort/pod" + uidA, "cpu,cpuacct/kubepods/pod" + uidB, "%s"},
		{"v1, the other way round", "cpuacct,cpu/kubepods/besteffort/pod" + uidA, "cpuacct,cpu/kubepods/pod" + uidB, "%s"},
		{"v1, one controller a mount, CRI-O", "memory/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod0a1b2c3d_1111_2222_3333_444455556666.slice",
			"memory/kubepods.slice/kubepods-podfa1b2c3d_1111_2222_3333_444455556666.slice", "crio-%s.scope"},
		{"hybrid, cgroup v2 below unified", "unified/kubepods/burstable/pod" + uidA, "unified/kubepods/pod" + uidB, "%s"},
		{"kubelet with its own root, systemd", "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666.slice",
			"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podfa1b2c3d_1111_2222_3333_444455556666.slice", "cri-containerd-%s.scope"},
		{"kubelet with its own root, cgroupfs", "kubelet/kubepods/burstable/pod" + uidA, "kubelet/kubepods/pod" + uidB, "%s"},
	} {
		for _, when := range []string{"before the start", "later"} {
			t.Run(tc.name+", "+when, func(t *testing.T) {
				c := newCgroups(t)
				// The hierarchies are mounted before any agent starts.
				hierarchy, _, _ := cut(tc.guaranteed)
				if hierarchy != "kubepods" && hierarchy != "kubepods.slice" {
					c.dir(hierarchy)
				}
				var w *watched
				if when == "later" {
					w = c.watch(telemetry.CgroupConfig{})
					w.untilPods()
				}
				a, b := c.dir(tc.burstable), c.dir(tc.guaranteed)
				c.container(a, fmt.Sprintf(tc.scope, "aaa"), "pause")
				app := c.container(a, fmt.Sprintf(tc.scope, "bbb"), "nginx")
				c.container(b, fmt.Sprintf(tc.scope, "ccc"), "pause")
				if w == nil {
					w = c.watch(telemetry.CgroupConfig{})
				}
				w.untilPods(uidA)
				second := c.container(b, fmt.Sprintf(tc.scope, "ddd"), "sh")
				w.untilPods(uidA, uidB)
				c.remove(app)
				w.untilPods(uidB)
				c.remove(second)
				w.untilPods()
				c.remove(a)
				c.remove(b)
			})
		}
	}
}

func cut(path string) (string, string, bool) {
	i := slices.Index([]byte(path), '/')
	return path[:i], path[i+1:], true
}

func TestPodCountsBeyondSandbox(t *testing.T) {
	for _, tc := range []struct {
		name  string
		pod   func(c *cgroups, pod string)
		count bool
	}{
		{"no container", func(*cgroups, string) {}, false},
		{"sandbox", func(c *cgroups, pod string) { c.container(pod, "s", "pause") }, false},
		{"sandbox and container", func(c *cgroups, pod string) { c.container(pod, "s", "pause"); c.container(pod, "a", "sh", "sleep") }, true},
		{"a container that runs pause", func(c *cgroups, pod string) { c.container(pod, "s", "pause"); c.container(pod, "a", "pause") }, true},
		{"no sandbox", func(c *cgroups, pod string) { c.container(pod, "crio-a.scope", "sh") }, true},
		{"monitor process", func(c *cgroups, pod string) {
			c.container(pod, "crio-conmon-s.scope", "conmon")
			c.container(pod, "crio-s.scope", "pause")
		}, false},
		{"monitor process and sandbox of OpenShift", func(c *cgroups, pod string) {
			c.container(pod, "crio-conmon-s.scope", "conmon")
			c.nested(pod, "crio-s.scope", "pod")
		}, false},
		{"sandbox of OpenShift and container", func(c *cgroups, pod string) {
			c.container(pod, "crio-s.scope", "pod")
			c.container(pod, "crio-a.scope", "sh")
		}, true},
		{"a program of that name", func(c *cgroups, pod string) {
			c.container(pod, "cri-containerd-s.scope", "pause")
			c.container(pod, "cri-containerd-a.scope", "pod")
		}, true},
		{"dead container", func(c *cgroups, pod string) { c.container(pod, "s", "pause"); c.container(pod, "a") }, false},
		{"runtime about to start it", func(c *cgroups, pod string) { c.container(pod, "s", "pause"); c.container(pod, "a", "runc:[2:INIT]") }, false},
		{"its own groups", func(c *cgroups, pod string) {
			c.container(pod, "s", "pause")
			c.container(filepath.Join(c.container(pod, "a"), "init.scope"), "x", "systemd")
		}, true},
		{"crun with systemd, sandbox", func(c *cgroups, pod string) { c.nested(pod, "crio-s.scope", "pause") }, false},
		{"crun with systemd, sandbox and container", func(c *cgroups, pod string) {
			c.nested(pod, "crio-s.scope", "pause")
			c.nested(pod, "crio-a.scope", "sh")
		}, true},
		{"crun with systemd, about to start it", func(c *cgroups, pod string) {
			c.nested(pod, "crio-s.scope", "pause")
			c.nested(pod, "crio-a.scope", "crun")
		}, false},
		{"crun with systemd, other PID namespace", func(c *cgroups, pod string) {
			c.nested(pod, "cri-containerd-s.scope", "")
			c.nested(pod, "cri-containerd-a.scope", "")
		}, true},
		{"other PID namespace, sandbox", func(c *cgroups, pod string) { c.container(pod, "s", "") }, false},
		{"other PID namespace, container", func(c *cgroups, pod string) { c.container(pod, "s", ""); c.container(pod, "a", "") }, true},
		{"other PID namespace, CRI-O", func(c *cgroups, pod string) { c.container(pod, "crio-a.scope", "") }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCgroups(t)
			tc.pod(c, c.dir("kubepods", "besteffort", "pod"+uidA))
			w := c.watch(telemetry.CgroupConfig{})
			w.until("the first set", func([]string, int) bool { return true })
			want := []string(nil)
			if tc.count {
				want = []string{uidA}
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if diff := cmp.Diff(want, w.pods); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if w.churn != 0 {
				t.Error("what is there at the start was called churn")
			}
		})
	}
}

// nested makes a container's cgroup whose processes are in one below it.
func (c *cgroups) nested(pod, name string, comm string) {
	c.t.Helper()
	c.container(c.container(pod, name), "container", comm)
}

// cgroup v1 hides the processes of another PID namespace altogether; the pids
// controller counts them.
func TestPodOfOtherPIDNamespaceOnV1(t *testing.T) {
	c := newCgroups(t)
	pod := filepath.Join("kubepods", "besteffort", "pod"+uidA)
	// hidden sets how many processes a container has, of which none is visible.
	hidden := func(name string, processes int) string {
		c.file(filepath.Join(c.dir("pids", pod, name), "pids.current"), strconv.Itoa(processes)+"\n")
		return c.container(c.dir("cpu,cpuacct", pod), name)
	}
	c.dir("cpu,cpuacct", pod)
	logger, log := logFile(t)
	w := c.watch(telemetry.CgroupConfig{Logger: logger})
	w.untilStates(pending(uidA))
	sandbox := hidden("sandbox", 1)
	init := hidden("init", 2)
	w.untilStates(runs(uidA, 1))
	c.remove(init)
	w.untilStates(stopped(uidA, 1))
	hidden("empty", 0)
	main := hidden("main", 1)
	w.untilStates(runs(uidA, 2))
	c.remove(main)
	w.untilStates(stopped(uidA, 2))
	c.remove(filepath.Join(c.root, "cpu,cpuacct", pod, "empty"))
	w.untilStates(stopped(uidA, 3))
	c.remove(sandbox)
	w.untilStates()
	if got := strings.Count(log(), "not visible"); got != 1 {
		t.Errorf("said %d times, want once:\n%s", got, log())
	}
}

// The log and Health report a host without the kubelet's cgroup; Health is nil once it exists.
func TestHealth(t *testing.T) {
	c := newCgroups(t)
	logger, log := logFile(t)
	config := telemetry.CgroupConfig{Root: c.root, ProcRoot: c.proc, Gather: time.Millisecond, Logger: logger}
	source, err := telemetry.NewCgroupPods(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Health(); err != nil {
		t.Errorf("before Run: %v", err)
	}
	w := c.run(source)
	for range 2 {
		w.untilPods()
		w.untilHealth(source, telemetry.ErrNoKubepods)
		if !strings.Contains(source.Health().Error(), c.root) {
			t.Errorf("%v does not name %s", source.Health(), c.root)
		}
		c.container(c.dir("kubepods", "pod"+uidA), "a", "sh")
		w.untilPods(uidA)
		w.untilHealth(source, nil)
		c.remove(c.dir("kubepods"))
	}
	w.untilPods()
	w.untilHealth(source, telemetry.ErrNoKubepods)
	if got := strings.Count(log(), "WARN"); got != 3 {
		t.Errorf("%d warnings, want one for each time the cgroup was missing:\n%s", got, log())
	}
}

// untilHealth waits until the source's health is that error.
func (w *watched) untilHealth(source *telemetry.CgroupPods, want error) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !errors.Is(source.Health(), want); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("health %v, want %v", source.Health(), want)
		}
	}
}

// logFile returns a log that is read while it is written.
func logFile(t *testing.T) (logger *slog.Logger, read func() string) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return slog.New(slog.NewTextHandler(file, nil)), func() string {
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
}

// When the kernel's watches are used up, the tree is read repeatedly, and it is unknown which
// containers have been started.
func TestWatchesUsedUp(t *testing.T) {
	c := newCgroups(t)
	besteffort := c.dir("kubepods", "besteffort")
	sandbox := c.container(c.dir("kubepods", "besteffort", "pod"+uidA), "sandbox", "pause")
	logger, log := logFile(t)
	source, err := telemetry.NewCgroupPods(telemetry.CgroupConfig{
		Root: c.root, ProcRoot: c.proc, Rescan: 20 * time.Millisecond, Gather: time.Millisecond, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	w := c.newWatched()
	var once sync.Once
	refused := make(chan error, 1)
	w.run(func(ctx context.Context) error {
		runtime.LockOSThread() // what is refused is so on this thread, which ends with the source
		return source.Run(ctx, func(e telemetry.PodEvent) {
			once.Do(func() { refused <- refuseWatches() })
			w.notify(e)
		})
	})
	if err := <-refused; err != nil {
		t.Fatal(err)
	}
	unknown := telemetry.StartsUnknown
	w.untilStates(telemetry.Pod{UID: uidA, Starts: unknown})
	pod := filepath.Join(besteffort, "pod"+uidB)
	c.container(pod, "sandbox", "pause")
	c.container(pod, "main", "sh")
	w.untilStates(telemetry.Pod{UID: uidA, Starts: unknown}, runs(uidB, unknown))
	c.remove(sandbox)
	c.remove(filepath.Join(pod, "main"))
	w.untilStates(stopped(uidB, unknown))
	c.remove(pod)
	w.untilStates()
	if got := strings.Count(log(), "cannot watch"); got != 1 {
		t.Errorf("said %d times, want once:\n%s", got, log())
	}
}

// refuseWatches has the kernel refuse inotify watches to this thread as it does to
// a user who has used up theirs.
func refuseWatches() error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the system call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_INOTIFY_ADD_WATCH, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSPC)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

// Watches of ended pods are removed.
func TestWatchesOfEndedPodsAreDropped(t *testing.T) {
	c := newCgroups(t)
	c.dir("kubepods")
	w := c.watch(telemetry.CgroupConfig{})
	w.untilPods()
	before := watches(t)
	for i := range 20 {
		uid := fmt.Sprintf("%08d-1111-2222-3333-444455556666", i)
		pod := c.dir("kubepods", "pod"+uid)
		c.container(pod, "a", "sh")
		w.untilPods(uid)
		w.untilWatches(before + 1)
		c.remove(pod)
		w.untilStates()
	}
	w.untilWatches(before)
}

// A removed cgroup keeps its watch, unlike a directory of a disk: a moved directory stands for it.
func TestWatchesOfRemovedCgroupsAreDropped(t *testing.T) {
	c := newCgroups(t)
	other := t.TempDir()
	besteffort := c.dir("kubepods", "besteffort")
	w := c.watch(telemetry.CgroupConfig{Rescan: 10 * time.Millisecond})
	w.untilPods()
	before := watches(t)
	pod := c.dir("kubepods", "besteffort", "pod"+uidA)
	c.container(pod, "a", "sh")
	w.untilPods(uidA)
	c.all(os.Rename(pod, filepath.Join(other, "pod")))
	w.untilStates()
	w.untilWatches(before)
	c.all(os.Rename(besteffort, filepath.Join(other, "besteffort")))
	w.untilWatches(before - 1)
	// A class that comes back is watched again.
	c.container(c.dir("kubepods", "besteffort", "pod"+uidB), "a", "sh")
	w.untilPods(uidB)
	w.untilWatches(before + 1)
}

// Once the kubelet's directory is found, only its parent among the candidate places stays watched.
func TestPlacesOfTheKubeletAreLetGo(t *testing.T) {
	c := newCgroups(t)
	c.dir("cpu", "kubelet")
	c.dir("memory")
	c.dir("systemd")
	none := watches(t)
	w := c.watch(telemetry.CgroupConfig{})
	w.untilPods()
	w.untilWatches(none + 5) // the root and these
	c.container(c.dir("memory", "kubepods", "pod"+uidA), "a", "sh")
	w.untilPods(uidA)
	w.untilWatches(none + 3) // memory, kubepods, the pod
}

// untilWatches waits until this process has that many inotify watches.
func (w *watched) untilWatches(want int) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); watches(w.t) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%d watches, want %d", watches(w.t), want)
		}
	}
}

// watches returns the number of inotify watches of this process.
func watches(t testing.TB) (n int) {
	t.Helper()
	infos, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		text, _ := os.ReadFile(info) // it may be closed meanwhile
		n += bytes.Count(text, []byte("inotify wd:"))
	}
	return n
}

// A start is reported as churn with the pod's directory, ahead of its containers;
// the pod counts when the workload's process runs.
func TestPodStart(t *testing.T) {
	c := newCgroups(t)
	c.dir("kubepods", "besteffort")
	w := c.watch(telemetry.CgroupConfig{})
	w.untilPods()
	pod := c.dir("kubepods", "besteffort", "pod"+uidA)
	w.until("churn", func(_ []string, churn int) bool { return churn > 0 })

	sandbox := c.container(pod, "s", "runc:[2:INIT]")
	c.processes(sandbox, "pause")
	app := c.container(pod, "a")
	before := w.churns()
	c.processes(app, "runc:[2:INIT]")
	c.processes(app, "sh")
	w.untilPods(uidA)

	c.remove(app)
	w.untilPods()
	w.until("churn of the stop", func(_ []string, churn int) bool { return churn > before })
}

func TestKubeletRemovedAndBack(t *testing.T) {
	c := newCgroups(t)
	w := c.watch(telemetry.CgroupConfig{})
	w.untilPods()
	for range 3 {
		c.container(c.dir("kubepods", "pod"+uidA), "a", "sh")
		w.untilPods(uidA)
		c.remove(c.dir("kubepods"))
		w.untilPods()
	}
}

// A pod directory may come back under its name, with another inode.
func TestPodReplaced(t *testing.T) {
	c := newCgroups(t)
	c.dir("kubepods")
	w := c.watch(telemetry.CgroupConfig{})
	for range 20 {
		c.container(c.dir("kubepods", "pod"+uidA), "a", "sh")
		c.remove(c.dir("kubepods", "pod"+uidA))
	}
	pod := c.dir("kubepods", "pod"+uidA)
	w.untilPods()
	c.container(pod, "a", "sh")
	w.untilPods(uidA)
}

// While the receiver stalls, more events come than the kernel queues; the set is right afterwards.
func TestOverflow(t *testing.T) {
	queue := queueLength(t)
	c := newFastCgroups(t)
	top := c.dir("kubepods")
	w := c.watch(telemetry.CgroupConfig{Logger: slog.New(slog.DiscardHandler)})
	w.untilPods()

	var kept string
	w.stall(func() {
		kept = c.dir("kubepods", "pod"+uidB)
		c.churn(filepath.Join(top, "pod-churn"), queue)
		c.container(kept, "a", "sh")
		c.container(c.dir("kubepods", "pod"+uidA), "a", "sh")
	})
	w.untilPods(uidA, uidB)
	c.remove(kept)
	w.untilPods(uidA)
}

// queueLength is the number of events that the kernel keeps for a reader.
func queueLength(t *testing.T) int {
	t.Helper()
	limit, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	queue, err := strconv.Atoi(string(limit[:len(limit)-1]))
	if err != nil || queue > 100_000 {
		queue = 16384
	}
	return queue
}

// churn makes and removes dir until more events came than a queue holds, beside those that the
// source may have read before it stalled.
func (c *cgroups) churn(dir string, queue int) {
	for range queue/2 + 10_000 {
		c.all(os.Mkdir(dir, 0o755), os.Remove(dir))
	}
}

func (c *cgroups) all(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		c.t.Error(err)
	}
}

// stall keeps the source from reading while do runs.
func (w *watched) stall(do func()) {
	w.block.Lock()
	defer w.block.Unlock()
	do()
}

// However starts and stops of 10,000 pods interleave, and whichever events are lost while the
// receiver stalls, the final set is the tree's.
func TestStorm(t *testing.T) {
	const seed, pods, workers = 7, 10_000, 4
	t.Logf("seed %d", seed)
	c := newFastCgroups(t)
	top := c.dir("kubepods")
	for w := range workers {
		c.dir("kubepods", class(w))
	}
	c.file(filepath.Join(c.proc, "1", "comm"), "sh\n")
	w := c.watch(telemetry.CgroupConfig{Logger: slog.New(slog.DiscardHandler), Gather: 100 * time.Millisecond})
	w.untilPods()

	queue := queueLength(t)
	var storm sync.WaitGroup
	run := func(do func()) {
		storm.Add(1)
		go func() {
			defer storm.Done()
			do()
		}()
	}
	alive := make([][]string, workers)
	for i := range workers {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		run(func() { alive[i] = c.storm(filepath.Join(top, class(i)), i, pods/workers, r) })
	}
	run(func() {
		w.stall(func() { c.churn(filepath.Join(top, "pod-churn"), queue) })
	})
	storm.Wait()
	want := slices.Concat(alive...)
	slices.Sort(want)
	t.Logf("%d of %d pods are left", len(want), pods)
	w.untilPods(want...)
}

// class returns a directory for the pods of each of four workers.
func class(worker int) string {
	return []string{"burstable", "besteffort", "x-kubepods-burstable.slice", "x-kubepods-besteffort.slice"}[worker]
}

// storm makes pods with a container in dir and removes most at random, and
// returns the UIDs of those left.
func (c *cgroups) storm(dir string, worker, pods int, r *rand.Rand) (alive []string) {
	for i := range pods {
		uid := fmt.Sprintf("%08x-%04x-0000-0000-000000000000", i, worker)
		pod := filepath.Join(dir, "pod"+uid)
		procs := filepath.Join(pod, "a", "cgroup.procs")
		c.all(os.Mkdir(pod, 0o755), os.Mkdir(filepath.Dir(procs), 0o755), os.WriteFile(procs, []byte("1\n"), 0o644))
		alive = append(alive, uid)
		if r.IntN(20) == 0 {
			continue
		}
		at := r.IntN(len(alive))
		pod = filepath.Join(dir, "pod"+alive[at])
		procs = filepath.Join(pod, "a", "cgroup.procs")
		c.all(os.Remove(procs), os.Remove(filepath.Dir(procs)), os.Remove(pod))
		alive = slices.Delete(alive, at, at+1)
	}
	return alive
}

// A rescan finds changes without an event, such as the end of a process whose cgroup remains.
func TestRescan(t *testing.T) {
	c := newCgroups(t)
	app := c.container(c.dir("kubepods", "pod"+uidA), "a", "sh")
	w := c.watch(telemetry.CgroupConfig{Rescan: 20 * time.Millisecond})
	w.untilPods(uidA)
	c.processes(app)
	w.untilPods()
}

func ExampleCgroupPods() {
	root, err := os.MkdirTemp("", "cgroup")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	// On a node the zero CgroupConfig watches /sys/fs/cgroup.
	source, err := telemetry.NewCgroupPods(telemetry.CgroupConfig{Root: root})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	pod := filepath.Join(root, "kubepods", "burstable", "pod"+uidA)
	err = source.Run(ctx, func(e telemetry.PodEvent) {
		switch {
		case e.Changed && !e.Churn:
			fmt.Println("pods:", e.Pods)
			if err := os.MkdirAll(pod, 0o755); err != nil {
				fmt.Println(err)
			}
		case e.Churn:
			fmt.Println("a pod is about to start")
			cancel()
		}
	})
	fmt.Println(err)
	// Output:
	// pods: []
	// a pod is about to start
	// <nil>
}

func TestNewCgroupPodsErrors(t *testing.T) {
	_, err := telemetry.NewCgroupPods(telemetry.CgroupConfig{Root: filepath.Join(t.TempDir(), "none")})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err = %v, want ErrNotExist", err)
	}
	for name, c := range map[string]telemetry.CgroupConfig{"Rescan": {Rescan: -1}, "Gather": {Gather: -1}} {
		_, err = telemetry.NewCgroupPods(c)
		var field *telemetry.FieldError
		if !errors.As(err, &field) || field.Field != name {
			t.Errorf("err = %v, want *FieldError of %s", err, name)
		}
	}
}
