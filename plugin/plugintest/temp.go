package plugintest

import (
	"os"
	"testing"
)

// EmptyTemp gives the test a temporary directory of its own, and fails the test if anything is
// left there at its end.
func EmptyTemp(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}
