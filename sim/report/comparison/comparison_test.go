package comparison_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/comparison"
	"github.com/spazio-scheduler/spazio/sim/report/text"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// cases returns a small one of an experiment.
func cases(t testing.TB, name string) []experiment.Case {
	t.Helper()
	e, err := experiment.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	all, err := e.Cases(experiment.Params{Nodes: 2, Pods: 12, Duration: 20}, experiment.Sweep{
		Work: []float64{1}, Load: []float64{.5}, Law: []workload.Law{workload.Equal},
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// rows returns made-up rows of two seeds of the default and of spazio, which has half of it in
// every metric.
func rows(c experiment.Case, metrics ...string) (all []experiment.Row) {
	for i, metric := range metrics {
		for seed := range uint64(2) {
			value := float64(10*(i+1)) + float64(seed)
			if metric == "kills" {
				value = 0
			}
			for _, scheduler := range []string{experiment.Default, experiment.Spazio} {
				all = append(all, experiment.Row{Experiment: c.Label, Scheduler: scheduler, Seed: seed + 1, Metric: metric, Value: value, Unit: "s"})
				value /= 2
			}
		}
	}
	return all
}

// written returns the saved page of a report.
func written(t *testing.T, fill func(*report.Page, string), base string) *report.Page {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.md")
	to, err := report.NewPage(path, "A report")
	if err != nil {
		t.Fatal(err)
	}
	fill(to, base)
	if err := to.Save(path); err != nil {
		t.Fatal(err)
	}
	return to
}

// Columns are the simulator's results, whatever their names, except for those that are zero for
// all; the experiment's own come first, and if they do not fit the last ones go.
func TestColumns(t *testing.T) {
	metrics := []string{"novelty", "kills", "makespan", "run_mean", "server_p99", "sojourn_mean"}
	for i := range 20 {
		metrics = append(metrics, fmt.Sprintf("further_%d", i))
	}
	for name, first := range map[string]string{"s1": "server_p99, s", "b1": "makespan, s"} {
		c := cases(t, name)[0]
		set := comparison.Comparison{Cases: []experiment.Case{c}, Rows: rows(c, metrics...), Runs: comparison.Runs{Seeds: []uint64{1, 2}}}
		narrow, wide := set.Tables(text.Terminal)[0], set.Tables(0)[0]
		if narrow.Header[1] != first || wide.Header[1] != first {
			t.Errorf("%s: the first columns are %q and %q", name, narrow.Header, wide.Header)
		}
		if !slices.Contains(wide.Header, "novelty, s") || slices.Contains(wide.Header, "kills, s") || len(wide.Header) != len(metrics) {
			t.Errorf("%s: all columns are %q", name, wide.Header)
		}
		if n := len(narrow.Header); n < 5 || n >= len(wide.Header) || !slices.Equal(narrow.Header, wide.Header[:n]) {
			t.Errorf("%s: narrow %q, wide %q", name, narrow.Header, wide.Header)
		}
		ratios := set.Tables(0)[1]
		if len(ratios.Rows) != 1 || !strings.HasPrefix(ratios.Rows[0][1], "0.5 [") || slices.Contains(ratios.Header, "novelty, s") {
			t.Errorf("%s: ratios %q %q", name, ratios.Header, ratios.Rows)
		}
	}
}

func TestWords(t *testing.T) {
	for metric, want := range map[string]string{
		"makespan": "makespan", "wait_max": "longest wait", "run_mean": "mean run time", "sojourn_p99": "99th percentile of the sojourn time",
		"run_p50": "median run time", "slowdown_jain": "Jain's index of the slowdown", "useful_share": "useful share",
		"most_pods_per_core": "most pods per core", "server_p95": "95th percentile of the response time of servers",
	} {
		if got := comparison.Words(metric); got != want {
			t.Errorf("%s: %q, want %q", metric, got, want)
		}
	}
	for label, want := range map[string]string{"batch": "batch", "batch/work=0.1/law=exponential": "work=0.1, law=exponential"} {
		if got := comparison.Settings(label); got != want {
			t.Errorf("%s: %q, want %q", label, got, want)
		}
	}
}

// A report has a picture for every judged metric that differs, whose title is in words.
func TestReport(t *testing.T) {
	c := cases(t, "b1")[0]
	set := comparison.Comparison{Cases: []experiment.Case{c}, Rows: rows(c, "makespan", "run_mean", "novelty"), Runs: comparison.Runs{Seeds: []uint64{1, 2}, HeldOut: true}}
	to := written(t, set.Report, "base")
	var names []string
	for _, f := range to.Files() {
		names = append(names, f.Name)
		if svg := string(f.Data); !strings.Contains(svg, "1 s of CPU, equal sizes") || strings.Contains(svg, "_") {
			t.Errorf("%s does not name its case, or a metric by its words", f.Name)
		}
	}
	if want := []string{"base-batch-makespan.svg", "base-batch-run_mean.svg"}; !slices.Equal(names, want) {
		t.Errorf("pictures %q, want %q", names, want)
	}
	for _, want := range []string{"2 seeds, 1 to 2, and halves of traces, held out from tuning.", "## A batch at once: batch (b1)", "2 nodes of 4 cores."} {
		if !strings.Contains(string(to.Bytes()), want) {
			t.Errorf("no %q in the report", want)
		}
	}
}

// Cases on several fleets have a panel a fleet in one picture.
func TestPanelsByFleet(t *testing.T) {
	e, err := experiment.ByName("b1")
	if err != nil {
		t.Fatal(err)
	}
	two, err := e.Cases(experiment.Params{}, experiment.Sweep{Work: []float64{1}, Law: []workload.Law{workload.Equal}, Fleet: []string{"2x4", "1x8+1x16"}})
	if err != nil {
		t.Fatal(err)
	}
	set := comparison.Comparison{Cases: two, Rows: append(rows(two[0], "makespan"), rows(two[1], "makespan")...), Runs: comparison.Runs{Seeds: []uint64{1, 2}}}
	to := written(t, set.Report, "base")
	files := to.Files()
	if len(files) != 1 {
		t.Fatalf("%d pictures", len(files))
	}
	svg := string(files[0].Data)
	for _, want := range []string{"makespan, 2 nodes of 4 cores<", "makespan, 1 node of 8 cores, 1 node of 16 cores<"} {
		if strings.Count(svg, want) != 1 {
			t.Errorf("%q is there %d times", want, strings.Count(svg, want))
		}
	}
	if n := strings.Count(svg, "1 s of CPU, equal sizes"); n != 2 {
		t.Errorf("the case is in %d legends", n)
	}
	if !strings.Contains(svg, "Arial") {
		t.Error("labels have one font alone")
	}
}

// A constant that affects a case has its own table, and all are in the picture.
func TestSensitivity(t *testing.T) {
	var effects []experiment.Effect
	for _, e := range []struct {
		name, of string
		ratio    float64
	}{{"small", "batch/work=1", 1.02}, {"large", "batch/work=1", .7}, {"large", "batch/work=10", 1.01}} {
		effects = append(effects, experiment.Effect{
			Variation: experiment.Variation{Constant: experiment.Constant{Name: e.name}, Scale: 2, Value: "4", Of: e.of},
			Interval:  experiment.Interval{Mean: e.ratio, Low: e.ratio - .01, High: e.ratio + .01, N: 3},
		})
	}
	s := comparison.Sensitivity{Metric: "sojourn_mean", Scales: []float64{2}, Of: experiment.Sensitivities(effects)}
	tables := s.Tables()
	if len(tables) != 2 || tables[0].Rows[0][0] != "large" || tables[0].Rows[0][4] != "no" || tables[0].Rows[1][4] != "yes" {
		t.Fatalf("%v", tables)
	}
	if len(tables[1].Rows) != 1 || tables[1].Rows[0][0] != "batch/work=1" {
		t.Errorf("%v", tables[1])
	}
	to := written(t, s.Report, "s")
	if files := to.Files(); len(files) != 1 || !strings.Contains(string(files[0].Data), "default × 2") || !strings.Contains(string(files[0].Data), "small") {
		t.Errorf("%d pictures", len(to.Files()))
	}
}

func ExampleComparison_Tables() {
	e, err := experiment.ByName("b1")
	if err != nil {
		fmt.Println(err)
		return
	}
	cases, err := e.Cases(experiment.Params{Nodes: 2, Pods: 20}, experiment.Sweep{Work: []float64{1}, Law: []workload.Law{workload.Equal}})
	if err != nil {
		fmt.Println(err)
		return
	}
	options := experiment.Options{Schedulers: []string{experiment.Spazio, experiment.Default}, Seeds: []uint64{1, 2}}
	rows, err := experiment.Run(context.Background(), cases, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	c := comparison.Comparison{Cases: cases, Rows: rows, Runs: comparison.Runs{Seeds: options.Seeds}}
	first := c.Tables(text.Terminal)[0]
	first.Header, first.Rows = first.Header[:1], [][]string{first.Rows[0][:1], first.Rows[1][:1]}
	if err := first.WriteText(os.Stdout, text.Terminal); err != nil {
		fmt.Println(err)
	}
	// Output:
	// batch/work=1/law=equal: mean of 2 seeds ± half of the 95 % interval
	// scheduler
	// spazio
	// default
}
