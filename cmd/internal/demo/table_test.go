package demo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/cmd/internal/demo"
)

func ExampleResult_Table() {
	result := demo.Result{
		Config: demo.Config{Nodes: 19, Cores: 4},
		Simulated: []demo.Summary{
			demo.Summarise(demo.Spazio, []demo.Record{record("a", 0, 1, 2, 3)}),
			demo.Summarise(demo.Default, nil),
		},
	}
	fmt.Print(result.Table())
	// Output:
	// 19 simulated nodes × 4 cores  spazio  default-scheduler
	// pods completed                     1                  0
	// pods failed                        0                  0
	// throughput, pods/s              0.33                  -
	// makespan, s                     3.00                  -
	// run time mean, s                1.00                  -
	// run time p50, s                 1.00                  -
	// run time p95, s                 1.00                  -
	// run time p99, s                 1.00                  -
	// sojourn mean, s                 3.00                  -
	// sojourn p50, s                  3.00                  -
	// sojourn p95, s                  3.00                  -
	// sojourn p99, s                  3.00                  -
	// slowdown p99                    1.00                  -
	// most pods on a node                1                  0
	// scheduling latency mean, s      1.00                  -
	// scheduling latency p99, s       1.00                  -
}

func TestTableShowsTheRealNode(t *testing.T) {
	s := []demo.Summary{demo.Summarise(demo.Spazio, nil)}
	with, without := demo.Result{Simulated: s, Real: s}.Table(), demo.Result{Simulated: s}.Table()
	if !strings.Contains(with, "this machine") || strings.Contains(without, "this machine") {
		t.Error("the section of the real node does not follow its presence")
	}
}

var frame = demo.Frame{
	Profile: demo.Spazio, Elapsed: 1500 * time.Millisecond,
	Total: 10, Submitted: 8, Bound: 1, Running: 3, Done: 2,
	Nodes: []demo.NodeView{
		{Name: "node-1", Known: true, Avail: 2.25, InFlight: 1, Running: 3, K: 4.5, Limiting: "cpu"},
		{Name: "node-2", Known: true, Avail: -1, K: 100},
		{Name: "node-3", InFlight: 1},
	},
}

func TestFrameLines(t *testing.T) {
	tests := []struct {
		name          string
		width, height int
		want          []string
	}{
		{"whole", 0, 0, []string{
			"spazio    1.5s  2 of 10 done, 3 running, 1 starting, 2 waiting",
			"node    avail  in flight  running  signal k  limiting",
			"node-1   2.25          1        3      4.50       cpu",
			"node-2  -1.00          0        0    100.00         -",
			"node-3      -          1        -         -         -",
		}},
		{"exactly high enough", 0, 5, nil},
		{"low", 20, 4, []string{
			"spazio    1.5s  2 of",
			"node    avail  in fl",
			"node-1   2.25       ",
			"… and 2 more nodes",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := frame.Lines(test.width, test.height)
			want := test.want
			if want == nil {
				want = tests[0].want
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			for _, line := range got {
				if test.width > 0 && utf8.RuneCountInString(line) > test.width {
					t.Errorf("line wider than %d: %q", test.width, line)
				}
			}
		})
	}
	for height := 1; height < 8; height++ {
		if got := len(frame.Lines(0, height)); got > height {
			t.Errorf("%d lines for a height of %d", got, height)
		}
	}
}
