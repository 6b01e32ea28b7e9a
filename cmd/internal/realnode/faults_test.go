//go:build realnode && linux

package realnode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// room is how many pods of a core each the node may run at once: its cores and the
// pods that stand ready while others start.
func room() int { return runtime.NumCPU() + 3 }

// Pods whose init container ends long before they take anything are not taken for
// pods that ended: no more run at once than without.
func TestInitContainers(t *testing.T) {
	install(t)
	quiet(t)
	f := newFates()
	f.submit(t, "init", 20, func(name string) *corev1.Pod {
		pod := worker(name, spazio, "-cpu=4s")
		first := pod.Spec.Containers[0]
		first.Name, first.Args = "first", []string{"-sleep=1s"}
		pod.Spec.InitContainers = []corev1.Container{first}
		return pod
	})
	f.wait(t, 20)
	b := f.figures(t)
	t.Logf("makespan %.1f s, mean run %.1f s, %d at once, %d bound", b.Makespan, b.Run, b.AtOnce, b.Bound)
	if b.AtOnce > room() {
		t.Errorf("%d pods ran at once on %d cores", b.AtOnce, runtime.NumCPU())
	}
}

// Pods that can never start, since their image is not there, take no place from those
// that can.
func TestBadImage(t *testing.T) {
	install(t)
	quiet(t)
	const bad, good = 40, 10
	missing := newFates()
	missing.submit(t, "bad", bad, func(name string) *corev1.Pod {
		pod := worker(name, spazio)
		pod.Spec.Containers[0].Image = "localhost/missing:1"
		return pod
	})
	stuck := func() (n int) {
		missing.mu.Lock()
		defer missing.mu.Unlock()
		return len(missing.bound)
	}
	eventually(t, "pods wait for an image", func(context.Context) error {
		if n := stuck(); n < runtime.NumCPU() {
			return fmt.Errorf("%d are bound", n)
		}
		return nil
	})
	f := newFates()
	f.submit(t, "good", good, func(name string) *corev1.Pod { return worker(name, spazio, "-cpu=1s") })
	f.wait(t, good)
	b := f.figures(t)
	t.Logf("beside %d of %d pods bound without an image: makespan %.1f s, queue %.1f s", stuck(), bad, b.Makespan, b.Queue)
}

// A node whose agent is dead, while pods fill it, gets no more of them than it has
// room for, and goes on with the agent that the kubelet starts.
func TestAgentKilled(t *testing.T) {
	install(t)
	f := filled(t, "agent", 16)
	kill(t, "spazio-agent")
	f.wait(t, 16)
	atMostRoom(t, f)
}

// A node whose agent is held up is as silent, for as long as it takes the kubelet to
// find out.
func TestAgentHeld(t *testing.T) {
	install(t)
	f := filled(t, "held", 16)
	signal(t, "spazio-agent", syscall.SIGSTOP)
	f.wait(t, 10)
	// The kubelet may have started another by now.
	signal(t, "spazio-agent", syscall.SIGCONT)
	f.wait(t, 16)
	atMostRoom(t, f)
}

// Containers outlive containerd; what starts meanwhile starts later.
func TestContainerdRestarted(t *testing.T) {
	install(t)
	f := filled(t, "containerd", 16)
	if err := node.containerd.kill(); err != nil {
		t.Fatal(err)
	}
	if err := node.startContainerd(); err != nil {
		t.Fatal(err)
	}
	f.wait(t, 16)
	atMostRoom(t, f)
}

// The other scheduler goes on where the one that was killed left off.
func TestSchedulerKilled(t *testing.T) {
	install(t)
	f := filled(t, "scheduler", 16)
	kill(t, "spazio-scheduler")
	f.wait(t, 16)
	atMostRoom(t, f)
}

// While nobody answers for the API, what runs goes on, and afterwards the rest.
func TestAPIServerAway(t *testing.T) {
	install(t)
	f := filled(t, "away", 16)
	if err := node.plane.command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	select {
	case <-time.After(time.Minute):
	case <-node.plane.done:
	}
	if err := node.plane.command.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	f.wait(t, 16)
	atMostRoom(t, f)
	eventually(t, "our programs are ready", node.ready)
}

// filled submits a batch and returns when the node is full.
func filled(t *testing.T, label string, count int) *fates {
	t.Helper()
	quiet(t)
	f := newFates()
	f.submit(t, label, count, func(name string) *corev1.Pod { return worker(name, spazio, "-cpu=4s") })
	f.wait(t, 1)
	return f
}

// atMostRoom fails where more pods ran at once than the node has room for.
func atMostRoom(t *testing.T, f *fates) {
	t.Helper()
	b := f.figures(t)
	t.Logf("makespan %.1f s, mean run %.1f s, %d at once, %d bound", b.Makespan, b.Run, b.AtOnce, b.Bound)
	if b.AtOnce > room() {
		t.Errorf("%d pods ran at once on %d cores", b.AtOnce, runtime.NumCPU())
	}
}

// kill ends the processes of one of our programs at once.
func kill(t *testing.T, program string) {
	t.Helper()
	signal(t, program, syscall.SIGKILL)
}

// signal sends a signal to all processes of a program in containers.
func signal(t *testing.T, program string, s syscall.Signal) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range lines {
		text, err := os.ReadFile(file)
		name, _, _ := bytes.Cut(text, []byte{0})
		if err != nil || filepath.Base(string(name)) != program {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil {
			err = syscall.Kill(pid, s)
		}
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
		found++
	}
	if found == 0 {
		t.Fatalf("no process of %s", program)
	}
}
