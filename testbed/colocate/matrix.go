package colocate

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/testbed"
)

// Row is what is known of one job, by the job beside it.
type Row map[string]Cell

// ParseRow reads a row from a job's data: an object from the other job's name to its
// cell, or a list of such, as the thesis' program writes it. What several say of one
// job counts together.
func ParseRow(data []byte) (Row, error) {
	var rows []Row
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		if err := json.Unmarshal(data, &rows); err != nil {
			return nil, err
		}
	} else {
		rows = make([]Row, 1)
		if err := json.Unmarshal(data, &rows[0]); err != nil {
			return nil, err
		}
	}
	all := make(Row)
	for _, row := range rows {
		for _, job := range slices.Sorted(maps.Keys(row)) {
			merged := all[job].merge(row[job])
			if err := merged.validate(); err != nil {
				return nil, err
			}
			all[job] = merged
		}
	}
	return all, nil
}

// Matrix has the run times of jobs beside each other; M[a][a] is a's alone. The zero
// value is empty and ready for use. It is not safe for concurrent use.
type Matrix struct {
	rows map[string]Row
}

// Set replaces the row of a job. An invalid cell is a *field.Error, and nothing changes.
func (m *Matrix) Set(job string, row Row) error {
	for _, cell := range row {
		if err := cell.validate(); err != nil {
			return err
		}
	}
	if m.rows == nil {
		m.rows = make(map[string]Row)
	}
	m.rows[job] = maps.Clone(row)
	return nil
}

// At returns what is known of a job beside another.
func (m *Matrix) At(job, beside string) Cell { return m.rows[job][beside] }

// Row returns a copy of the job's row, never nil: what is to be kept with the job.
func (m *Matrix) Row(job string) Row {
	row := maps.Clone(m.rows[job])
	if row == nil {
		row = make(Row)
	}
	return row
}

// Pair is two jobs that run beside each other, or one alone: then B is empty.
type Pair struct {
	A, B string
}

// Next returns the pair of the jobs that is to be profiled next: the one of whose two
// cells the less sampled has the fewest runs, then the first by name. A sorts before B.
// There is none of fewer than two jobs.
func (m *Matrix) Next(jobs []string) (Pair, bool) {
	names := sorted(jobs)
	var next Pair
	fewest, found := 0, false
	for i, a := range names {
		for _, b := range names[i+1:] {
			if n := min(m.At(a, b).Count, m.At(b, a).Count); !found || n < fewest {
				next, fewest, found = Pair{A: a, B: b}, n, true
			}
		}
	}
	return next, found
}

// sorted returns the names sorted, each once.
func sorted(jobs []string) []string {
	names := slices.Clone(jobs)
	slices.Sort(names)
	return slices.Compact(names)
}

// check refuses jobs that cannot be planned with.
func check(jobs []string) error {
	names := slices.Clone(jobs)
	slices.Sort(names)
	for i, name := range names {
		if name == "" {
			return testbed.Refuse("jobs", strings.Join(jobs, ","), "names")
		}
		if i > 0 && names[i-1] == name {
			return testbed.Refuse("jobs", name, "there once")
		}
	}
	return nil
}
