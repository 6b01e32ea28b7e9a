package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// The plugin's word is law, and nothing is left of it all: no goroutine, no port,
// no file.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	before, sockets := goroutines(), descriptors(t)
	node, err := run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if node != "node-3" {
		t.Errorf("the pod ran on %s", node)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files left behind: %v, %v", left, err)
	}
	// Some goroutines of Kubernetes wait out a timer.
	left := goroutinesBeyond(before)
	for deadline := time.Now().Add(time.Minute); len(left) > 0 && time.Now().Before(deadline); left = goroutinesBeyond(before) {
		time.Sleep(20 * time.Millisecond)
	}
	if len(left) > 0 {
		t.Errorf("goroutines left behind:\n\n%s", strings.Join(left, "\n\n"))
	}
	for _, d := range descriptors(t) {
		if !slices.Contains(sockets, d) {
			t.Errorf("descriptor left behind: %s", d)
		}
	}
}

// goroutinesBeyond returns the stacks that more goroutines have than before.
func goroutinesBeyond(before map[string]int) []string {
	runtime.GC() // client-go closes a transport that is no longer referenced
	var left []string
	for stack, n := range goroutines() {
		if n > before[stack] {
			left = append(left, fmt.Sprintf("%d × %s", n-before[stack], stack))
		}
	}
	return left
}

// differs matches the parts in which two goroutines with the same stack differ.
var differs = regexp.MustCompile(`(?m)^goroutine .*$|\(.*\)$|\+0x[0-9a-f]+$| in goroutine \d+$`)

// goroutines counts the other goroutines by their stacks.
func goroutines() map[string]int {
	buffer := make([]byte, 16<<20)
	stacks := strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n")
	counts := map[string]int{}
	for _, stack := range stacks[1:] {
		// The test's own, and one that the standard library keeps a process once
		// somebody has asked for signals, as kube-scheduler does.
		if strings.Contains(stack, "testing.runTests") || strings.Contains(stack, "os/signal.loop") {
			continue
		}
		counts[differs.ReplaceAllString(stack, "")]++
	}
	return counts
}

// descriptors returns what the process holds open, ports among it.
func descriptors(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil // not Linux
	}
	var open []string
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			open = append(open, e.Name()+" "+target)
		}
	}
	return open
}
