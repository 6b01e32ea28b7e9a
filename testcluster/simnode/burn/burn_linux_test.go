package burn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/burn"
)

// roleVariable makes the test binary another program.
const roleVariable = "SPAZIO_BURN_TEST_ROLE"

// The test binary is its own child.
func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "forgetful": // a program that does not call Init
		if _, err := burn.NewMachine(burn.Config{}); errors.Is(err, burn.ErrNoInit) {
			os.Exit(0)
		}
		os.Exit(1)
	case "burner": // a program of its own for the children
		if burn.Child(context.Background(), os.Args[1:], os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	burn.Init()
	os.Exit(m.Run())
}

func TestNewMachineWantsInit(t *testing.T) {
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), roleVariable+"=forgetful")
	if out, err := program.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// The machine's size is what the system says of it.
func TestMachineSpec(t *testing.T) {
	m := newMachine(t, burn.Config{Labels: map[string]string{"real": "true"}})
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	spec := m.Spec()
	spec.Labels["real"] = "false"
	if spec.Name != name || spec.Cores < 1 || spec.Memory < 1<<20 || m.Spec().Labels["real"] != "true" {
		t.Errorf("%+v of host %s", m.Spec(), name)
	}
}

func newMachine(t *testing.T, c burn.Config) *burn.Machine {
	t.Helper()
	m, err := burn.NewMachine(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// rig is a machine that runs until the test ends it.
type rig struct {
	*burn.Machine
	events chan simnode.Transition
	pods   chan telemetry.PodEvent
	stop   func()
}

func newRig(t *testing.T, c burn.Config) *rig {
	t.Helper()
	c.Name = "real"
	r := &rig{
		Machine: newMachine(t, c),
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
	r := newRig(t, burn.Config{})
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

// A child may be a program of its own.
func TestMachineRunsACommand(t *testing.T) {
	t.Setenv(roleVariable, "burner")
	r := newRig(t, burn.Config{Command: []string{os.Args[0]}})
	r.bind(t, "a", 50*time.Millisecond)
	r.want(t, "a", simnode.Running)
	r.want(t, "a", simnode.Succeeded)
}

func TestMachineKills(t *testing.T) {
	r := newRig(t, burn.Config{})
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
	r := newRig(t, burn.Config{})
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
	if err := r.Bind(simnode.Pod{UID: "d"}); !errors.Is(err, simnode.ErrStopped) {
		t.Errorf("bind after the end: error %v", err)
	}
}

func TestMachineReportsAFailedStart(t *testing.T) {
	r := newRig(t, burn.Config{Command: []string{"/nonexistent/program"}})
	r.bind(t, "a", time.Second)
	r.want(t, "a", simnode.Failed)
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
	for name, load := range map[string]burn.Load{"CPU": {CPU: -1}, "Memory": {Memory: -1}} {
		err := burn.Run(t.Context(), load, &bytes.Buffer{})
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != name || !errors.Is(err, burn.ErrInvalid) {
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
