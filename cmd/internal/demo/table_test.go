package demo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/cmd/internal/demo"
	"github.com/spazio-scheduler/spazio/simnode/batch"
)

func at(seconds float64) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

// column sums up a pod of one core-second that ran alone on its node.
func column(profile string, created, bound, running, done float64) batch.Column {
	return batch.Column{Profile: profile, Summary: batch.Summarise([]batch.Record{{
		Task: batch.Task{Work: time.Second}, Node: "a",
		Created: at(created), Bound: at(bound), Running: at(running), Done: at(done),
	}})}
}

func ExampleResult_Table() {
	result := demo.Result{
		Config:    demo.Config{Nodes: 19, Cores: 4},
		Simulated: []batch.Column{column(demo.Spazio, 0, 2, 3, 4.5), column(demo.Default, 0, 0, 1, 4)},
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
		spazio batch.Column
		want   string
	}{
		{"faster pods, longer batch", column(demo.Spazio, 0, 2, 3, 4.5), "but the batch as a whole took 4.5 s instead of 4.0 s (1.12 times)."},
		{"faster pods, shorter batch", column(demo.Spazio, 0, 0, 1, 2), "and the batch as a whole took 2.0 s instead of 4.0 s (0.50 times)."},
		{"slower pods, longer batch", column(demo.Spazio, 0, 0, 1, 8), "and the batch as a whole took 8.0 s instead of 4.0 s (2.00 times)."},
	} {
		table := demo.Result{Simulated: []batch.Column{other, test.spazio}}.Table()
		if !strings.HasSuffix(table, test.want+"\n") {
			t.Errorf("%s: the table ends with %q, want %q", test.name, lastLine(table), test.want)
		}
	}
	alone := demo.Result{Simulated: []batch.Column{other}}.Table()
	if strings.Contains(alone, "ratio") || strings.Contains(alone, "instead of") {
		t.Errorf("one profile is compared with none:\n%s", alone)
	}
}

// Pronto has a column, and a sentence of its own after the other two's.
func TestTableWithPronto(t *testing.T) {
	columns := []batch.Column{column(demo.Spazio, 0, 2, 3, 4.5), column(demo.Pronto, 0, 1, 2, 7), column(demo.Default, 0, 0, 1, 4)}
	table := demo.Result{Simulated: columns}.Table()
	const sentence = "By Pronto's signal, which tells peaks of load and not room, a pod ran for 5.0 s on average\n" +
		"and was done 7.0 s after its submission, and the batch as a whole took 7.0 s.\n"
	if !strings.HasSuffix(table, "(1.12 times).\n\n"+sentence) || !strings.Contains(strings.SplitN(table, "\n", 2)[0], "pronto  default-scheduler  ratio") {
		t.Errorf("%s", table)
	}
	if alone := (demo.Result{Simulated: columns[1:2]}).Table(); !strings.HasSuffix(alone, sentence) || strings.Contains(alone, "ratio") {
		t.Errorf("%s", alone)
	}
	if none := (demo.Result{Simulated: []batch.Column{{Profile: demo.Pronto}}}).Table(); strings.Contains(none, "By Pronto") {
		t.Errorf("%s", none)
	}
}

// Lines about completed pods say nothing where there are none.
func TestTableOfNothing(t *testing.T) {
	table := demo.Result{Simulated: []batch.Column{{Profile: demo.Spazio}, column(demo.Default, 0, 0, 1, 4)}}.Table()
	if !strings.Contains(table, "makespan, s") || strings.Contains(table, "ratio") || strings.Contains(table, "NaN") {
		t.Errorf("table of a profile without a completed pod:\n%s", table)
	}
}

func TestTableShowsTheRealNode(t *testing.T) {
	s := []batch.Column{{Profile: demo.Spazio}}
	with, without := demo.Result{Simulated: s, Real: s}.Table(), demo.Result{Simulated: s}.Table()
	if !strings.Contains(with, "this machine") || strings.Contains(without, "this machine") {
		t.Error("the section of the real node does not follow its presence")
	}
}

var frame = demo.Frame{
	Profile: demo.Spazio, Elapsed: 1500 * time.Millisecond,
	Counts: batch.Counts{Total: 10, Submitted: 8, Bound: 1, Running: 3, Done: 2},
	Nodes: []demo.NodeView{
		{Name: "node-1", Known: true, Avail: 2.25, InFlight: 1, Running: 3, K: 4.5, Limiting: "cpu"},
		{Name: "node-2", Known: true, Avail: -1, K: 100},
		{Name: "node-3", InFlight: 1},
	},
}

func TestFrameLines(t *testing.T) {
	tests := []struct {
		name   string
		height int
		want   []string
	}{
		{"whole", 0, []string{
			"spazio    1.5s  2 of 10 done, 3 running, 1 starting, 2 waiting",
			"node    avail  in flight  running  signal k  limiting",
			"node-1   2.25          1        3      4.50       cpu",
			"node-2  -1.00          0        0    100.00         -",
			"node-3      -          1        -         -         -",
		}},
		{"exactly high enough", 5, nil},
		{"low", 4, []string{
			"spazio    1.5s  2 of 10 done, 3 running, 1 starting, 2 waiting",
			"node    avail  in flight  running  signal k  limiting",
			"node-1   2.25          1        3      4.50       cpu",
			"… and 2 more nodes",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := frame.Lines(test.height)
			want := test.want
			if want == nil {
				want = tests[0].want
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
	for height := 1; height < 8; height++ {
		if got := len(frame.Lines(height)); got > height {
			t.Errorf("%d lines for a height of %d", got, height)
		}
	}
}
