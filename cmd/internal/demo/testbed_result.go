package demo

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/external/profiler"
	"github.com/spazio-scheduler/spazio/sim/report/text"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// testbedResult is what came of the experiment.
type testbedResult struct {
	Seed uint64       `json:"seed"`
	Jobs []testbedJob `json:"jobs"`
	// Matrix has the mean seconds of each job, by its name and that of the job beside it.
	Matrix map[string]colocate.Row `json:"matrix"`
	// Plan is what was carried out, Greedy the thesis' plan from the same matrix.
	Plan   [][2]string `json:"plan"`
	Greedy [][2]string `json:"greedy"`
	// Runs are the jobs' under the plan.
	Runs     map[string]jobRun `json:"runs"`
	Makespan makespan          `json:"makespan"`
}

// jobRun is where a job ran, and for how long.
type jobRun struct {
	Slots   []string `json:"slots"`
	Seconds float64  `json:"seconds"`
}

// makespan is from the first start to the last end, in seconds.
type makespan struct {
	// Plan is that of the plan as it ran, by the clock of the nodes, and PlanTold by the
	// interface, which has times in whole seconds.
	Plan     float64 `json:"plan"`
	PlanTold float64 `json:"planTold"`
	// The others are by the model of a node: of the plan, of the thesis' plan, and of all
	// pairings of the jobs.
	PlanModelled   float64 `json:"planModelled"`
	Greedy         float64 `json:"greedy"`
	Best           float64 `json:"best"`
	Worst          float64 `json:"worst"`
	MeanOfPairings float64 `json:"meanOfPairings"`
	// Pairings is how many there are.
	Pairings int `json:"pairings"`
}

func pairNames(pairs []colocate.Pair) [][2]string {
	var names [][2]string
	for _, p := range pairs {
		names = append(names, [2]string{p.A, p.B})
	}
	return names
}

func runsOf(o profiler.Outcome) map[string]jobRun {
	runs := make(map[string]jobRun, len(o.Runs))
	for name, run := range o.Runs {
		runs[name] = jobRun{run.Slots, run.Seconds()}
	}
	return runs
}

// abreast is how many jobs' columns stand beside each other in lines that a terminal holds.
const abreast = 10

// writeText writes the matrix, a part of it below the other where there are many jobs, and what the plan
// comes to.
func (r testbedResult) writeText(w io.Writer) error {
	title := "Mean seconds of the job of a row beside that of a column"
	for beside := range slices.Chunk(r.Jobs, abreast) {
		if err := r.matrix(title, beside).WriteText(w, text.Terminal); err != nil {
			return err
		}
		title = ""
	}
	_, err := io.WriteString(w, strings.Join(text.Wrap(r.sentence(), text.Terminal), "\n")+"\n")
	return err
}

// matrix has a row a job and a column each of those beside it.
func (r testbedResult) matrix(title string, beside []testbedJob) text.Table {
	t := text.Table{Title: title, Header: []string{"job"}, Right: []bool{false}}
	for _, j := range beside {
		t.Header, t.Right = append(t.Header, j.Name), append(t.Right, true)
	}
	for _, a := range r.Jobs {
		row := []string{a.Name}
		for _, b := range beside {
			text := "–"
			if cell := r.Matrix[a.Name][b.Name]; cell.Count > 0 {
				text = strconv.FormatFloat(cell.Mean, 'f', 1, 64)
			}
			row = append(row, text)
		}
		t.Add(row...)
	}
	return t
}

func (r testbedResult) sentence() string {
	var pairs []string
	for _, p := range r.Plan {
		pairs = append(pairs, p[0]+" with "+p[1])
	}
	m := r.Makespan
	return fmt.Sprintf("The plan puts %s. It was done after %.1f s: %.2f of the mean of all %d pairings (%.1f s; the best takes %.1f, "+
		"the worst %.1f, the greedy plan %.1f, and this one %.1f, all by the model of a node).",
		strings.Join(pairs, ", "), m.Plan, m.Plan/m.MeanOfPairings, m.Pairings, m.MeanOfPairings, m.Best, m.Worst, m.Greedy, m.PlanModelled)
}
