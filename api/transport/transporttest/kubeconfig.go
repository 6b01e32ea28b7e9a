package transporttest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Kubeconfig returns a kubeconfig, in a file of the test's, for the API server at a URL, without a
// user. The namespace is that of commands without one; empty is the default.
func Kubeconfig(t testing.TB, url, namespace string) (kubeconfig string) {
	t.Helper()
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: %q}}],
contexts: [{name: c, context: {cluster: c, user: "", namespace: %q}}]}`, url, namespace)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// Unreachable returns the kubeconfig of an API server that does not run.
func Unreachable(t testing.TB) (kubeconfig string) {
	t.Helper()
	return Kubeconfig(t, "http://127.0.0.1:1", "")
}
