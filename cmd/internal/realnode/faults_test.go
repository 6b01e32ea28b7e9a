//go:build realnode && linux

package realnode

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
)

var (
	faultPods = flag.Int("fault-pods", 16, "how many pods run while a part fails")
	faultWork = flag.Duration("fault-work", 4*time.Second, "the CPU time of each of them")
)

// room returns how many one-core pods the node may run at once: its cores and the pods that are ready
// while others start.
func room() int { return runtime.NumCPU() + 3 }

// Pods whose init container ends long before they use any CPU do not count as ended: no more run at
// once than without.
func TestInitContainers(t *testing.T) {
	install(t)
	quiet(t)
	f := newFates()
	f.submit(t, "init", *faultPods, func(name string) *corev1.Pod {
		pod := worker(name, spazio, "-cpu="+faultWork.String())
		first := pod.Spec.Containers[0]
		first.Name, first.Args = "first", []string{"-sleep=1s"}
		pod.Spec.InitContainers = []corev1.Container{first}
		return pod
	})
	f.wait(t, *faultPods)
	atMostRoom(t, f)
}

// Pods that can never start, since their image does not exist, do not count towards slow start or the
// place for overdue pods. They keep their room on the node, as they may start at any time, so the test
// creates only so many that some room is left.
func TestBadImage(t *testing.T) {
	if installed {
		uninstall(t)
	}
	defer func(before time.Duration) { *maxWait = before }(*maxWait)
	*maxWait = cmp.Or(*maxWait, 5*time.Second)
	install(t)
	quiet(t)
	const good = 4
	bad := runtime.NumCPU()
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
		if n := stuck(); n < bad {
			return fmt.Errorf("%d are bound", n)
		}
		return nil
	})
	f := newFates()
	f.submit(t, "good", good, func(name string) *corev1.Pod { return worker(name, spazio, "-cpu=1s") })
	f.wait(t, good)
	b := f.figures(t)
	note(t, t.Name(), b)
	t.Logf("beside %d of %d pods bound without an image: makespan %.1f s, queue %.1f s", stuck(), bad, b.Makespan, b.Queue)
	removeBatch(t, "bad")
	removeBatch(t, "good")
	uninstall(t)
}

// A node whose agent is killed while pods fill it gets at most as many pods as it has room for, and
// continues with the agent that the kubelet restarts.
func TestAgentKilled(t *testing.T) {
	install(t)
	f := filled(t, "agent")
	signal(t, processesOf(t, "spazio-agent", ""), syscall.SIGKILL)
	f.wait(t, *faultPods)
	atMostRoom(t, f)
	eventually(t, "the agent is back", node.ready)
}

// A node with a suspended agent is equally silent, until the kubelet notices.
func TestAgentHeld(t *testing.T) {
	install(t)
	f := filled(t, "held")
	held := processesOf(t, "spazio-agent", "")
	signal(t, held, syscall.SIGSTOP)
	f.wait(t, *faultPods/2)
	// The kubelet may already have restarted it.
	signal(t, held, syscall.SIGCONT)
	f.wait(t, *faultPods)
	atMostRoom(t, f)
	eventually(t, "the agent is back", node.ready)
}

// Containers outlive containerd; new ones start later.
func TestContainerdRestarted(t *testing.T) {
	install(t)
	f := filled(t, "containerd")
	if err := node.containerd.kill(); err != nil {
		t.Fatal(err)
	}
	if err := node.startContainerd(); err != nil {
		t.Fatal(err)
	}
	f.wait(t, *faultPods)
	atMostRoom(t, f)
}

// The other scheduler continues where the killed one stopped.
func TestSchedulerKilled(t *testing.T) {
	install(t)
	f := filled(t, "scheduler")
	first := leader(t)
	pod, err := node.client.CoreV1().Pods("spazio-system").Get(t.Context(), first, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	signal(t, processesOf(t, "spazio-scheduler", pod.UID), syscall.SIGKILL)
	f.wait(t, *faultPods)
	atMostRoom(t, f)
	if now := leader(t); now == first {
		t.Errorf("%s leads again", now)
	}
	eventually(t, "both schedulers run", node.ready)
}

// leader returns the name of the pod whose scheduler leads.
func leader(t *testing.T) (name string) {
	t.Helper()
	eventually(t, "a scheduler leads", func(ctx context.Context) (err error) {
		name, err = podforward.Leader("spazio-scheduler")(ctx, node.client, "spazio-system")
		return err
	})
	return name
}

// While the API server is down, running pods continue, and the others afterwards.
func TestAPIServerAway(t *testing.T) {
	install(t)
	f := filled(t, "away")
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
	f.wait(t, *faultPods)
	atMostRoom(t, f)
	eventually(t, "our programs are ready", node.ready)
}

// filled submits a batch and returns when the node is full.
func filled(t *testing.T, label string) *fates {
	t.Helper()
	quiet(t)
	f := newFates()
	f.submit(t, label, *faultPods, func(name string) *corev1.Pod { return worker(name, spazio, "-cpu="+faultWork.String()) })
	f.wait(t, 1)
	return f
}

// atMostRoom fails if more pods ran at once than the node has room for.
func atMostRoom(t *testing.T, f *fates) {
	t.Helper()
	b := f.figures(t)
	note(t, t.Name(), b)
	t.Logf("makespan %.1f s, mean run %.1f s, %d at once, %d bound", b.Makespan, b.Run, b.AtOnce, b.Bound)
	if b.AtOnce > room() {
		t.Errorf("got %d pods at once on %d cores", b.AtOnce, runtime.NumCPU())
	}
}

// processesOf returns the processes of a program, in a pod if one is named.
func processesOf(t *testing.T, program string, pod types.UID) (found []int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range lines {
		dir := filepath.Dir(file)
		text, err := os.ReadFile(file)
		name, _, _ := bytes.Cut(text, []byte{0})
		if err != nil || filepath.Base(string(name)) != program {
			continue
		}
		if groups, err := os.ReadFile(filepath.Join(dir, "cgroup")); err != nil || !bytes.Contains(groups, []byte(pod)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			found = append(found, pid)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no process of %s in pod %q", program, pod)
	}
	return found
}

// signal sends a signal to those processes that still run.
func signal(t *testing.T, processes []int, s syscall.Signal) {
	t.Helper()
	for _, pid := range processes {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
}
