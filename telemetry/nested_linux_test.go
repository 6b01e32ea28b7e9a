package telemetry_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

const nestedUID = "0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"

// TestTreeIsFoundWhereverItIs puts the pods into a tree below others, some of which have the right
// name and no pods.
func TestTreeIsFoundWhereverItIs(t *testing.T) {
	slice := strings.ReplaceAll(nestedUID, "-", "_")
	for _, parts := range [][]string{{""}, {"cpu,cpuacct", "memory"}, {"cpu", "cpuacct", "memory"}, {"cpu,cpuacct", "memory", "unified"}} {
		for name, tc := range map[string]struct{ pod, empty string }{
			"a tree in the tree":           {"kubepods/kubepods/besteffort/pod" + nestedUID, "kubepods/besteffort"},
			"a tree in an empty tree":      {"kubepods/kubepods/burstable/pod" + nestedUID, ""},
			"a guaranteed pod in it":       {"kubepods/kubepods/pod" + nestedUID, "kubepods/burstable"},
			"slices in slices":             {"kubepods.slice/kubepods-kubepods.slice/kubepods-kubepods-besteffort.slice/kubepods-kubepods-besteffort-pod" + slice + ".slice", "kubepods.slice/kubepods-besteffort.slice"},
			"kind":                         {"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" + slice + ".slice", "kubepods.slice"},
			"kind with cgroupfs":           {"kubelet/kubepods/besteffort/pod" + nestedUID, "kubepods"},
			"a root of the user's":         {"mine/kubepods/besteffort/pod" + nestedUID, ""},
			"a slice of the user's":        {"mine.slice/mine-kubepods.slice/mine-kubepods-burstable.slice/mine-kubepods-burstable-pod" + slice + ".slice", "kubepods.slice"},
			"a container of docker's":      {"docker/8b1f/kubepods/besteffort/pod" + nestedUID, "kubepods/besteffort"},
			"a container of docker's kind": {"system.slice/docker-8b1f.scope/kubelet/kubepods/burstable/pod" + nestedUID, ""},
			"without root":                 {"user.slice/user-1000.slice/user@1000.service/app.slice/k3s-rootless.service/kubepods/besteffort/pod" + nestedUID, ""},
		} {
			t.Run(fmt.Sprintf("%s/%q", name, parts), func(t *testing.T) {
				m := newMachine(t)
				mkdir := func(dir string) {
					for _, part := range parts {
						if err := os.MkdirAll(filepath.Join(m.root, part, dir), 0o755); err != nil {
							t.Fatal(err)
						}
					}
				}
				mkdir("system.slice/sshd.service")
				mkdir(tc.empty)
				begin := func() {
					mkdir(tc.pod + "/c0ffee")
					for _, part := range parts {
						stat := "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"
						if part == "" || part == "unified" {
							stat = "usage_usec 1000\n"
						}
						for file, text := range map[string]string{
							"cgroup.procs": "77\n", "cpuacct.usage": "1000000\n", "cpu.stat": stat, "memory.stat": "anon 5\nshmem 6\ntotal_rss 5\n",
						} {
							m.write(filepath.Join(m.root, part, tc.pod, file), text)
							m.write(filepath.Join(m.root, part, tc.pod, "c0ffee", file), text)
						}
					}
					m.write(filepath.Join(m.proc, "77", "comm"), "sh\n")
				}
				config := telemetry.CgroupConfig{Root: m.root, ProcRoot: m.proc, Logger: slog.New(slog.DiscardHandler)}
				usage, err := telemetry.NewPodUsage(config)
				if err != nil {
					t.Fatal(err)
				}
				defer usage.Close()
				var read telemetry.Usage
				_ = usage.ReadTo(&read, start) // ahead of the pod: what looks right is empty
				pods, health, err := telemetry.Rescans(config, func(i int) {
					if i == 1 {
						begin()
					}
				}, time.Minute, 2*time.Minute)
				if err != nil {
					t.Fatal(err)
				}
				for i := 1; i < 3; i++ {
					if len(pods[i]) != 1 || pods[i][0].UID != nestedUID || pods[i][0].State != telemetry.PodRunning || health[i] != nil {
						t.Errorf("reading %d: pods %v, health %v", i, pods[i], health[i])
					}
				}
				if err := usage.ReadTo(&read, start.Add(time.Minute)); err != nil || len(read.Pods) != 1 || read.Pods[0].UID != nestedUID || read.Pods[0].CPU != time.Millisecond {
					t.Errorf("usage %+v, %v", read.Pods, err)
				}
			})
		}
	}
}

// TestTreeLeftOver: another cgroup driver's leftover tree has cgroups of pods without processes.
// The pods are those of the tree in use, whichever was found first.
func TestTreeLeftOver(t *testing.T) {
	const slices = "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod"
	slice := strings.ReplaceAll(nestedUID, "-", "_") + ".slice"
	for name, tc := range map[string]struct{ left, used string }{
		"systemd after cgroupfs":   {"kubepods/besteffort/pod" + uidA, slices + slice},
		"cgroupfs after systemd":   {slices + strings.ReplaceAll(uidA, "-", "_") + ".slice", "kubepods/burstable/pod" + nestedUID},
		"kind beside a host's own": {"kubepods/pod" + uidA, "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" + slice},
		"an unusual root":          {"kubepods/besteffort/pod" + uidA, "mine.slice/mine-kubepods.slice/mine-kubepods-pod" + slice},
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/late=%t", name, late), func(t *testing.T) {
				c := newCgroups(t)
				c.dir(tc.left)
				c.file(filepath.Join(c.root, "cgroup.controllers"), "cpu memory\n")
				begin := func() {
					dir := c.container(c.dir(tc.used), "cri-containerd-c0ffee.scope", "sh")
					for _, dir := range []string{filepath.Dir(dir), dir} {
						c.file(filepath.Join(dir, "cpu.stat"), "usage_usec 1000\n")
						c.file(filepath.Join(dir, "memory.stat"), "anon 5\nshmem 6\n")
					}
				}
				if !late {
					begin()
				}
				config := telemetry.CgroupConfig{Root: c.root, ProcRoot: c.proc, Logger: slog.New(slog.DiscardHandler)}
				usage, err := telemetry.NewPodUsage(config)
				if err != nil {
					t.Fatal(err)
				}
				defer usage.Close()
				var read telemetry.Usage
				if err := usage.ReadTo(&read, start); err != nil {
					t.Fatal(err)
				}
				pods, health, err := telemetry.Rescans(config, func(i int) {
					if i == 1 && late {
						begin()
					}
				}, time.Minute, 2*time.Minute)
				if err != nil {
					t.Fatal(err)
				}
				if len(pods[2]) != 1 || pods[2][0].UID != nestedUID || pods[2][0].State != telemetry.PodRunning || health[2] != nil {
					t.Errorf("pods %v, health %v", pods[2], health[2])
				}
				if err := usage.ReadTo(&read, start.Add(time.Minute)); err != nil || len(read.Pods) != 1 || read.Pods[0].UID != nestedUID {
					t.Errorf("usage %+v, %v", read.Pods, err)
				}
			})
		}
	}
}

// TestTreeStaysWhenEmpty: when the last pod leaves a tree in an unusual place, that is no fault.
func TestTreeStaysWhenEmpty(t *testing.T) {
	c := newCgroups(t)
	pod := c.dir("mine/kubepods/besteffort/pod" + nestedUID)
	c.container(pod, "a", "sh")
	pods, health, err := telemetry.Rescans(telemetry.CgroupConfig{Root: c.root, ProcRoot: c.proc, Logger: slog.New(slog.DiscardHandler)}, func(i int) {
		if i == 1 {
			c.remove(pod)
		}
	}, time.Minute)
	if err != nil || len(pods[0]) != 1 || len(pods[1]) != 0 || health[1] != nil {
		t.Errorf("pods %v, health %v, %v", pods, health, err)
	}
}

// TestPodsWithoutATree: pods in a directory that is not the kubelet's are an error that names it.
func TestPodsWithoutATree(t *testing.T) {
	for _, empty := range []string{"", "kubepods/besteffort"} {
		c := newCgroups(t)
		c.dir("kubepods", "besteffort")
		if empty == "" {
			c.remove(c.dir("kubepods"))
		}
		c.dir("mine", "besteffort", "pod"+nestedUID)
		_, health, err := telemetry.Rescans(telemetry.CgroupConfig{Root: c.root, ProcRoot: c.proc, Logger: slog.New(slog.DiscardHandler)}, func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		if !errors.Is(health[0], telemetry.ErrNoKubepods) || !strings.Contains(health[0].Error(), filepath.Join(c.root, "mine")) {
			t.Errorf("beside %q: health %v", empty, health[0])
		}
	}
}

// TestEmptyTreeIsHealthy: a kubelet without pods is no fault.
func TestEmptyTreeIsHealthy(t *testing.T) {
	c := newCgroups(t)
	c.dir("kubepods", "besteffort")
	_, health, err := telemetry.Rescans(telemetry.CgroupConfig{Root: c.root, ProcRoot: c.proc, Logger: slog.New(slog.DiscardHandler)}, func(int) {}, time.Minute)
	if err != nil || health[0] != nil || health[1] != nil {
		t.Errorf("health %v, %v", health, err)
	}
}

// TestUnseenPods: a pod whose cgroup had no process is an error of Health and one line of the log,
// until one runs.
func TestUnseenPods(t *testing.T) {
	for _, empty := range []string{"", "kata_8b1f"} {
		c := newCgroups(t)
		pod := c.dir("kubepods", "besteffort", "pod"+uidA)
		if empty != "" {
			c.container(pod, empty)
		}
		c.container(c.dir("kubepods", "besteffort", "pod"+uidB), "b", "sh")
		logger, log := logFile(t)
		pods, health, err := telemetry.Rescans(telemetry.CgroupConfig{Root: c.root, ProcRoot: c.proc, Logger: logger}, func(i int) {
			if i == 4 {
				c.container(pod, "late", "sh")
			}
		}, 10*time.Second, 30*time.Second, time.Minute, 90*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []error{nil, nil, telemetry.ErrUnseenPods, telemetry.ErrUnseenPods, nil} {
			if !errors.Is(health[i], want) || want != nil && !strings.Contains(health[i].Error(), pod) {
				t.Errorf("%q, reading %d: health %v, want %v of %s", empty, i, health[i], want, pod)
			}
			if state := pods[i][0].State; (state == telemetry.PodRunning) != (i == 4) {
				t.Errorf("%q, reading %d: %v", empty, i, pods[i])
			}
		}
		if got := strings.Count(log(), "WARN"); got != 1 {
			t.Errorf("%d warnings, want one:\n%s", got, log())
		}
	}
}
