package plugintest

import (
	"os"
	"path/filepath"
	"testing"
)

// nowhere is a port that nobody listens at.
const nowhere = `apiVersion: v1
kind: Config
clusters: [{name: nowhere, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: nowhere, context: {cluster: nowhere, user: ""}}]
current-context: nowhere
`

// Kubeconfig returns the path of one that leads nowhere: making a scheduler asks nothing.
func Kubeconfig(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(nowhere), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// EmptyTemp gives the test a temporary directory of its own, and fails it for what is left
// there in the end.
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
