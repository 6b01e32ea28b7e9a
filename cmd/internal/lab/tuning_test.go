package lab_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/lab"
)

func correct(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := lab.NewCommand()
	cmd.SetArgs(append([]string{"simulate", "cp"}, args...))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestSimulateCP(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "settling.svg")
	args := []string{"--limits", "cut", "--tuners", "none,seed-scc", "--seeds", "1", "--held-out", "--plot", plot}
	out, err := correct(t, append(args, "--output", "json")...)
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		Rows []struct {
			Scenario, Tuner string
			Seed            uint64
			Minutes         []struct{ Latency float64 }
			Clairvoyant     float64
		}
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if r := made.Rows; len(r) != 2 || r[1].Tuner != "seed-scc" || r[1].Scenario != "cut" || r[0].Seed != 101 || len(r[0].Minutes) != 180 || r[0].Clairvoyant <= 0 {
		t.Errorf("rows %+v", r)
	}
	if info, err := os.Stat(plot); err != nil || info.Size() == 0 {
		t.Errorf("missing picture: %v", err)
	}
	if testing.Short() {
		return // the same runs again
	}
	if out, err = correct(t, append(args, "-o", "wide")...); err != nil || !strings.Contains(out, "hold all") || !strings.Contains(out, "seed-scc") {
		t.Errorf("%v: %s", err, out)
	}
	for _, bad := range [][]string{{"--limits", "x"}, {"--tuners", ""}, {"--tuners", "x"}, {"--seeds", "0"}, {"--plot", "x.txt"}, {"--output", "x"}} {
		if _, err := correct(t, append([]string{"--seeds", "1"}, bad...)...); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
