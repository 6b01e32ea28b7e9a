package schedulerd_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/schedulerd"
	"github.com/spazio-scheduler/spazio/plugin/plugintest"
)

// TestConfigurationIsStrict: plugin arguments are decoded strictly, like the rest of the file.
func TestConfigurationIsStrict(t *testing.T) {
	plugintest.EmptyTemp(t)
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: ` + transporttest.Unreachable(t) + `}
profiles:
- schedulerName: spazio
  plugins: {multiPoint: {enabled: [{name: Spazio}]}}
  pluginConfig: [{name: Spazio, args: {maxAges: 2s}}]
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := schedulerd.Main(context.Background(), []string{"--config", path}, &out, &errs); code != command.ExitFailure {
		t.Errorf("exit code %d, want %d", code, command.ExitFailure)
	}
	if !strings.Contains(errs.String(), `unknown field "maxAges"`) {
		t.Errorf("said %q", errs.String())
	}
}

func TestMainUsage(t *testing.T) {
	plugintest.EmptyTemp(t)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag":            {[]string{"--no-such-flag"}, "no-such-flag"},
		"arguments":               {[]string{"x"}, "does not take any arguments"},
		"flag beside --config":    {[]string{"--config=x", "--signal-listen=127.0.0.1:0"}, "--signal-listen"},
		"plaintext for everyone":  {[]string{"--signal-listen=0.0.0.0:0"}, "insecure"},
		"debug data for everyone": {[]string{"--signal-listen=127.0.0.1:0", "--debug-listen=0.0.0.0:0", "--insecure"}, "loopback"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := schedulerd.Main(context.Background(), c.args, &out, &errs); code != command.ExitUsage {
				t.Errorf("exit code %d, want %d", code, command.ExitUsage)
			}
			if !strings.Contains(errs.String(), c.want) || strings.Count(errs.String(), "\n") != 1 {
				t.Errorf("got %q, want one line with %q", errs.String(), c.want)
			}
		})
	}
}

// The debug address exports the scheduler's Kubernetes version: spazio check compares it with the API
// server's.
func TestExportsItsKubernetesVersion(t *testing.T) {
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "kubernetes_build_info" && l.GetName() == "git_version" && strings.HasPrefix(l.GetValue(), "v") {
					return
				}
			}
		}
	}
	t.Error("kubernetes_build_info with a git_version is missing")
}
