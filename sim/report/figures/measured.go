package figures

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// formatVersion is that of recordings; see the package's documentation.
const formatVersion = 1

// recording is what one call of the recorder measured.
type recording struct {
	Version int           `json:"version"`
	Machine machine       `json:"machine"`
	Runs    []measuredRun `json:"runs"`
}

// machine describes where and when.
type machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	// Memory is MemTotal in bytes.
	Memory float64 `json:"memory"`
	Kernel string  `json:"kernel"`
	// Runtime is the container runtime and its version, if one took part.
	Runtime string `json:"runtime,omitempty"`
	// Day is the date, as in 2006-01-02.
	Day string `json:"day"`
}

// measuredRun is one load.
type measuredRun struct {
	// Load names what the workers do, Workers is how many run at once.
	Load    string `json:"load"`
	Workers int    `json:"workers"`

	// Each has one entry per sample; see the package's documentation.
	At          []float64 `json:"at"`
	Utilisation []float64 `json:"utilisation"`
	Pressure    []float64 `json:"pressure"`
	Avg10       []float64 `json:"avg10"`
	Memory      []float64 `json:"memory"`
	Stall       []float64 `json:"stall"`

	// Jobs are the pieces of work, in the order of their ends.
	Jobs []job `json:"jobs,omitempty"`
	// Marks are notable moments, in order.
	Marks []mark `json:"marks,omitempty"`
}

// job is one process from before its start to its end, in seconds from the run's start.
type job struct {
	// Batch counts the groups of jobs that start together.
	Batch int     `json:"batch"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	// CPU is its CPU time in seconds.
	CPU float64 `json:"cpu"`
}

// mark is a notable moment, in seconds from the run's start. With Pod ≥ 0 it belongs to the run's pod
// of this number.
type mark struct {
	Name string  `json:"name"`
	At   float64 `json:"at"`
	Pod  int     `json:"pod"`
}

// Limits of what readRecording accepts.
const (
	// maxBytes bounds the uncompressed text. The largest recordings have 200 KiB; a number of two
	// bytes takes sixteen once it is read.
	maxBytes = 4 << 20
	maxRuns  = 10_000
)

// errFormat is wrapped where a text is not a recording.
var errFormat = errors.New("not a recording")

// readRecording reads a recording and checks it. The error wraps errFormat.
func readRecording(r io.Reader) (rec recording, err error) {
	z, err := gzip.NewReader(r)
	if err == nil {
		err = json.NewDecoder(io.LimitReader(z, maxBytes)).Decode(&rec)
	}
	if err == nil {
		err = rec.validate()
	}
	if err != nil {
		return recording{}, fmt.Errorf("%w: %w", errFormat, err)
	}
	return rec, nil
}

// validate returns an error that names the first field out of range.
func (r recording) validate() error {
	switch {
	case r.Version != formatVersion:
		return fmt.Errorf("version %d, want %d", r.Version, formatVersion)
	case r.Machine.Cores < 1:
		return fmt.Errorf("%d cores", r.Machine.Cores)
	case len(r.Runs) > maxRuns:
		return fmt.Errorf("%d runs", len(r.Runs))
	}
	for i, run := range r.Runs {
		if err := run.validate(); err != nil {
			return fmt.Errorf("run %d, %s of %d workers: %w", i, run.Load, run.Workers, err)
		}
	}
	return nil
}

func (r measuredRun) validate() error {
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
