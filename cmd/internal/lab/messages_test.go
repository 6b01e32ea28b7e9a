package lab_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

// A refusal lists the valid values.
func TestRefusalsListValidValues(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args     []string
		wantText []string
	}{
		{[]string{"b1", "--schedulers", "dice"}, []string{`"dice"`, "load-aware", "default"}},
		{[]string{"b999"}, []string{`"b999"`, "b1", "findings"}},
		{[]string{"--workload", empty}, []string{empty, "empty", "arrival, work"}},
	} {
		_, err := simulated(t, test.args...)
		for _, part := range test.wantText {
			if err == nil || !strings.Contains(command.OneLine(err), part) {
				t.Errorf("%v: got %v, want %q in it", test.args, err, part)
			}
		}
	}
	if code, stdout, stderr := replayed(t, empty); code != command.ExitFailure || stdout != "" || !strings.Contains(stderr, "no samples") {
		t.Errorf("replay of an empty file: got exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
