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

// room is how many pods of a core each the node may run at once: its cores and the
// pods that stand ready while others start.
func room() int { return runtime.NumCPU() + 3 }

// Pods whose init container ends long before they take anything are not taken for
// pods that ended: no more run at once than without.
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

// Pods that can never start, since their image is not there, leave slow start's line and
// the place for overdue pods to those that can. They keep their room on the node, as they
// may start at any time, so there are no more of them than leave some.
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

// A node whose agent is dead, while pods fill it, gets no more of them than it has
// room for, and goes on with the agent that the kubelet starts.
func TestAgentKilled(t *testing.T) {
	install(t)
	f := filled(t, "agent")
	signal(t, processesOf(t, "spazio-agent", ""), syscall.SIGKILL)
	f.wait(t, *faultPods)
	atMostRoom(t, f)
	eventually(t, "the agent is back", node.ready)
}

// A node whose agent is held up is as silent, for as long as it takes the kubelet to
// find out.
func TestAgentHeld(t *testing.T) {
	install(t)
	f := filled(t, "held")
	held := processesOf(t, "spazio-agent", "")
	signal(t, held, syscall.SIGSTOP)
	f.wait(t, *faultPods/2)
	// The kubelet may have ended it and started another by now.
	signal(t, held, syscall.SIGCONT)
	f.wait(t, *faultPods)
	atMostRoom(t, f)
	eventually(t, "the agent is back", node.ready)
}

// Containers outlive containerd; what starts meanwhile starts later.
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

// The other scheduler goes on where the one that was killed left off.
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
	eventually(t, "both schedulers are there", node.ready)
}

// leader is the name of the pod whose scheduler leads.
func leader(t *testing.T) (name string) {
	t.Helper()
	eventually(t, "a scheduler leads", func(ctx context.Context) (err error) {
		name, err = podforward.Leader("spazio-scheduler")(ctx, node.client, "spazio-system")
		return err
	})
	return name
}

// While nobody answers for the API, what runs goes on, and afterwards the rest.
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

// atMostRoom fails where more pods ran at once than the node has room for.
func atMostRoom(t *testing.T, f *fates) {
	t.Helper()
	b := f.figures(t)
	note(t, t.Name(), b)
	t.Logf("makespan %.1f s, mean run %.1f s, %d at once, %d bound", b.Makespan, b.Run, b.AtOnce, b.Bound)
	if b.AtOnce > room() {
		t.Errorf("%d pods ran at once on %d cores", b.AtOnce, runtime.NumCPU())
	}
}

// processesOf are those of a program, in a pod if one is named.
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

// signal sends a signal to the processes that are still there.
func signal(t *testing.T, processes []int, s syscall.Signal) {
	t.Helper()
	for _, pid := range processes {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
}
