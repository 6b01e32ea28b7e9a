package node_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node"
)

// limited is the role that makes the test binary apply limits and say what came of them: they are
// the whole process's.
const limited = "limited"

func limitThis() {
	l := node.DefaultProcessLimits()
	l.Niceness = 19
	if err := l.Apply(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(debug.SetMemoryLimit(-1), debug.SetGCPercent(50), runtime.GOMAXPROCS(0))
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, t := range threads {
		stat, err := os.ReadFile("/proc/self/task/" + t.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		fmt.Println("nice", strings.Fields(after)[16])
	}
}

func TestProcessLimits(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), role+"="+limited)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if lines[0] != "20971520 50 1" {
		t.Errorf("memory limit, garbage collection and threads are %s", lines[0])
	}
	if len(lines) < 3 {
		t.Errorf("of %d threads the niceness is known", len(lines)-1)
	}
	for _, line := range lines[1:] {
		if line != "nice 19" {
			t.Errorf("a thread has %s", line)
		}
	}
}

func TestProcessLimitsRefused(t *testing.T) {
	for name, l := range map[string]node.ProcessLimits{
		"Memory": {Memory: -1}, "Procs": {Procs: -1}, "Niceness": {Niceness: 20},
	} {
		var bad *field.Error
		if err := l.Apply(); !errors.As(err, &bad) || bad.Field != name || !errors.Is(err, node.ErrInvalid) {
			t.Errorf("%+v: %v", l, err)
		}
	}
	for _, l := range []node.ProcessLimits{{}, {Niceness: -20}, {Niceness: 19}, {Memory: 1, Procs: 1}} {
		if err := l.Validate(); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
}
