// Package measured is the format of what a real machine showed under a known
// load: a gzipped JSON object, a [Recording]. Package figures draws it, and whoever
// wants to hold a model against a machine can read it with any JSON library.
//
//	{"version": 1,
//	 "machine": {"cpu": "AMD EPYC", "cores": 2, "memory": 8e9, "kernel": "6.18", …},
//	 "runs": [{"load": "busy", "workers": 3,
//	   "at": [.1, .2, …],           end of each sample's span, seconds from the run's start
//	   "utilisation": [1, 1, …],    busy share of the cores over the span
//	   "pressure": [.98, 1, …],     share of the span in which a task waited for a core
//	   "avg10": [.02, .02, …],      the kernel's own mean of it over 10 s, as a share
//	   "memory": [.2, .2, …],       1 − MemAvailable/MemTotal at the span's end
//	   "stall": [0, 0, …],          share of the span in which a task waited for memory
//	   "jobs": [{"worker": 0, "start": .1, "end": 5.1, "cpu": 3.3}, …],
//	   "marks": [{"name": "sandbox", "at": .31}, …]}]}
//
// The first span of a run begins about one sampling period before its end. A run
// starts on an idle machine, and the load does a moment after the run.
//
// Types that do not speak of concurrent use are plain values.
package measured

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// Version is that of the format.
const Version = 1

// Recording is what one call of the recorder measured. It is a plain value.
type Recording struct {
	Version int     `json:"version"`
	Machine Machine `json:"machine"`
	Runs    []Run   `json:"runs"`
}

// Machine describes where and when.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	// Memory is MemTotal in bytes.
	Memory float64 `json:"memory"`
	Kernel string  `json:"kernel"`
	// Counter is that behind utilisation, by its name in package telemetry.
	Counter string `json:"counter"`
	// Runtime is the container runtime and its version, if one took part.
	Runtime string `json:"runtime,omitempty"`
	// Day is the date, as in 2006-01-02.
	Day string `json:"day"`
}

// Run is one load.
type Run struct {
	// Load names what the workers do.
	Load string `json:"load"`
	// Workers is how many run at once.
	Workers int `json:"workers"`

	// One entry a sample each; see the package's documentation.
	At          []float64 `json:"at"`
	Utilisation []float64 `json:"utilisation"`
	Pressure    []float64 `json:"pressure"`
	Avg10       []float64 `json:"avg10"`
	Memory      []float64 `json:"memory"`
	Stall       []float64 `json:"stall"`

	// Jobs are the pieces of work, in order of their end.
	Jobs []Job `json:"jobs,omitempty"`
	// Marks are moments of note, in order.
	Marks []Mark `json:"marks,omitempty"`
}

// Job is one process from before its start to its end, in seconds from the run's
// start.
type Job struct {
	// Batch counts the groups of jobs that start together.
	Batch  int     `json:"batch"`
	Worker int     `json:"worker"`
	Start  float64 `json:"start"`
	End    float64 `json:"end"`
	// CPU is its CPU time in seconds.
	CPU float64 `json:"cpu"`
}

// Mark is a moment of note, in seconds from the run's start. Of a Pod ≥ 0 it is
// that of the run's pod of this number.
type Mark struct {
	Name string  `json:"name"`
	At   float64 `json:"at"`
	Pod  int     `json:"pod"`
}

// Limits of what Read takes.
const (
	// maxBytes bounds the text without compression, of which the largest there are have
	// 200 KiB; numbers of two bytes take sixteen once they are read.
	maxBytes = 4 << 20
	maxRuns  = 10_000
)

// ErrFormat is a text that is no Recording; match it with errors.Is.
var ErrFormat = errors.New("measured: not a recording")

// Read reads what Write has written. A text that is no valid Recording is an
// ErrFormat.
func Read(r io.Reader) (Recording, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return Recording{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	var rec Recording
	if err := json.NewDecoder(io.LimitReader(z, maxBytes)).Decode(&rec); err != nil {
		return Recording{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if err := rec.Validate(); err != nil {
		return Recording{}, err
	}
	return rec, nil
}

// Validate returns an ErrFormat that names the first field out of range.
func (r Recording) Validate() error {
	switch {
	case r.Version != Version:
		return fmt.Errorf("%w: version %d, want %d", ErrFormat, r.Version, Version)
	case r.Machine.Cores < 1:
		return fmt.Errorf("%w: %d cores", ErrFormat, r.Machine.Cores)
	case len(r.Runs) > maxRuns:
		return fmt.Errorf("%w: %d runs", ErrFormat, len(r.Runs))
	}
	for i, run := range r.Runs {
		if err := run.validate(); err != nil {
			return fmt.Errorf("%w: run %d, %s of %d workers: %w", ErrFormat, i, run.Load, run.Workers, err)
		}
	}
	return nil
}

func (r Run) validate() error {
	last := math.Inf(-1)
	for i, at := range r.At {
		if !(at > last) || math.IsInf(at, 1) {
			return fmt.Errorf("at[%d] = %v after %v", i, at, last)
		}
		last = at
	}
	for _, c := range []struct {
		name   string
		values []float64
	}{
		{"utilisation", r.Utilisation}, {"pressure", r.Pressure}, {"avg10", r.Avg10}, {"memory", r.Memory}, {"stall", r.Stall},
	} {
		if len(c.values) != len(r.At) {
			return fmt.Errorf("%d of %s, %d samples", len(c.values), c.name, len(r.At))
		}
		for i, v := range c.values {
			if !(v >= 0 && v <= 1) {
				return fmt.Errorf("%s[%d] = %v, want a share", c.name, i, v)
			}
		}
	}
	for i, j := range r.Jobs {
		if !(j.Start <= j.End && j.CPU >= 0) {
			return fmt.Errorf("job %d from %v to %v takes %v", i, j.Start, j.End, j.CPU)
		}
	}
	return nil
}

// Write writes a Recording, its numbers rounded to 10⁻⁴: a tenth of a
// millisecond. An invalid one is an ErrFormat.
func Write(w io.Writer, r Recording) error {
	if err := r.Validate(); err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(z).Encode(r.rounded()); err != nil {
		return fmt.Errorf("measured: write: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("measured: write: %w", err)
	}
	return nil
}

func (r Recording) rounded() Recording {
	runs := make([]Run, len(r.Runs))
	for i, run := range r.Runs {
		run.At, run.Utilisation, run.Pressure = roundAll(run.At), roundAll(run.Utilisation), roundAll(run.Pressure)
		run.Avg10, run.Memory, run.Stall = roundAll(run.Avg10), roundAll(run.Memory), roundAll(run.Stall)
		jobs := make([]Job, len(run.Jobs))
		for k, j := range run.Jobs {
			j.Start, j.End, j.CPU = round(j.Start), round(j.End), round(j.CPU)
			jobs[k] = j
		}
		marks := make([]Mark, len(run.Marks))
		for k, m := range run.Marks {
			m.At = round(m.At)
			marks[k] = m
		}
		run.Jobs, run.Marks = jobs, marks
		runs[i] = run
	}
	r.Runs = runs
	return r
}

func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

func roundAll(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = round(v)
	}
	return out
}
