//go:build realnode && linux

package realnode

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/profile"
)

var podMemory = flag.Float64("pod-memory", .6, "part of the memory that nobody uses which pods have in the test of profiles; a node that keeps more than half of all its memory from them offers the first pods no room")

const (
	gib = 1 << 30
	// otherMemory is memory that other processes on the machine may free without its counting as room
	// whose use kills pods.
	otherMemory = 2 * gib
	mixed       = 40
	// The part of the pods' memory that a pod of either workload takes: 5 heavy ones fit.
	heavy, light = 1. / 5.12, 1. / 128
)

// TestProfilesKeepWithinMemory runs a batch of two workloads without requests, the pods of one using 25
// times the memory of the other's, with profiles in mode Apply and then in mode Observe, and counts the
// OOM kills. Agents keep other memory free. On a machine whose CPU is busy no pod finds room.
func TestProfilesKeepWithinMemory(t *testing.T) {
	total, unused := meminfo(t, "MemTotal"), available(t)
	memory := *podMemory * float64(unused)
	if float64(unused) < memory+otherMemory {
		t.Fatalf("got %d MiB available", unused>>20)
	}
	reserve := 1 - (float64(total-unused)+memory)/float64(total)
	kills := map[string]int{}
	for _, way := range []string{"default", "profiles-observe"} {
		t.Run(way, func(t *testing.T) {
			var components []string
			if way != "default" {
				components = []string{way}
			}
			installProfiler(t, components, fmt.Sprintf("--reserve=memory=%.3f", reserve))
			limitPods(t, int64(memory)+otherMemory)
			load := quiet(t)
			m, f := readMeter(t), newFates()
			f.submit(t, way, mixed, mixOf(memory))
			f.wait(t, mixed)
			kills[way] = f.killed()
			b := f.figures(t)
			m.since(t, &b)
			b.Scheduler, b.Load = spazio, load
			t.Logf("%s: %d of %d killed; %+v", way, kills[way], mixed, b)
		})
	}
	if n := kills["default"]; n > 0 {
		t.Errorf("got %d killed pods with profiles, %d without", n, kills["profiles-observe"])
	}
}

// mixOf returns the pods of the batch, with so many bytes in all: alternately of the one workload and
// of the other.
func mixOf(bytes float64) func(name string) *corev1.Pod {
	return func(name string) *corev1.Pod {
		workload, part := "light", light
		if n, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:]); err == nil && n%2 == 0 {
			workload, part = "heavy", heavy
		}
		memory := fmt.Sprintf("-memory=%dMi", int(part*bytes)>>20)
		pod := worker(name, spazio, memory, "-grow=3s", "-cpu=200ms", "-sleep=15s")
		pod.Annotations = map[string]string{profile.WorkloadAnnotation: "Job/" + workload}
		return pod
	}
}

// killed removes the OOM-killed pods, and counts them.
func (f *fates) killed() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, pod := range f.ended {
		forMemory := func(s corev1.ContainerStatus) bool {
			return s.State.Terminated != nil && s.State.Terminated.ExitCode == 137
		}
		if pod.Status.Reason == "Evicted" || slices.ContainsFunc(pod.Status.ContainerStatuses, forMemory) {
			delete(f.ended, name)
			n++
		}
	}
	return n
}

// installProfiler installs our programs and some components, with further arguments for the agent,
// replacing what was installed before.
func installProfiler(t *testing.T, components []string, arguments ...string) {
	t.Helper()
	installWith(t, components, func(o *unstructured.Unstructured) {
		if o.GetKind() == "DaemonSet" && o.GetName() == "spazio-agent" {
			addArguments(t, o, arguments)
		}
	})
}

// installWith installs our programs and some components, with each object changed, replacing what was
// installed before.
func installWith(t *testing.T, components []string, change func(*unstructured.Unstructured)) {
	t.Helper()
	if !unified() {
		components = append(components, "cgroup-v1")
	}
	objects, err := deploy.Config{Registry: deploy.NoRegistry, Components: components}.Objects()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		change(o)
	}
	if beforeInstall == nil {
		beforeInstall = inventory(t)
	}
	installed = true
	apply(t, objects)
	eventually(t, "our programs are ready", node.ready)
}

// addArguments adds arguments to the first container of an object's pods.
func addArguments(t *testing.T, o *unstructured.Unstructured, arguments []string) {
	t.Helper()
	path := []string{"spec", "template", "spec", "containers"}
	containers, _, err := unstructured.NestedSlice(o.Object, path...)
	if err != nil || len(containers) == 0 {
		t.Fatalf("%s has no containers: %v", o.GetName(), err)
	}
	first := containers[0].(map[string]any)
	has, _, err := unstructured.NestedStringSlice(first, "args")
	if err == nil {
		err = unstructured.SetNestedStringSlice(first, append(has, arguments...), "args")
	}
	if err == nil {
		err = unstructured.SetNestedSlice(o.Object, containers, path...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// limitPods makes the kernel kill pods, and only pods, if they use more than so many bytes together,
// until the test ends.
func limitPods(t *testing.T, bytes int64) {
	t.Helper()
	file, none := podLimitFile()
	eventually(t, "pods are limited", func(context.Context) error {
		return os.WriteFile(file, []byte(strconv.FormatInt(bytes, 10)), 0o644)
	})
	t.Cleanup(func() {
		if err := os.WriteFile(file, []byte(none), 0o644); err != nil {
			t.Error(err)
		}
	})
}

// podLimitFile returns the file with the limit of all pods' memory, and what it holds without one.
func podLimitFile() (file, none string) {
	if unified() {
		return filepath.Join(cgroups, "kubepods/memory.max"), "max"
	}
	return filepath.Join(cgroups, "memory/kubepods/memory.limit_in_bytes"), "-1"
}
