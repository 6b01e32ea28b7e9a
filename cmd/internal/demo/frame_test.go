package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/plugin"
)

var shown = frame{
	Profile: spazioProfile, Elapsed: 1500 * time.Millisecond,
	podCounts: podCounts{Total: 10, Submitted: 8, Bound: 1, Running: 3, Done: 2},
	Nodes: []plugin.NodeState{
		{Node: "node-1", Signal: "fresh", Avail: 2.25, InFlight: 1, Running: 3, K: 4.5, Limiting: "cpu"},
		{Node: "node-2", Signal: "fresh", Avail: -1, K: 100},
		{Node: "node-3", InFlight: 1},
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
			got := shown.lines(test.height)
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
		if got := len(shown.lines(height)); got > height {
			t.Errorf("got %d lines for a height of %d", got, height)
		}
	}
}
