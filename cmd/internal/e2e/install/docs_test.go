package install

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/plugin"
)

// shell matches the commands of a document that this test runs; cmd/internal/e2e/documents checks that
// every block is run by something.
var shell = regexp.MustCompile("(?ms)^<!-- run: TestDocuments of cmd/internal/e2e/install -->\n```sh\n(.*?)^```$")

// blocks returns those of a document.
func blocks(t *testing.T, file string) (commands []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../..", file))
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range shell.FindAllStringSubmatch(string(text), -1) {
		commands = append(commands, match[1])
	}
	if len(commands) == 0 {
		t.Fatalf("%s has no commands", file)
	}
	return commands
}

// The documented commands run in a shell and do what they should: in the documents' order, on a cluster
// of the embedded control plane.
func TestDocuments(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Log("not run: there is no shell")
		return
	}
	c, client := control(t)
	defer remove(t, c)
	defer unpods(t, client)
	before := inventory(t)
	node(t, client, "near", 0)
	shown := &programs{nodes: []plugin.NodeState{{Node: "near", Signal: "fresh"}}, notAfter: time.Now().Add(80 * 24 * time.Hour)}
	front := newFront(t, cluster.Plane(t).RESTConfig(), shown)
	s := newShell(t, front.kubeconfig)
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan struct{})
	go func() {
		defer close(running)
		kubelet(ctx, client, "near", corev1.PodStatus{Phase: corev1.PodRunning})
	}()
	defer func() { cancel(); <-running }()

	for _, file := range []string{"docs/install.md", "docs/operate.md"} {
		there := false
		for _, block := range blocks(t, file) {
			if file == "docs/operate.md" && !there { // the other document ended by removing everything
				s.run(t, "kubectl spazio install --registry r.example --component cgroup-v1 --no-wait")
				pods(t, client, "near")
				there = true
			}
			if strings.Contains(block, "uninstall") && !strings.Contains(block, "--dry-run") {
				unpods(t, client)
			}
			s.run(t, block)
			if strings.Contains(block, "spazio install") && !there {
				pods(t, client, "near")
				there = true
			}
		}
	}
	_ = client.CoreV1().Nodes().Delete(t.Context(), "near", metav1.DeleteOptions{})
	_ = client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(t.Context(), "near", metav1.DeleteOptions{})
	if more := difference(before, inventory(t)); len(more) > 0 {
		t.Errorf("got remaining %v", more)
	}
}

// asSpazio makes the test's binary the program kubectl-spazio.
const asSpazio = "SPAZIO_E2E_PLUGIN"

// A reader is a shell with the documents' prerequisites: kubectl with the plugin, and values for what
// the reader has to choose.
type reader struct{ env []string }

func newShell(t *testing.T, kubeconfig string) reader {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	kubectl := fmt.Sprintf(`#!/bin/sh
case $1 in
spazio) shift; %s=1 exec '%s' "$@" ;;
esac
echo "this kubectl has no $*" >&2
exit 2
`, asSpazio, self)
	digests := "{"
	for _, program := range deploy.Programs() {
		digests += fmt.Sprintf(`"%s": "sha256:%064d",`, program, 1)
	}
	digests = strings.TrimSuffix(digests, ",") + "}"
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(kubectl), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "digests.json"), []byte(digests), 0o600); err != nil {
		t.Fatal(err)
	}
	return reader{append(os.Environ(),
		"PATH="+dir+":"+os.Getenv("PATH"), "KUBECONFIG="+kubeconfig, "DIGESTS="+filepath.Join(dir, "digests.json"),
		"REGISTRY=r.example", "POD=user", "NODE=near",
	)}
}

// run runs a block, each command of which has to succeed.
func (r reader) run(t *testing.T, block string) {
	t.Helper()
	c := exec.CommandContext(withTimeout(t), "sh", "-eu", "-c", strings.ReplaceAll(block, "/tmp/digests.json", `"$DIGESTS"`))
	c.Env = r.env
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", strings.TrimSpace(block), err, out)
	}
}
