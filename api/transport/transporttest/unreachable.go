package transporttest

import (
	"os"
	"path/filepath"
	"testing"
)

// Unreachable returns the kubeconfig, in a file of the test's, of an API server that
// nobody runs.
func Unreachable(t testing.TB) (kubeconfig string) {
	t.Helper()
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}],
contexts: [{name: c, context: {cluster: c, user: ""}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}
