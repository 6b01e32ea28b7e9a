package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrTrace is the reason why a trace was refused; match it with errors.Is.
var ErrTrace = errors.New("workload: bad trace")

// Bounds of a trace.
const (
	maxTraceRows  = 1 << 20
	maxTraceFiles = 10_000
)

// Utilisation is a recorded CPU utilisation: Share[i] ∈ [0,1] for Step seconds
// each.
type Utilisation struct {
	Step  float64
	Share []float64
}

// ReadUtilisation reads one series: "timestamp,value" with percent (NAB's EC2
// files), or Bitbrains' rows with "CPU usage [%]". The step is that between the
// first two rows. A malformed file is ErrTrace.
func ReadUtilisation(r io.Reader) (Utilisation, error) {
	lines := bufio.NewScanner(r)
	if !lines.Scan() {
		return Utilisation{}, fmt.Errorf("%w: empty", ErrTrace)
	}
	parse, err := rowParser(lines.Text())
	if err != nil {
		return Utilisation{}, err
	}
	var u Utilisation
	var first float64
	for line := 2; lines.Scan(); line++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		at, percent, err := parse(lines.Text())
		if err != nil {
			return Utilisation{}, fmt.Errorf("%w: line %d, row %d: %w", ErrTrace, line, len(u.Share)+1, err)
		}
		switch len(u.Share) {
		case 0:
			first = at
		case 1:
			u.Step = at - first
		case maxTraceRows:
			return Utilisation{}, fmt.Errorf("%w: more than %d rows", ErrTrace, maxTraceRows)
		}
		u.Share = append(u.Share, math.Min(percent/100, 1))
	}
	if err := lines.Err(); err != nil {
		return Utilisation{}, fmt.Errorf("%w: %w", ErrTrace, err)
	}
	if len(u.Share) < 2 || !(u.Step > 0) || math.IsInf(u.Step, 1) {
		return Utilisation{}, fmt.Errorf("%w: needs two rows in order of time", ErrTrace)
	}
	return u, nil
}

// rowParser returns what reads a time in seconds and a share in percent.
func rowParser(header string) (func(string) (at, percent float64, err error), error) {
	separator, when, what := ",", "timestamp", "value"
	if strings.Contains(header, ";") {
		// The header says milliseconds, the values are seconds.
		separator, when, what = ";", "Timestamp [ms]", "CPU usage [%]"
	}
	columns := fields(header, separator)
	i, j := slices.Index(columns, when), slices.Index(columns, what)
	if i < 0 || j < 0 {
		return nil, fmt.Errorf("%w: no columns %q and %q", ErrTrace, when, what)
	}
	return func(line string) (float64, float64, error) {
		cells := fields(line, separator)
		if len(cells) <= max(i, j) {
			return 0, 0, fmt.Errorf("%d columns", len(cells))
		}
		at, err := timestamp(cells[i])
		if err != nil {
			return 0, 0, err
		}
		percent, err := number(cells[j])
		return at, percent, err
	}, nil
}

func fields(line, separator string) []string {
	cells := strings.Split(line, separator)
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func timestamp(s string) (float64, error) {
	if t, err := time.Parse(time.DateTime, s); err == nil {
		return float64(t.Unix()), nil
	}
	return number(s)
}

// number reads a finite number ≥ 0.
func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, err
	}
	if !(v >= 0) || math.IsInf(v, 1) {
		return 0, fmt.Errorf("%q is not a finite number ≥ 0", s)
	}
	return v, nil
}

// ReadUtilisations reads every .csv file of a directory, by name.
func ReadUtilisations(dir fs.FS) ([]Utilisation, error) {
	names, err := fs.Glob(dir, "*.csv")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 || len(names) > maxTraceFiles {
		return nil, fmt.Errorf("%w: %d .csv files, want 1 to %d", ErrTrace, len(names), maxTraceFiles)
	}
	slices.Sort(names)
	var all []Utilisation
	for _, name := range names {
		u, err := readFile(dir, name, ReadUtilisation)
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}

func readFile[T any](dir fs.FS, name string, read func(io.Reader) (T, error)) (T, error) {
	var none T
	file, err := dir.Open(name)
	if err != nil {
		return none, err
	}
	defer file.Close()
	value, err := read(file)
	if err != nil {
		return none, fmt.Errorf("%s: %w", path.Base(name), err)
	}
	return value, nil
}
