package source_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/spazio-scheduler/spazio/energy/source"
)

// TestNotPermitted: counters that only root may read are distinguished from missing ones. A thread
// with another user's file rights reads, because root may read everything.
func TestNotPermitted(t *testing.T) {
	root := files(t, machines()["two sockets"])
	for dir := root; dir != filepath.Dir(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if dir == os.TempDir() {
			break
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, pattern := range []string{"*/name", "*/max_energy_range_uj"} {
		readable(t, filepath.Join(root, "class/powercap", pattern), 0o644)
	}
	readable(t, filepath.Join(root, "class/powercap/*/energy_uj"), 0)
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		_ = syscall.Setfsuid(65534)
		_, err := source.NewPowercap(source.PowercapConfig{Root: filepath.Join(root, "class/powercap")})
		ended <- err
	}()
	if err := <-ended; !errors.Is(err, source.ErrNotPermitted) || errors.Is(err, source.ErrNoPower) {
		t.Error(err)
	}
}

func readable(t *testing.T, pattern string, mode os.FileMode) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatal(pattern, err)
	}
	for _, path := range paths {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
}
