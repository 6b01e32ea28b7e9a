package nice_test

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spazio-scheduler/spazio/node/nice"
)

// role makes the test binary a process that lowers its own priority.
const role = "SPAZIO_NICE_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	var threads sync.WaitGroup
	stay := make(chan struct{})
	for range 8 {
		threads.Add(1)
		go func() { // a thread of its own, started before
			runtime.LockOSThread()
			threads.Done()
			<-stay
		}()
	}
	threads.Wait()
	if err := nice.Set(19); err != nil {
		os.Stdout.WriteString(err.Error())
		os.Exit(1)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		os.Exit(1)
	}
	for _, t := range tasks {
		stat, err := os.ReadFile("/proc/self/task/" + t.Name() + "/stat")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		os.Stdout.WriteString(fields[16] + "\n")
	}
	os.Exit(0)
}

func TestEveryThreadIsNice(t *testing.T) {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), role+"=child")
	out, err := child.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Fields(string(out))
	if len(lines) < 9 {
		t.Errorf("%d threads, want 9 at least", len(lines))
	}
	for _, line := range lines {
		if n, err := strconv.Atoi(line); err != nil || n != 19 {
			t.Errorf("a thread of niceness %s", line)
		}
	}
}
