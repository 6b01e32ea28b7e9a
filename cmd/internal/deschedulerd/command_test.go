package deschedulerd_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/deschedulerd"
)

func TestMainRefuses(t *testing.T) {
	kubeconfig := "--kubeconfig=" + transporttest.Unreachable(t)
	wrong := filepath.Join(t.TempDir(), "args.yaml")
	if err := os.WriteFile(wrong, []byte("minFreePods: -1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"unknown flag":           {[]string{"--no-such-flag"}, command.ExitUsage, "no-such-flag"},
		"arguments":              {[]string{"x"}, command.ExitUsage, "unknown command"},
		"TLS and plaintext":      {[]string{kubeconfig, "--tls-dir=x", "--insecure"}, command.ExitUsage, "nsecure"},
		"plaintext for everyone": {[]string{kubeconfig, "--listen=0.0.0.0:0"}, command.ExitUsage, "insecure"},
		"negative interval":      {[]string{kubeconfig, "--descheduling-interval=-1s"}, command.ExitUsage, "Cycle = -1s"},
		"no arguments' file":     {[]string{kubeconfig, "--scheduler-args=/nonexistent"}, command.ExitUsage, "--scheduler-args: open /nonexistent"},
		"scheduler's arguments":  {[]string{kubeconfig, "--scheduler-args=" + wrong}, command.ExitUsage, "minFreePods = -1"},
		"log level":              {[]string{"--log-level=loud"}, command.ExitUsage, "--log-level"},
		"no policy":              {[]string{kubeconfig, "--listen=127.0.0.1:0", "--policy-config-file=/nonexistent"}, command.ExitFailure, "/nonexistent"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := deschedulerd.Main(context.Background(), c.args, &out, &errs); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
			if last := lines[len(lines)-1]; !strings.Contains(last, c.says) {
				t.Errorf("said %q, want a word on %q", last, c.says)
			}
		})
	}
}
