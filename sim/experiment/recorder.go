package experiment

import (
	"encoding/csv"
	"errors"
	"os"
	"strconv"

	"github.com/spazio-scheduler/spazio/sim"
)

// recorder writes what became of the pods of many runs, and their timelines, as CSV:
// the columns of sim.PodTable and sim.TimelineTable after those that name the run. It is
// not safe for concurrent use.
type recorder struct {
	// Revision, if set before the first run, is in a column of its own: the build that
	// made the runs.
	Revision string

	pods, timeline *csv.Writer
	files          []*os.File // that Close closes
	begun          bool
}

// CreateRecorder writes to new files of these names, which Close closes; empty is for what
// is not wanted.
func CreateRecorder(pods, timeline string) (*recorder, error) {
	var r recorder
	for _, of := range []struct {
		name string
		to   **csv.Writer
	}{{pods, &r.pods}, {timeline, &r.timeline}} {
		if of.name == "" {
			continue
		}
		file, err := os.Create(of.name)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.files, *of.to = append(r.files, file), csv.NewWriter(file)
	}
	return &r, nil
}

// Observe takes a run, for Options.Observe.
func (r *recorder) Observe(c Case, scheduler string, seed uint64, result sim.Result) {
	run := []string{c.Label, scheduler, strconv.FormatUint(seed, 10)}
	if r.Revision != "" {
		run = append(run, r.Revision)
	}
	if r.pods != nil {
		r.write(r.pods, run, sim.PodTable(result))
	}
	if r.timeline != nil {
		r.write(r.timeline, run, sim.TimelineTable(result))
	}
	r.begun = true
}

func (r *recorder) write(to *csv.Writer, run []string, rows [][]string) {
	for i, row := range rows {
		switch {
		case i > 0:
			row = append(run[:len(run):len(run)], row...)
		case r.begun:
			continue
		default:
			row = append([]string{"experiment", "scheduler", "seed", "revision"}[:len(run)], row...)
		}
		_ = to.Write(row) // Close returns the error
	}
}

// Close writes what is left and returns the first error of all writing.
func (r *recorder) Close() error {
	var errs []error
	for _, w := range []*csv.Writer{r.pods, r.timeline} {
		if w != nil {
			w.Flush()
			errs = append(errs, w.Error())
		}
	}
	for _, file := range r.files {
		errs = append(errs, file.Close())
	}
	return errors.Join(errs...)
}
