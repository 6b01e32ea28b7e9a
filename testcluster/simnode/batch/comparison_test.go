package batch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/testcluster/simnode/batch"
)

// columnOf sums up a pod of one core-second that ran alone on its node.
func columnOf(profile string, created, bound, running, done float64) batch.Column {
	return batch.Column{Profile: profile, Summary: batch.Summarise([]batch.Record{{
		Task: batch.Task{Work: time.Second}, Node: "a",
		Created: at(created), Bound: at(bound), Running: at(running), Done: at(done),
	}})}
}

func ExampleText() {
	columns := []batch.Column{columnOf("mine", 0, 2, 3, 4.5), columnOf("default-scheduler", 0, 0, 1, 4)}
	fmt.Print(batch.Text("2 nodes × 4 cores", columns, "mine", "default-scheduler"))
	// Output:
	// 2 nodes × 4 cores           mine  default-scheduler  ratio
	// pods completed                 1                  1
	// pods failed                    0                  0
	// most pods on a node            1                  1
	// throughput, pods/s          0.22               0.25   0.89
	// makespan, s                 4.50               4.00   1.12
	// run time mean, s            1.50               3.00   0.50
	// run time p50, s             1.50               3.00   0.50
	// run time p95, s             1.50               3.00   0.50
	// run time p99, s             1.50               3.00   0.50
	// sojourn mean, s             4.50               4.00   1.12
	// sojourn p50, s              4.50               4.00   1.12
	// sojourn p95, s              4.50               4.00   1.12
	// sojourn p99, s              4.50               4.00   1.12
	// slowdown p99                1.50               3.00   0.50
	// scheduling latency mean, s  2.00               0.00      -
	// scheduling latency p99, s   2.00               0.00      -
}

// Lines about completed pods say nothing where there are none, nor does a ratio.
func TestTextOfNothing(t *testing.T) {
	ran := columnOf("b", 0, 0, 1, 4)
	text := batch.Text("t", []batch.Column{{Profile: "a", Summary: batch.Summary{Failed: 3}}, ran}, "a", "b")
	if strings.Contains(text, "ratio") || strings.Contains(text, "NaN") || !strings.Contains(text, "pods failed                 3     0\n") || !strings.Contains(text, "makespan, s                 -  4.00\n") {
		t.Errorf("of a profile without a completed pod:\n%s", text)
	}
	for _, columns := range [][]batch.Column{{ran}, nil} {
		if text := batch.Text("t", columns, "a", "b"); strings.Contains(text, "ratio") {
			t.Errorf("compared with nobody:\n%s", text)
		}
	}
	if found, ok := batch.Find([]batch.Column{{Profile: "b"}, ran}, "b"); !ok || !cmp.Equal(found, ran) {
		t.Errorf("found %+v, %v", found, ok)
	}
}
