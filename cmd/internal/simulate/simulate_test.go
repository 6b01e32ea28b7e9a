package simulate_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/cmd/internal/simulate"
	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// simulated runs the command and returns what it wrote to stdout.
func simulated(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := simulate.NewCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return stdout.String(), err
}

var small = []string{
	"b1", "--nodes", "2", "--pods", "20", "--work", "1", "--law", "equal",
	"--schedulers", "spazio,default", "--seeds", "3",
}

func with(args ...string) []string { return append(append([]string{}, small...), args...) }

func TestTable(t *testing.T) {
	out, err := simulated(t, small...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"b1/work=1/law=equal: mean of 3 seeds", "scheduler  goodput", "spazio  ", "default  ",
		"ratio to default", "targets of spazio", "run_mean/default ≤ 0.3",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// Both formats for machines have the same rows, on any number of workers.
func TestRows(t *testing.T) {
	one, err := simulated(t, with("--output", "json", "--parallel", "1")...)
	if err != nil {
		t.Fatal(err)
	}
	many, err := simulated(t, with("--output", "json", "--parallel", "4")...)
	if err != nil {
		t.Fatal(err)
	}
	if one != many {
		t.Error("--parallel changes the rows")
	}
	var rows []experiment.Row
	if err := json.Unmarshal([]byte(one), &rows); err != nil {
		t.Fatal(err)
	}
	text, err := simulated(t, with("--output", "csv")...)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != len(rows)+1 || len(rows) == 0 {
		t.Fatalf("%d records, %d rows", len(records), len(rows))
	}
	want := []string{"experiment", "scheduler", "seed", "metric", "value", "unit"}
	if diff := cmp.Diff(want, records[0]); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if records[1][0] != rows[0].Experiment || records[1][3] != rows[0].Metric {
		t.Errorf("the first is %v as CSV and %+v as JSON", records[1], rows[0])
	}
}

func TestReports(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"r.html", "r.md"} {
		if _, err := simulated(t, with("--report", filepath.Join(dir, name))...); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"A batch at once", "how long do they run", "Which targets hold", "sojourn_mean", "3 seeds, 1 to 3"} {
			if !strings.Contains(string(page), want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "r.html"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(page, []byte("<svg")); n == 0 {
		t.Error("no picture in the HTML report")
	}
	if svg, err := os.ReadFile(filepath.Join(dir, "r-b1-run_mean.svg")); err != nil || !bytes.Contains(svg, []byte("<svg")) {
		t.Errorf("no picture beside the Markdown report: %v", err)
	}
}

func TestList(t *testing.T) {
	out, err := simulated(t, "--list")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"b1", "w1", "omniscient", "source-cautious", "finding-9-batch", "blocks-alone", "--trace"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// A finding runs under its own schedulers, and its verdicts follow the tables.
func TestFindings(t *testing.T) {
	out, err := simulated(t, "finding-3", "--nodes", "2", "--pods", "20", "--work", "1", "--law", "equal", "--seeds", "2")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"blocks-alone", "reference", "what a fluid prototype found", "makespan: reference/blocks-alone ≤ 0.95"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestRefuses(t *testing.T) {
	var name *experiment.NameError
	tests := []struct {
		args []string
		is   func(error) bool
	}{
		{nil, func(err error) bool { return errors.Is(err, simulate.ErrFlag) }},
		{with("--output", "xml"), func(err error) bool { return errors.Is(err, simulate.ErrFlag) }},
		{with("--seeds", "0"), func(err error) bool { return errors.Is(err, simulate.ErrFlag) }},
		{with("--parallel", "0"), func(err error) bool { return errors.Is(err, simulate.ErrFlag) }},
		{with("--report", "r.pdf"), func(err error) bool { return errors.Is(err, simulate.ErrFlag) }},
		{[]string{"b9"}, func(err error) bool { return errors.As(err, &name) }},
		{with("--schedulers", "dice"), func(err error) bool { return errors.As(err, &name) }},
		{[]string{"h1"}, func(err error) bool { return errors.Is(err, experiment.ErrNoTrace) }},
	}
	for _, test := range tests {
		if _, err := simulated(t, test.args...); err == nil || !test.is(err) {
			t.Errorf("%v: error %v", test.args, err)
		}
	}
}
