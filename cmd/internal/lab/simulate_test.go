package lab_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/lab"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// simulated runs the command and returns its stdout.
func simulated(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return executed(t, "simulate", args)
}

// onProcessors runs the command with so many runs at a time.
func onProcessors(t *testing.T, n int, args ...string) string {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	out, err := simulated(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// executed runs a subcommand and returns its stdout.
func executed(t *testing.T, name string, args []string) (string, error) {
	t.Helper()
	cmd := lab.NewCommand()
	var stdout, stderr bytes.Buffer
	cmd.SetArgs(append([]string{name}, args...))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return stdout.String(), err
}

var small = []string{
	"b1", "--fleet", "2x4", "--batch", "20", "--work", "1", "--law", "equal",
	"--schedulers", "spazio,default", "--seeds", "3",
}

func with(args ...string) []string { return append(append([]string{}, small...), args...) }

func TestTable(t *testing.T) {
	out, err := simulated(t, small...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"batch/work=1/law=equal/fleet=2x4: mean of 3 seeds", "scheduler  makespan, s", "spazio  ", "default  ",
		"ratio to default", "targets of spazio", "sojourn_mean/default ≤ 1.05",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// Tables fit a terminal, for any experiment and number of schedulers; with --output wide they have every
// metric.
func TestTablesFit(t *testing.T) {
	few := []string{"--fleet", "3x4", "--batch", "20", "--duration", "20", "--work", "1", "--seeds", "2"}
	for _, name := range []string{"batch", "arrivals", "memory", "servers", "wrong-requests", "finding-1-parts", "finding-9-batch"} {
		narrow, err := simulated(t, append([]string{name}, few...)...)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(narrow) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 120 {
				t.Errorf("%s: got a line of %d: %s", name, n, line)
			}
		}
	}
	wide, err := simulated(t, append([]string{"b1", "-o", "wide"}, few...)...)
	if err != nil {
		t.Fatal(err)
	}
	header := ""
	for line := range strings.Lines(wide) {
		if strings.HasPrefix(line, "scheduler ") && len(line) > len(header) {
			header = line
		}
	}
	for _, metric := range []string{"run_mean, s", "run_p50, s", "sojourn_p95, s", "slowdown_jain", "utilisation", "useful_share"} {
		if !strings.Contains(header, metric) {
			t.Errorf("no %q in %q", metric, header)
		}
	}
}

// Both machine-readable formats have the same rows, with any number of workers.
func TestRows(t *testing.T) {
	one := onProcessors(t, 1, with("--output", "json")...)
	if one != onProcessors(t, 4, with("--output", "json")...) {
		t.Error("the number of processors changes the rows")
	}
	var made struct {
		Revision string
		Rows     []experiment.Row
	}
	if err := json.Unmarshal([]byte(one), &made); err != nil {
		t.Fatal(err)
	}
	rows := made.Rows
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
	want := []string{"experiment", "scheduler", "seed", "metric", "value", "unit", "revision"}
	if diff := cmp.Diff(want, records[0]); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if made.Revision == "" || records[1][6] != made.Revision {
		t.Errorf("got revision %q as CSV and %q as JSON", records[1][6], made.Revision)
	}
	table, err := simulated(t, small...)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(table, "\nspazio-lab "+made.Revision+"\n") {
		t.Errorf("the revision is missing in the tables:\n%s", table)
	}
	if records[1][0] != rows[0].Experiment || records[1][3] != rows[0].Metric {
		t.Errorf("first row: got %v as CSV and %+v as JSON", records[1], rows[0])
	}
}

// A second command reuses the runs that the first has kept, and adds to them.
func TestKeep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs")
	few := func(seeds string) string {
		out, err := simulated(t, with("--seeds", seeds, "--keep", file, "-o", "csv")...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	lines := func() int {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(content, []byte("\n"))
	}
	few("2")
	if got := lines(); got != 1+2*2 {
		t.Errorf("two seeds of two schedulers: got %d lines", got)
	}
	want, err := simulated(t, with("-o", "csv")...)
	if err != nil {
		t.Fatal(err)
	}
	if got := few("3"); got != want || lines() != 1+3*2 {
		t.Errorf("after three seeds: got %d lines; rows differ: %v", lines(), got != want)
	}
	if _, err := simulated(t, with("--keep", file, "--pods", filepath.Join(t.TempDir(), "pods"))...); !errors.Is(err, lab.ErrFlag) {
		t.Errorf("--keep with --pods: error %v", err)
	}
}

// TestInterrupted: an interrupted command fails, and the next one continues with the kept runs.
func TestInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs")
	args := func(keep string) []string {
		return append([]string{"simulate"}, with("--seeds", "30", "-o", "csv", "--keep", keep)...)
	}
	for keep, want := range map[string]string{
		"":   "spazio-lab: interrupted\n",
		file: "spazio-lab: interrupted; " + file + " keeps the runs that were made, and the same command goes on with them\n",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		progress := &interrupting{cancel: cancel}
		var stdout bytes.Buffer
		if code := lab.Main(ctx, args(keep), &stdout, progress); code != command.ExitFailure || stdout.Len() > 0 || !strings.HasSuffix(progress.output.String(), want) {
			t.Errorf("exit code %d, stdout %q, stderr %q, want the end %q", code, &stdout, &progress.output, want)
		}
		cancel()
	}
	var after, whole bytes.Buffer
	kept, err := os.ReadFile(file)
	if runs := bytes.Count(kept, []byte("\n")) - 1; err != nil || runs < 1 || runs >= 60 {
		t.Errorf("got %d kept runs, %v", runs, err)
	}
	if code := lab.Main(t.Context(), args(file), &after, io.Discard); code != command.ExitOK {
		t.Fatalf("exit code %d of the same command", code)
	}
	if code := lab.Main(t.Context(), args(""), &whole, io.Discard); code != command.ExitOK || after.String() != whole.String() {
		t.Errorf("exit code %d, or other rows than those of one command", code)
	}
}

// interrupting is a stderr whose first output interrupts the command.
type interrupting struct {
	output bytes.Buffer
	cancel func()
}

func (i *interrupting) Write(text []byte) (int, error) {
	i.cancel()
	return i.output.Write(text)
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
		for _, want := range []string{"A batch at once", "how long do they run", "Which targets hold", "sojourn_mean", "3 seeds, 1 to 3", "Made by revision "} {
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
	if svg, err := os.ReadFile(filepath.Join(dir, "r-batch-run_mean.svg")); err != nil || !bytes.Contains(svg, []byte("<svg")) {
		t.Errorf("no picture beside the Markdown report: %v", err)
	}
}

func TestList(t *testing.T) {
	out, err := simulated(t, "--list")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"batch (b1)", "wrong-requests (w1)", "central-queue", "lower-bound", "source-cautious", "finding-9-batch", "blocks-alone", "--trace",
		"agent.churn-hold             1s", "agent.avail.rule",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// A finding uses its own schedulers, and its verdicts follow the tables.
func TestFindings(t *testing.T) {
	out, err := simulated(t, "finding-3", "--fleet", "2x4", "--batch", "20", "--work", "1", "--law", "equal", "--seeds", "2", "-o", "wide")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"blocks-alone", "reference", "what a fluid prototype found", "makespan: reference/blocks-alone ≤ 0.95"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

var smallSensitivity = []string{
	"sensitivity", "b1", "--fleet", "2x4", "--batch", "30", "--work", "1", "--law", "equal", "--seeds", "2",
	"--constants", "agent.estimator.prior-sd,rules.growth,agent.pods-per-core", "--scale", ".2,5",
}

// Each constant has a row, the most sensitive first.
func TestSensitivity(t *testing.T) {
	report := filepath.Join(t.TempDir(), "s.md")
	out, err := simulated(t, append(slices.Clone(smallSensitivity), "-o", "wide", "--report", report)...)
	if err != nil {
		t.Fatal(err)
	}
	var constants []string
	for line := range strings.Lines(out) {
		if name, _, _ := strings.Cut(line, " "); strings.HasPrefix(name, "agent.") || strings.HasPrefix(name, "rules.") {
			constants = append(constants, name)
		}
	}
	if len(constants) != 3 || constants[0] != "agent.pods-per-core" {
		t.Fatalf("%q in\n%s", constants, out)
	}
	for _, want := range []string{
		"×0.2:", "×5:", "largest", "rules.growth ", "0.5 ", " batch/work=1/law=equal/fleet=2x4",
		"cases that agent.pods-per-core, default 1, moves by more than 10 %",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	page, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Sensitivity of Spazio", "2 seeds, 1 to 2", "of 3 constants", "](s.svg)"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is missing in the report", want)
		}
	}
	if svg, err := os.ReadFile(filepath.Join(filepath.Dir(report), "s.svg")); err != nil || !bytes.Contains(svg, []byte("rules.growth")) {
		t.Errorf("no picture beside the report: %v", err)
	}
}

// Rows name the constant, and are the same with any number of workers.
func TestSensitivityRows(t *testing.T) {
	rows := append(slices.Clone(smallSensitivity), "-o", "csv")
	one := onProcessors(t, 1, rows...)
	if one != onProcessors(t, 4, rows...) {
		t.Error("the number of processors changes the rows")
	}
	for _, want := range []string{"batch/work=1/law=equal/fleet=2x4,spazio,1,sojourn_mean,", "batch/work=1/law=equal/fleet=2x4/rules.growth=2.5,spazio,2,sojourn_mean,"} {
		if !strings.Contains(one, want) {
			t.Errorf("%q is missing in the rows", want)
		}
	}
}

func TestSet(t *testing.T) {
	out, err := simulated(t, with("--set", "agent.churn-hold=500ms", "--set", "agent.pods-per-core=3")...)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := simulated(t, small...)
	if err != nil {
		t.Fatal(err)
	}
	suffix := "/agent.churn-hold=500ms/agent.pods-per-core=3"
	if !strings.Contains(out, "batch/work=1/law=equal/fleet=2x4"+suffix+": mean of 3 seeds") {
		t.Errorf("%s", out)
	}
	if strings.ReplaceAll(out, suffix, "") == plain {
		t.Error("--set has no effect")
	}
}

// labelled returns the values of a column of rows.
func labelled(t *testing.T, rows string, column int) map[string]bool {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(rows)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{}
	for _, record := range records[1:] {
		values[record[column]] = true
	}
	return values
}

// A named experiment is reduced to what answers within a minute; "all" of its fleets and schedulers, or
// the experiment "all", is not.
func TestFirstAnswer(t *testing.T) {
	quick := []string{"--work", "1", "--law", "equal", "--batch", "20", "--duration", "5", "--seeds", "1", "-o", "csv"}
	tests := []struct {
		args               []string
		fleets, schedulers int
		peer               bool // a scheduler that is not a leading one
	}{
		{[]string{"b1"}, 1, 9, false},
		{[]string{"b1", "--fleet", "all"}, 4, 9, false},
		{[]string{"b1", "--schedulers", "all"}, 1, 27, true},
		{[]string{"b1", "--schedulers", "coin"}, 1, 1, true},
		{[]string{"b1", "--fleet", "2x4,3x2"}, 2, 9, false},
		// The four fleets with those of o1, services and relief; the field of 27 with the reserve and the
		// idle servers of s1, the two that traces and phases have besides, and the three of relief.
		{[]string{"all", "--load", ".1", "--requests", "mixed"}, 7, 34, true},
		{[]string{"s1"}, 1, 10, false}, // without the central queue
	}
	for _, test := range tests {
		if testing.Short() && test.args[0] == "all" {
			continue // takes as long as the others together
		}
		out, err := simulated(t, append(slices.Clone(test.args), quick...)...)
		if err != nil {
			t.Fatal(err)
		}
		fleets := map[string]bool{}
		for label := range labelled(t, out, 0) {
			fleets[label[strings.Index(label, "/fleet="):]] = true
		}
		schedulers := labelled(t, out, 1)
		if len(fleets) != test.fleets || len(schedulers) != test.schedulers || schedulers["coin"] != test.peer {
			t.Errorf("%v: fleets %v, schedulers %v", test.args, fleets, schedulers)
		}
	}
}

// --held-out uses other seeds, and "all" whatever can run; a trace is assigned to its experiment by
// name.
func TestAllHeldOut(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.csv"), []byte("timestamp,value\n0,20\n300,80\n600,10\n900,15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(dir, "r.md")
	out, err := simulated(t, "all", "--held-out", "--fleet", "2x4", "--batch", "10", "--duration", "30", "--work", "1", "--load", ".4",
		"--law", "equal", "--schedulers", "spazio,default", "--seeds", "1", "--trace", "h1="+dir, "--report", report, "-o", "csv")
	if err != nil {
		t.Fatal(err)
	}
	group, err := experiment.ByGroup(experiment.All)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range group {
		if got, want := strings.Contains(out, "\n"+e.Name+"/") || strings.Contains(out, "\n"+e.Name+","), e.Name != "functions"; got != want {
			t.Errorf("%s: got rows %t", e.Name, got)
		}
	}
	if !strings.Contains(out, ",101,") || strings.Contains(out, ",1,makespan") {
		t.Error("the seed is not 101")
	}
	page, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 seeds, 101 to 101, and halves of traces, held out from tuning", "functions (f1) is left out: it needs"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is missing in the report", want)
		}
	}
}

// --seed sets the first seed of the runs.
func TestFirstSeed(t *testing.T) {
	out, err := simulated(t, "batch", "--fleet", "2x4", "--batch", "10", "--work", "1", "--law", "equal", "--schedulers", "spazio",
		"--seed", "8101", "--seeds", "2", "-o", "csv")
	if err != nil {
		t.Fatal(err)
	}
	for seed, want := range map[string]bool{"1": false, "8100": false, "8101": true, "8102": true, "8103": false} {
		if got := strings.Contains(out, ",spazio,"+seed+",makespan,"); got != want {
			t.Errorf("seed %s: got a run %t", seed, got)
		}
	}
}

func TestRefuses(t *testing.T) {
	var name *experiment.NameError
	var setting *experiment.OptionError
	flag := func(err error) bool { return errors.Is(err, lab.ErrFlag) }
	var kind *field.Error
	tests := []struct {
		args []string
		is   func(error) bool
	}{
		{nil, flag},
		{with("--output", "xml"), flag},
		{with("--seeds", "0"), flag},
		{with("--report", "r.pdf"), func(err error) bool { return errors.As(err, &kind) && kind.Value == "r.pdf" }},
		{[]string{"b9"}, func(err error) bool { return errors.As(err, &name) }},
		{with("--schedulers", "dice"), func(err error) bool { return errors.As(err, &name) }},
		{with("--set", "speed=1"), func(err error) bool { return errors.As(err, &setting) && setting.Name == "speed" }},
		{with("--set", "rules.burst=-1"), func(err error) bool { return errors.As(err, &setting) && setting.Value == "-1" }},
		{[]string{"sensitivity", "--scale", "1"}, flag},
		{[]string{"sensitivity", "--scale", "-1"}, flag},
		{[]string{"sensitivity", "--seeds", "0"}, flag},
		{[]string{"sensitivity", "--constants", "speed"}, func(err error) bool { return errors.As(err, &name) }},
		{[]string{"sensitivity", "b9"}, func(err error) bool { return errors.As(err, &name) }},
		{[]string{"h1"}, func(err error) bool { return errors.Is(err, experiment.ErrNoTrace) }},
	}
	for _, test := range tests {
		if _, err := simulated(t, test.args...); err == nil || !test.is(err) {
			t.Errorf("%v: error %v", test.args, err)
		}
	}
}

// TestRefusesBeforeRuns: options from which no run, or no file, can be made are refused with the flag
// and the value, and exit code 2.
func TestRefusesBeforeRuns(t *testing.T) {
	dir := t.TempDir()
	away, file := filepath.Join(dir, "away"), filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args string
		want []string
	}{
		{"simulate b1 --report " + away + "/page.md", []string{"--report", away}},
		{"simulate b1 --report " + file + "/page.md", []string{"--report", file}},
		{"simulate sensitivity --report " + away + "/page.html", []string{"--report", away}},
		{"simulate cp --plot " + away + "/plot.svg", []string{"--plot", away}},
		{"profile evaluate --series " + dir + " --plot " + away + "/plot.svg", []string{"--plot", away}},
		{"profile evaluate --series " + away, []string{"--series", away}},
		{"simulate h1 --trace " + away, []string{"--trace", away}},
		{"simulate h1 --trace h1=" + file, []string{"--trace", file}},
		{"simulate traces --trace traces=" + dir, []string{"--trace traces=" + dir, "no folder alibaba-2018"}},
		{"simulate b1 --batch 0", []string{"--batch 0"}},
		{"simulate b2 --duration 0", []string{"--duration 0"}},
		{"simulate b2 --duration -2.5", []string{"--duration -2.5"}},
		{"simulate b1 b3 --load .5", []string{"--load"}},
		{"simulate b1 --requests none", []string{"--requests"}},
		{"simulate f1 --work 10 --trace " + dir, []string{"--work"}},
		{"simulate sensitivity b1 --load .5", []string{"--load"}},
	} {
		var stdout, stderr bytes.Buffer
		code := lab.Main(t.Context(), strings.Fields(test.args), &stdout, &stderr)
		for _, want := range test.want {
			if code != command.ExitUsage || stdout.Len() > 0 || !strings.Contains(stderr.String(), want) || strings.Contains(stderr.String(), " runs") {
				t.Errorf("%s: got exit code %d, stderr %q, want %s", test.args, code, &stderr, want)
			}
		}
	}
	var output bytes.Buffer
	if code := lab.Main(t.Context(), []string{"figures", "--out", file}, io.Discard, &output); code != command.ExitFailure || !strings.HasPrefix(output.String(), "spazio-lab: --out: ") {
		t.Errorf("exit code %d, stderr %q", code, &output)
	}
	// An experiment's further options are no error, and what a trace lacks is an error of the trace.
	if _, err := simulated(t, "b1", "b2", "--load", ".5", "--work", "1", "--law", "equal", "--fleet", "1x4", "--batch", "2", "--duration", "2", "--seeds", "1", "--schedulers", "default"); err != nil {
		t.Error(err)
	}
	if _, err := simulated(t, "h1", "--trace", dir, "--seeds", "1"); !errors.Is(err, workload.ErrTrace) || !strings.Contains(err.Error(), "--trace "+dir) {
		t.Errorf("error %v", err)
	}
}

// A custom workload yields records of its runs: a row per pod and run.
func TestWorkloadAndRecords(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("mine.csv"), []byte("arrival,work,cores,owner\n0,2,1,a\n1,6,2,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := simulated(t, "--workload", file("mine.csv"), "--fleet", "1x4+1x16", "--schedulers", "default,lower-bound", "--seeds", "2",
		"--pods", file("pods.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "mine/fleet=1x4+1x16") || !strings.Contains(out, "lower-bound") {
		t.Errorf("the workload or the bound is missing in the table:\n%s", out)
	}
	text, err := os.ReadFile(file("pods.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 1+2*2 {
		t.Fatalf("error %v, %d rows, want 5:\n%s", err, len(rows), text)
	}
	if rows[0][3] != "revision" || rows[1][3] == "" {
		t.Errorf("the revision is missing in %v", rows[:2])
	}
	for _, bad := range [][]string{
		{"--workload", file("none.csv")},
		{"--workload", file("pods.csv")},
		{"b1", "--fleet", "large"},
		with("--pods", file("no/such/directory")),
	} {
		if _, err := simulated(t, bad...); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}
