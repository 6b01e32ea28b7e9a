package burn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/simnode"
	"github.com/spazio-scheduler/spazio/simnode/burn"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// The test binary is its own child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == burn.Command {
		if burn.Child(context.Background(), os.Args[2:], os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// rig is a machine that runs until the test ends it.
type rig struct {
	*burn.Machine
	events chan simnode.Transition
	pods   chan telemetry.PodEvent
	stop   func()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{
		Machine: burn.NewMachine("real", []string{os.Args[0], burn.Command}),
		events:  make(chan simnode.Transition, 100),
		pods:    make(chan telemetry.PodEvent, 100),
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.Run(ctx, func(tr simnode.Transition) { r.events <- tr }); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() {
		if err := r.Pods().Run(ctx, func(e telemetry.PodEvent) { r.pods <- e }); err != nil {
			t.Error(err)
		}
	})
	r.stop = func() { cancel(); running.Wait() }
	t.Cleanup(r.stop)
	return r
}

func (r *rig) bind(t *testing.T, uid string, work time.Duration) {
	t.Helper()
	if err := r.Bind(simnode.Pod{UID: uid, Work: work, Memory: 1 << 20}); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) want(t *testing.T, uid string, phase simnode.Phase) {
	t.Helper()
	got := <-r.events
	got.At = time.Time{}
	if diff := cmp.Diff(simnode.Transition{UID: uid, Phase: phase}, got); diff != "" {
		t.Fatalf("transition (-want +got):\n%s", diff)
	}
}

func TestMachineRunsPods(t *testing.T) {
	r := newRig(t)
	r.bind(t, "a", 50*time.Millisecond)
	r.want(t, "a", simnode.Running)
	r.want(t, "a", simnode.Succeeded)
	r.stop()
	close(r.pods)
	var sets [][]telemetry.Pod
	for e := range r.pods {
		if e.Changed {
			sets = append(sets, e.Pods)
		}
	}
	want := [][]telemetry.Pod{nil, telemetry.RunningPods("a"), nil}
	if diff := cmp.Diff(want, sets); diff != "" {
		t.Errorf("pod sets (-want +got):\n%s", diff)
	}
}

func TestMachineKills(t *testing.T) {
	r := newRig(t)
	r.bind(t, "a", time.Hour)
	r.want(t, "a", simnode.Running)
	if err := r.Bind(simnode.Pod{UID: "a"}); !errors.Is(err, simnode.ErrDuplicatePod) {
		t.Errorf("the same pod again: error %v", err)
	}
	r.Kill("a")
	r.want(t, "a", simnode.Killed)
}

// The children are niced while the machine runs and gone when it has stopped.
func TestMachineStopsItsChildren(t *testing.T) {
	r := newRig(t)
	for _, uid := range []string{"a", "b", "c"} {
		r.bind(t, uid, time.Hour)
		r.want(t, uid, simnode.Running)
	}
	pids := childrenOf(t, os.Getpid())
	if len(pids) != 3 {
		t.Fatalf("children %v, want three", pids)
	}
	for _, pid := range pids {
		for _, nice := range nicenessOf(t, pid) {
			if nice != "19" {
				t.Errorf("a thread of child %d has niceness %s", pid, nice)
			}
		}
	}
	r.stop()
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("child %d is there after the machine: %v", pid, err)
		}
	}
	if err := r.Bind(simnode.Pod{UID: "d"}); !errors.Is(err, burn.ErrStopped) {
		t.Errorf("bind after the end: error %v", err)
	}
}

func TestMachineReportsAFailedStart(t *testing.T) {
	r := newRig(t)
	missing := burn.NewMachine("broken", []string{"/nonexistent/program"})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = missing.Run(ctx, func(tr simnode.Transition) { r.events <- tr }) })
	if err := missing.Bind(simnode.Pod{UID: "a"}); err != nil {
		t.Fatal(err)
	}
	r.want(t, "a", simnode.Failed)
	cancel()
	running.Wait()
}

func childrenOf(t *testing.T, parent int) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if fields := stat(filepath.Join("/proc", e.Name())); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// nicenessOf returns that of each thread.
func nicenessOf(t *testing.T, pid int) (niceness []string) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(threads) < 2 {
		t.Fatalf("threads %q, %v", threads, err)
	}
	for _, thread := range threads {
		if fields := stat(thread); fields != nil { // else it has ended
			niceness = append(niceness, fields[16])
		}
	}
	return niceness
}

// stat returns the fields of the stat of a process or thread behind the command's
// name.
func stat(dir string) []string {
	text, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

func TestRunRejects(t *testing.T) {
	for _, load := range []burn.Load{{CPU: -1}, {Memory: -1}} {
		if err := burn.Run(t.Context(), load, &bytes.Buffer{}); !errors.Is(err, burn.ErrBadLoad) {
			t.Errorf("%+v: error %v", load, err)
		}
	}
}

func TestRunEndsWithItsParent(t *testing.T) {
	ctx := burn.WithParent(t.Context(), strings.NewReader(""))
	if err := burn.Run(ctx, burn.Load{CPU: time.Hour}, &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
