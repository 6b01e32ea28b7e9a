package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/sim/report/text"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// The most and longest jobs of a plan appear in lines that a terminal holds, each pair once.
func TestWriteText(t *testing.T) {
	r := testbedResult{Jobs: drawJobs(colocate.MostExact/2, time.Hour, 1), Matrix: map[string]colocate.Row{}}
	for i, a := range r.Jobs {
		r.Matrix[a.Name] = colocate.Row{}
		for j, b := range r.Jobs {
			r.Matrix[a.Name][b.Name] = colocate.Cell{Count: 1, Mean: 1000 + float64(100*i+j)}
			if i < j {
				r.Plan = append(r.Plan, [2]string{a.Name, b.Name})
			}
		}
	}
	var b strings.Builder
	if err := r.writeText(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimSuffix(line, "\n"); text.Width(line) > text.Terminal {
			t.Errorf("%d columns: %s", text.Width(line), line)
		}
	}
	for _, mean := range []string{" 1000.0", " 1019.0", " 2900.0", " 2919.0", " 2010.0"} {
		if strings.Count(b.String(), mean) != 1 {
			t.Errorf("got %s %d times:\n%s", mean, strings.Count(b.String(), mean), b.String())
		}
	}
}
