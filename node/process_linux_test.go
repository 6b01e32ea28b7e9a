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

// limited is the role that makes the test binary apply limits and print the result: limits apply to the
// whole process.
const limited = "limited"

func limitThis() {
	if err := node.DefaultProcessLimits().Apply(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(debug.SetMemoryLimit(-1), debug.SetGCPercent(50), runtime.GOMAXPROCS(0))
}

func TestProcessLimits(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), role+"="+limited)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := strings.TrimSpace(string(out)); got != "20971520 50 1" {
		t.Errorf("memory limit, garbage collection and threads are %s", got)
	}
}

func TestProcessLimitsRefused(t *testing.T) {
	for name, l := range map[string]node.ProcessLimits{
		"Memory": {Memory: -1}, "Procs": {Procs: -1},
	} {
		var bad *field.Error
		if err := l.Apply(); !errors.As(err, &bad) || bad.Field != name || !errors.Is(err, node.ErrInvalid) {
			t.Errorf("%+v: %v", l, err)
		}
	}
	for _, l := range []node.ProcessLimits{{}, {Memory: 1, Procs: 1}} {
		if err := l.Validate(); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
}
