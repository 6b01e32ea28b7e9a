package lab_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

// What is refused comes with what would do.
func TestRefusalsNameWhatThereIs(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		says []string
	}{
		{[]string{"b1", "--schedulers", "dice"}, []string{`"dice"`, "load-aware", "default"}},
		{[]string{"b999"}, []string{`"b999"`, "b1", "findings"}},
		{[]string{"--workload", empty}, []string{empty, "empty", "arrival, work"}},
	} {
		_, err := simulated(t, test.args...)
		for _, part := range test.says {
			if err == nil || !strings.Contains(command.OneLine(err), part) {
				t.Errorf("%v: %v does not say %q", test.args, err, part)
			}
		}
	}
	if code, stdout, stderr := replayed(t, empty); code != command.ExitFailure || stdout != "" || !strings.Contains(stderr, "no samples") {
		t.Errorf("replay of an empty file: exit code %d, printed %q, said %q", code, stdout, stderr)
	}
}
