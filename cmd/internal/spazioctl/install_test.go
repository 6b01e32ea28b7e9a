package spazioctl_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/deploy/check"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
)

// An image without a digest is refused if the others have one, unless a tag is given for it.
func TestDigestsAreForAllImages(t *testing.T) {
	file := filepath.Join(t.TempDir(), "digests.json")
	var digests []string
	for _, program := range []string{"agent", "aggregator", "certs", "profiler", "scheduler"} {
		digests = append(digests, fmt.Sprintf(`"spazio-%s": "sha256:%064d"`, program, 1))
	}
	if err := os.WriteFile(file, []byte("{"+strings.Join(digests, ", ")+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{nil, command.ExitOK, "/spazio-certs@sha256:"},
		{[]string{"--component=testbed"}, command.ExitUsage, "it has no spazio-testbed"},
		{[]string{"--component=testbed", "--tag=dev"}, command.ExitOK, "/spazio-testbed:dev"},
		{[]string{"--kubernetes=1.36"}, command.ExitUsage, "the file has no spazio-scheduler-k8s1.36: make it with tools/images -kubernetes 1.36"},
	} {
		args := append([]string{"install", "--registry=r.example:5000/s", "--digests=" + file, "--dry-run", "--output=yaml"}, test.args...)
		if code, out, errs := run(t.Context(), args...); code != test.code || !strings.Contains(out+errs, test.want) {
			t.Errorf("%q: exit code %d, no %q: %s", test.args, code, test.want, errs)
		}
	}
}

// Hints name the program as it was called.
func TestHintsNameTheCalledProgram(t *testing.T) {
	t.Cleanup(func() { spazioctl.NewCommand("spazio", "spazio") })
	var out, errs bytes.Buffer
	kubeconfig := profileServer(t)
	if spazioctl.PluginMain(t.Context(), []string{"profile", "show", "cart", "--kubeconfig", kubeconfig}, &out, &errs); !strings.Contains(errs.String(), "; kubectl spazio profile list shows all") {
		t.Errorf("got %s", &errs)
	}
	nothing := check.Report{Results: []check.Result{{Advice: []string{"spazio install --help", "kubectl get pods"}}}}
	if printed := spazioctl.Checked(nothing); !strings.Contains(printed, "try: kubectl spazio install --help\n") || !strings.Contains(printed, "try: kubectl get pods\n") {
		t.Errorf("got %s", printed)
	}
}
