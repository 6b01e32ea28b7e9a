package experiment

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/spazio-scheduler/spazio/sim"
)

// recorder writes what became of the pods of many runs as CSV: the columns of sim.PodTable after those
// that name the run and the build. It is not safe for concurrent use.
type recorder struct {
	to       *csv.Writer
	revision string
	begun    bool
}

// NewRecorder writes to w; revision is the build that makes the runs.
func NewRecorder(w io.Writer, revision string) *recorder {
	return &recorder{to: csv.NewWriter(w), revision: revision}
}

// Observe takes a run, for Options.Observe.
func (r *recorder) Observe(c Case, scheduler string, seed uint64, result sim.Result) {
	for i, row := range sim.PodTable(result) {
		run := []string{c.Label, scheduler, strconv.FormatUint(seed, 10), r.revision}
		if i == 0 {
			run = []string{"experiment", "scheduler", "seed", "revision"}
		}
		if i > 0 || !r.begun {
			_ = r.to.Write(append(run, row...)) // Err returns the error
		}
	}
	r.begun = true
}

// Err writes what is left and returns the first error of all writing.
func (r *recorder) Err() error {
	r.to.Flush()
	return r.to.Error()
}
