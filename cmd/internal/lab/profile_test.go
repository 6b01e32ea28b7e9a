package lab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/lab"
)

// writeSeries writes some days of a job.
func writeSeries(t *testing.T, days int) string {
	t.Helper()
	return writeFalling(t, days, 0)
}

// writeFalling writes some days of a job whose usage falls each day by a part of the first day's.
func writeFalling(t *testing.T, days int, part float64) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("timestamp,cpu_cores,memory_bytes\n")
	for i := range days * 288 {
		less := 1 - part*float64(i/288)
		fmt.Fprintf(&b, "%d,%v,%v\n", 1793577600+300*i, less*(.2+float64(i%17)/40), less*(1e8+1e7*float64(i%29)))
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "job.csv"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func evaluateProfiles(args ...string) (string, error) {
	var out bytes.Buffer
	cmd := lab.NewCommand()
	cmd.SetArgs(append([]string{"profile", "evaluate"}, args...))
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	err := cmd.ExecuteContext(context.Background())
	return out.String(), err
}

func TestProfileEvaluate(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "curves.svg")
	all := filepath.Join(t.TempDir(), "all.csv")
	out, err := evaluateProfiles("--series", writeSeries(t, 4), "--output", "json", "--plot", plot, "--predictions", all)
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		Rows []struct {
			Resource, Name string
			Own            struct{ Quality, Overhead float64 }
			Swept          []struct{ Percentile float64 }
		}
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	rows := made.Rows
	if len(rows) != 16 || rows[0].Name != "spazio" || rows[0].Resource != "cpu" || rows[8].Resource != "memory" || len(rows[0].Swept) < 5 {
		t.Errorf("rows %+v", rows)
	}
	if q := rows[0].Own.Quality; q < .9 || q > 1 {
		t.Errorf("regular job: got quality %v", q)
	}
	// A header, and of two days twice 288 predictions less six whose window ends outside, of each resource.
	if predictions, err := os.ReadFile(all); err != nil || bytes.Count(predictions, []byte("\n")) != 1+2*(2*288-6) {
		t.Errorf("%d lines of predictions, %v", bytes.Count(predictions, []byte("\n")), err)
	}
	svg, err := os.ReadFile(plot)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"autopilot", "seed-literal", "memory: overhead"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("%q is missing in the picture", want)
		}
	}
}

// A user's half-life and percentile replace the defaults, in a row beside them: with the default values
// the row is equal, and a higher percentile covers more often and reserves more.
func TestProfileEvaluateOwn(t *testing.T) {
	dir := writeFalling(t, 4, .25)
	type score struct{ Quality, Overhead float64 }
	scores := func(args ...string) map[string]score {
		t.Helper()
		out, err := evaluateProfiles(append([]string{"--series", dir, "--output", "json"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		var made struct {
			Rows []struct {
				Resource, Name string
				Own            score
			}
		}
		if err := json.Unmarshal([]byte(out), &made); err != nil {
			t.Fatal(err)
		}
		of := map[string]score{}
		for _, r := range made.Rows {
			of[r.Name+" "+r.Resource] = r.Own
		}
		return of
	}
	for _, resource := range []string{" cpu", " memory"} {
		if s := scores("--percentile", "0.98"); s["own"+resource] != s["spazio"+resource] || s["own"+resource].Quality == 0 {
			t.Errorf("default percentile: got %+v, want %+v", s["own"+resource], s["spazio"+resource])
		}
		low, high := scores("--percentile", "0.3", "--half-life", "6h")["own"+resource], scores("--percentile", "1", "--half-life", "6h")["own"+resource]
		if low.Overhead >= high.Overhead || low.Quality > high.Quality {
			t.Errorf("%s: got %+v at percentile 0.3, %+v at 1", resource, low, high)
		}
		if short, long := scores("--percentile", "0.5", "--half-life", "1h")["own"+resource], scores("--percentile", "0.5", "--half-life", "48h")["own"+resource]; short == long {
			t.Errorf("%s: the half-life has no effect: %+v", resource, short)
		}
	}
}

func TestProfileEvaluateTable(t *testing.T) {
	out, err := evaluateProfiles("--series", writeSeries(t, 6), "--held-out")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "koordlet") || !strings.Contains(out, "seed-literal") {
		t.Error(out)
	}
}

// Scores of 0 for all would look like a failure.
func TestProfileEvaluateNamesWhatIsTooShort(t *testing.T) {
	dir := writeSeries(t, 1)
	out, err := evaluateProfiles("--series", dir)
	if err == nil || !strings.Contains(err.Error(), "--series "+dir) || !strings.Contains(err.Error(), "a warm-up of 48h0m0s") || !strings.Contains(err.Error(), "the longest of 1 lasts") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestProfileEvaluateRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{}, {"--series", dir}, {"--series", dir + "/missing"},
		{"--series", dir, "--half-life", "1ms"}, {"--series", dir, "--percentile", "1.5"},
		{"--series", dir, "--percentile", "-0.1"}, {"--series", dir, "--percentile", "NaN"},
		{"--series", dir, "--output", "xml"}, {"--series", dir, "--plot", "x.txt"}, {"--series", dir, "--predictions", "x.txt"},
	} {
		if out, err := evaluateProfiles(args...); err == nil {
			t.Errorf("%v was accepted: %s", args, out)
		}
	}
}
