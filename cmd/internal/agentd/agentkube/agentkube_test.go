package agentkube_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/agentd/agentkube"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

func TestKubeNeedsACluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"outside a cluster":      {nil, "KUBERNETES_SERVICE_HOST"},
		"kubeconfig is missing":  {[]string{"--kubeconfig", "/nonexistent/kubeconfig"}, "/nonexistent/kubeconfig"},
		"no such source, listed": {[]string{"--pod-source", "x"}, "cgroup, cri, kube, none"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, err bytes.Buffer
			args := append([]string{"--listen", "127.0.0.1:0", "--node-name", "n", "--pod-source", "kube"}, tc.args...)
			code := agentkube.Main(t.Context(), args, &out, &err)
			if code != command.ExitUsage || !strings.Contains(err.String(), tc.want) {
				t.Errorf("exit code %d and %q, want %d and %q", code, &err, command.ExitUsage, tc.want)
			}
		})
	}
}
