package demo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spazio-scheduler/spazio/cmd/demo"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/batch"
)

func at(seconds float64) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

// column sums up a pod of one core-second that ran alone on its node.
func column(profile string, created, bound, running, done float64) demo.Column {
	return demo.Column{Profile: profile, Summary: batch.Summarise([]batch.Record{{
		Task: batch.Task{Work: time.Second}, Node: "a",
		Created: at(created), Bound: at(bound), Running: at(running), Done: at(done),
	}})}
}

func ExampleResult_Table() {
	result := demo.Result{
		Config:    demo.Config{Nodes: 19, Cores: 4},
		Simulated: []demo.Column{column(demo.Spazio, 0, 2, 3, 4.5), column(demo.Default, 0, 0, 1, 4)},
	}
	fmt.Print(result.Table())
	// Output:
	// 19 simulated nodes × 4 cores  spazio  default-scheduler  ratio
	// pods completed                     1                  1
	// pods failed                        0                  0
	// most pods on a node                1                  1
	// throughput, pods/s              0.22               0.25   0.89
	// makespan, s                     4.50               4.00   1.12
	// run time mean, s                1.50               3.00   0.50
	// run time p50, s                 1.50               3.00   0.50
	// run time p95, s                 1.50               3.00   0.50
	// run time p99, s                 1.50               3.00   0.50
	// sojourn mean, s                 4.50               4.00   1.12
	// sojourn p50, s                  4.50               4.00   1.12
	// sojourn p95, s                  4.50               4.00   1.12
	// sojourn p99, s                  4.50               4.00   1.12
	// slowdown p99                    1.50               3.00   0.50
	// scheduling latency mean, s      2.00               0.00      -
	// scheduling latency p99, s       2.00               0.00      -
	//
	// Spazio starts a pod only where there is room: on average a pod ran for 1.5 s instead of 3.0 s (0.50 times as long)
	// and was done 4.5 s after its submission instead of 4.0 s (1.12 times),
	// but the batch as a whole took 4.5 s instead of 4.0 s (1.12 times).
}

// What is worse is not told as if it were better.
func TestClosingSentence(t *testing.T) {
	other := column(demo.Default, 0, 0, 1, 4)
	for _, test := range []struct {
		name   string
		spazio demo.Column
		want   string
	}{
		{"faster pods, longer batch", column(demo.Spazio, 0, 2, 3, 4.5), "but the batch as a whole took 4.5 s instead of 4.0 s (1.12 times)."},
		{"faster pods, shorter batch", column(demo.Spazio, 0, 0, 1, 2), "and the batch as a whole took 2.0 s instead of 4.0 s (0.50 times)."},
		{"slower pods, longer batch", column(demo.Spazio, 0, 0, 1, 8), "and the batch as a whole took 8.0 s instead of 4.0 s (2.00 times)."},
	} {
		table := demo.Result{Simulated: []demo.Column{other, test.spazio}}.Table()
		if !strings.HasSuffix(table, test.want+"\n") {
			t.Errorf("%s: want %q at the end of\n%s", test.name, test.want, table)
		}
	}
	alone := demo.Result{Simulated: []demo.Column{other}}.Table()
	if strings.Contains(alone, "ratio") || strings.Contains(alone, "instead of") {
		t.Errorf("one profile is compared with none:\n%s", alone)
	}
}

// Pronto has a column, and a sentence of its own after the other two's.
func TestTableWithPronto(t *testing.T) {
	columns := []demo.Column{column(demo.Spazio, 0, 2, 3, 4.5), column(demo.Pronto, 0, 1, 2, 7), column(demo.Default, 0, 0, 1, 4)}
	table := demo.Result{Simulated: columns}.Table()
	const sentence = "By Pronto's signal, which tells peaks of load and not room, a pod ran for 5.0 s on average\n" +
		"and was done 7.0 s after its submission, and the batch as a whole took 7.0 s.\n"
	if !strings.HasSuffix(table, "(1.12 times).\n\n"+sentence) || !strings.Contains(strings.SplitN(table, "\n", 2)[0], "pronto  default-scheduler  ratio") {
		t.Errorf("%s", table)
	}
	if alone := (demo.Result{Simulated: columns[1:2]}).Table(); !strings.HasSuffix(alone, sentence) || strings.Contains(alone, "ratio") {
		t.Errorf("%s", alone)
	}
	if none := (demo.Result{Simulated: []demo.Column{{Profile: demo.Pronto}}}).Table(); strings.Contains(none, "By Pronto") {
		t.Errorf("%s", none)
	}
}

// Lines are no wider than 120 columns, whatever the figures.
func TestTableIsNarrow(t *testing.T) {
	const day = 86400
	columns := []demo.Column{
		column(demo.Spazio, 0, day, 2*day, 1000*day), column(demo.Pronto, 0, 1, 2, 3000*day), column(demo.Default, 0, 1, 1.5, 999*day),
	}
	table := demo.Result{Simulated: columns, Real: columns, Config: demo.Config{Nodes: 20000, Cores: 512}}.Table()
	for line := range strings.Lines(table) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 120 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(table, "86313600.0 s") {
		t.Errorf("not the figures of it:\n%s", table)
	}
}

// Lines about completed pods say nothing where there are none.
func TestTableOfNothing(t *testing.T) {
	table := demo.Result{Simulated: []demo.Column{{Profile: demo.Spazio}, column(demo.Default, 0, 0, 1, 4)}}.Table()
	if !strings.Contains(table, "makespan, s") || strings.Contains(table, "ratio") || strings.Contains(table, "NaN") {
		t.Errorf("table of a profile without a completed pod:\n%s", table)
	}
}

func TestTableShowsTheRealNode(t *testing.T) {
	s := []demo.Column{{Profile: demo.Spazio}}
	with, without := demo.Result{Simulated: s, Real: s}.Table(), demo.Result{Simulated: s}.Table()
	if !strings.Contains(with, "this machine") || strings.Contains(without, "this machine") {
		t.Error("the section of the real node does not follow its presence")
	}
}

// Where the machine was too slow to compare the profiles no verdict is given, and the
// sentence in its place has the figure.
func TestNoVerdictOfASlowMachine(t *testing.T) {
	columns := []demo.Column{column(demo.Spazio, 0, 2, 3, 60), column(demo.Default, 0, 0, 1, 50)}
	good := demo.Pace{Profile: demo.Spazio, Late: .5, Lag: .004, LeastSojourn: 12.8}
	for name, test := range map[string]struct {
		pace demo.Pace
		want string
	}{
		"on time":                 {demo.Pace{Profile: demo.Default, Late: 4, Lag: .02, LeastSojourn: 12.8}, ""},
		"pods come slowly":        {demo.Pace{Profile: demo.Default, Late: 12, Lag: .02}, "under default-scheduler the last pod could be scheduled 12.0 s later than planned"},
		"the process waits":       {demo.Pace{Profile: demo.Default, Lag: .25}, "was 0.25 s late"},
		"faster than is possible": {demo.Pace{Profile: demo.Default, LeastSojourn: 55}, "can't be faster than 55.0 s"},
	} {
		t.Run(name, func(t *testing.T) {
			table := strings.Join(strings.Fields(demo.Result{Simulated: columns, Paces: []demo.Pace{good, test.pace}}.Table()), " ")
			refused := strings.Contains(table, "No verdict: ") && strings.Contains(table, test.want)
			if judged := strings.Contains(table, "Spazio starts a pod only where there is room") && strings.Contains(table, "ratio"); judged != (test.want == "") || refused != (test.want != "") {
				t.Errorf("want %q in\n%s", test.want, table)
			}
		})
	}
}
