// Package childrentest gives tests a group of children of their own.
package childrentest

import (
	"testing"

	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// NewGroup returns a group whose files are the test's, closed when it ends.
func NewGroup(t *testing.T) *children.Group {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	g, err := children.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}
