package testbedd_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/testbedd"
)

func run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = testbedd.Main(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

// An invalid configuration is refused in one line with the flag's or the field's name.
func TestMainRefuses(t *testing.T) {
	nowhere := "--kubeconfig=" + transporttest.Unreachable(t)
	for _, tc := range []struct {
		args []string
		code int
		line string
	}{
		{[]string{"--bogus"}, command.ExitUsage, "unknown flag: --bogus"},
		{[]string{"extra"}, command.ExitUsage, "extra"},
		{[]string{"--namespaces", "a,a"}, command.ExitUsage, "Namespaces"},
		{[]string{"--log-level", "loud"}, command.ExitUsage, "--log-level"},
		{[]string{"--leader-elect=perhaps"}, command.ExitUsage, "--leader-elect"},
		{[]string{"--signal", "scheduler.example:9690", nowhere}, command.ExitUsage, "plaintext"},
		{[]string{"--signal", "127.0.0.1:1", "--token-file", "token"}, command.ExitUsage, "TokenFile"},
		{[]string{"--signal", "127.0.0.1:1", nowhere}, command.ExitFailure, "reach the API server"},
		{[]string{"--kubeconfig", filepath.Join(t.TempDir(), "none")}, command.ExitFailure, "none"},
		{[]string{nowhere}, command.ExitFailure, "reach the API server"},
	} {
		code, stdout, stderr := run(t.Context(), append([]string{"--metrics-listen="}, tc.args...)...)
		last := stderr[strings.LastIndexByte(strings.TrimSuffix(stderr, "\n"), '\n')+1:]
		if code != tc.code || stdout != "" || !strings.HasPrefix(last, "spazio-testbed: ") || !strings.Contains(last, tc.line) {
			t.Errorf("%q: exit code %d, want %d\n%s%s", tc.args, code, tc.code, stderr, stdout)
		}
	}
}

func TestHelp(t *testing.T) {
	code, out, errs := run(t.Context(), "--help")
	if code != command.ExitOK || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, text := range []string{"--placeholder-image", "(default \"127.0.0.1:9704\")", "such as :9704"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), text) { // wherever a line ends
			t.Errorf("no %q in\n%s", text, out)
		}
	}
}
