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

// After Close nothing remains of a used control plane: no file, port, descriptor nor, after a moment,
// goroutine.
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
		t.Errorf("got remaining files %v, %v", left, err)
	}
	checkFree(t, address.Host)
	left := goroutinesBeyond(t, before)
	if len(left) > 0 {
		t.Errorf("got %d remaining goroutines:\n\n%s", len(left), strings.Join(left, "\n\n"))
	}
	for _, d := range descriptors(t) {
		if !slices.Contains(files, d) {
			t.Errorf("got remaining descriptor %s", d)
		}
	}
}

// checkFree fails the test unless the port is free soon: the kernel may briefly have given it to
// another process's connection.
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

// patience bounds waits of some seconds: goroutines of the API server's watch cache wait for a timer.
const patience = time.Minute

// goroutinesBeyond returns the goroutines that are not in before and do not end.
func goroutinesBeyond(t *testing.T, before map[string]int) []string {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		runtime.GC() // client-go closes a transport without references
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

// goroutines counts goroutines by their stacks, without what differs between two equal ones.
func goroutines() map[string]int {
	buffer := make([]byte, 16<<20)
	buffer = buffer[:runtime.Stack(buffer, true)]
	counts := map[string]int{}
	for i, stack := range strings.Split(string(buffer), "\n\n") {
		if i == 0 {
			continue // this goroutine
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

// descriptors returns the open descriptors of the process, if the system lists them.
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
