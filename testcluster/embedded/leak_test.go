package embedded_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

// After Close nothing is left of a control plane that was used: no file, no port,
// no descriptor and, soon, no goroutine.
func TestCloseLeavesNothing(t *testing.T) {
	if !alone(t) {
		return
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	before, files := goroutines(), descriptors(t)
	plane, err := embedded.Start(t.Context(), embedded.Config{RBAC: true})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plane.ServiceAccountConfig(t.Context(), "default", "robot"); err != nil {
		t.Fatal(err)
	}
	watch, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	address, err := url.Parse(plane.RESTConfig().Host)
	if err != nil {
		t.Fatal(err)
	}
	if err := plane.Close(); err != nil {
		t.Error(err)
	}

	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files left behind: %v, %v", left, err)
	}
	checkFree(t, address.Host)
	left := goroutinesBeyond(t, before)
	if len(left) > 0 {
		t.Errorf("%d goroutines left behind:\n\n%s", len(left), strings.Join(left, "\n\n"))
	}
	for _, d := range descriptors(t) {
		if !slices.Contains(files, d) {
			t.Errorf("descriptor left behind: %s", d)
		}
	}
}

// checkFree fails unless the port is free, or soon: for a moment it may be that of a
// connection of somebody else's, whom the kernel has given it.
func checkFree(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		port, err := net.Listen("tcp", address)
		if err == nil {
			port.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("the port is not free: %v", err)
			return
		}
	}
}

// patience bounds a wait for what takes some seconds: the API server's watch cache
// has goroutines that wait out a timer.
const patience = time.Minute

// goroutinesBeyond returns the goroutines that are not in before and don't end
// either.
func goroutinesBeyond(t *testing.T, before map[string]int) []string {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		runtime.GC() // client-go closes a transport that nobody has any more
		var left []string
		for stack, n := range goroutines() {
			if n > before[stack] {
				left = append(left, fmt.Sprintf("%d × %s", n-before[stack], stack))
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// goroutines counts the goroutines by their stacks, without what differs between
// two with the same.
func goroutines() map[string]int {
	buffer := make([]byte, 16<<20)
	buffer = buffer[:runtime.Stack(buffer, true)]
	counts := map[string]int{}
	for i, stack := range strings.Split(string(buffer), "\n\n") {
		if i == 0 {
			continue // this one
		}
		var frames []string
		for line := range strings.Lines(stack) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "goroutine ") || strings.HasPrefix(line, "\t") {
				continue
			}
			line, _, _ = strings.Cut(line, " in goroutine ")
			if i := strings.LastIndex(line, "("); i > 0 {
				line = line[:i]
			}
			frames = append(frames, line)
		}
		counts[strings.Join(frames, "\n")]++
	}
	return counts
}

// descriptors returns what the process holds open, as far as the system tells.
func descriptors(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	var open []string
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			open = append(open, e.Name()+" "+target)
		}
	}
	return open
}
