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

// Utilisation is a recorded CPU utilisation, as ReadUtilisations reads it: share[i] ∈ [0,1] for
// step seconds each.
type Utilisation struct {
	step  float64
	share []float64
}

// Row is a line of a file, whose cells have the names of the file's columns.
type Row struct{ header, cells []string }

// Has reports whether the file has a column of that name.
func (r Row) Has(column string) bool { return slices.Contains(r.header, column) }

func (r Row) cell(column string) (string, error) {
	i := slices.Index(r.header, column)
	if i < 0 || i >= len(r.cells) {
		return "", fmt.Errorf("no column %q", column)
	}
	return r.cells[i], nil
}

// Number is the cell of a column, a finite number ≥ 0.
func (r Row) Number(column string) (float64, error) {
	cell, err := r.cell(column)
	if err != nil {
		return 0, err
	}
	return number(cell)
}

// ReadRows calls a function with each row of a file: cells are separated by semicolons if the header has
// one, else by commas. The error is ErrTrace, with the line.
func ReadRows(r io.Reader, take func(Row) error) error {
	lines := bufio.NewScanner(r)
	if !lines.Scan() {
		return fmt.Errorf("%w: empty", ErrTrace)
	}
	separator := ","
	if strings.Contains(lines.Text(), ";") {
		separator = ";"
	}
	header := fields(lines.Text(), separator)
	for line, row := 2, 1; lines.Scan(); line++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		if row > maxTraceRows {
			return fmt.Errorf("%w: more than %d rows", ErrTrace, maxTraceRows)
		}
		if err := take(Row{header, fields(lines.Text(), separator)}); err != nil {
			return fmt.Errorf("%w: line %d, row %d: %w", ErrTrace, line, row, err)
		}
		row++
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrTrace, err)
	}
	return nil
}

// readUtilisation reads one series: "timestamp,value" with percent (NAB's EC2
// files), or Bitbrains' rows with "CPU usage [%]". The step is that between the
// first two rows. A malformed file is ErrTrace.
func readUtilisation(r io.Reader) (u Utilisation, err error) {
	var first float64
	err = ReadRows(r, func(row Row) error {
		when, what := "timestamp", "value"
		if row.Has("CPU usage [%]") { // its header says milliseconds, its values are seconds
			when, what = "Timestamp [ms]", "CPU usage [%]"
		}
		cell, err := row.cell(when)
		if err != nil {
			return err
		}
		at, err := timestamp(cell)
		if err != nil {
			return err
		}
		percent, err := row.Number(what)
		switch len(u.share) {
		case 0:
			first = at
		case 1:
			u.step = at - first
		}
		u.share = append(u.share, math.Min(percent/100, 1))
		return err
	})
	if err != nil {
		return Utilisation{}, err
	}
	if len(u.share) < 2 || !(u.step > 0) || math.IsInf(u.step, 1) {
		return Utilisation{}, fmt.Errorf("%w: needs two rows in order of time", ErrTrace)
	}
	return u, nil
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
		u, err := readFile(dir, name, readUtilisation)
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
