package workload

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/sim"
)

// Function is one of an Azure Functions trace, as ReadFunctions reads it.
type Function struct {
	// name is owner, application and function.
	name string
	// invocations is their number in each minute.
	invocations []float64
	// duration and memory are quantiles: in seconds and in bytes.
	duration, memory []quantile
}

// quantile is the value that a share p ∈ [0,1] does not exceed.
type quantile struct{ p, value float64 }

// table is a CSV file by the function's name.
type table struct {
	columns []string
	rows    map[string][]string
	lines   map[string]int
	names   []string
}

const nameColumns = 3

func readTable(r io.Reader) (table, error) {
	reader := csv.NewReader(r)
	columns, err := reader.Read()
	if err != nil {
		return table{}, fmt.Errorf("%w: %w", ErrTrace, err)
	}
	if len(columns) <= nameColumns || columns[0] != "HashOwner" {
		return table{}, fmt.Errorf("%w: not a table of functions", ErrTrace)
	}
	t := table{columns: slices.Clone(columns), rows: map[string][]string{}, lines: map[string]int{}}
	for i, column := range columns {
		if !known(column) || slices.Contains(columns[:i], column) {
			return table{}, fmt.Errorf("%w: line 1: column %q is none of the trace's, or there twice", ErrTrace, column)
		}
	}
	for {
		row, err := reader.Read()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return table{}, fmt.Errorf("%w: %w", ErrTrace, err)
		}
		name := strings.Join(row[:nameColumns], "/")
		line, _ := reader.FieldPos(0)
		if _, ok := t.rows[name]; ok || len(t.names) == maxTraceRows {
			return table{}, fmt.Errorf("%w: line %d: %q is there twice, or too many", ErrTrace, line, name)
		}
		t.rows[name], t.lines[name] = row, line
		t.names = append(t.names, name)
	}
}

// The columns of a trace that are of no number of interest, and the beginnings of others.
var (
	traceColumns  = []string{"HashOwner", "HashApp", "HashFunction", "Trigger", "Average", "Count", "Minimum", "Maximum", "SampleCount", "AverageAllocatedMb"}
	tracePrefixes = []string{durationColumns, memoryColumns}
)

const durationColumns, memoryColumns = "percentile_Average_", "AverageAllocatedMb_pct"

// known reports whether a trace has a column of that name.
func known(column string) bool {
	_, err := strconv.Atoi(column) // a minute
	return err == nil || slices.Contains(traceColumns, column) ||
		slices.ContainsFunc(tracePrefixes, func(prefix string) bool { return strings.HasPrefix(column, prefix) })
}

// ReadFunctions reads invocations.csv, durations.csv and memory.csv of a
// directory. A function without durations is left out, one without memory has
// none. A malformed file is ErrTrace.
func ReadFunctions(dir fs.FS) ([]Function, error) {
	var tables [3]table
	for i, name := range []string{"invocations.csv", "durations.csv", "memory.csv"} {
		var err error
		if tables[i], err = readFile(dir, name, readTable); err != nil {
			return nil, err
		}
	}
	var functions []Function
	for _, name := range tables[0].names {
		f := Function{name: name}
		var err error
		if f.invocations, err = tables[0].minutes(name); err != nil {
			return nil, fmt.Errorf("invocations.csv: %w", err)
		}
		if f.duration, err = tables[1].quantiles(name, durationColumns, 1e-3); err != nil {
			return nil, fmt.Errorf("durations.csv: %w", err)
		}
		if f.memory, err = tables[2].quantiles(name, memoryColumns, 1<<20); err != nil {
			return nil, fmt.Errorf("memory.csv: %w", err)
		}
		if len(f.duration) > 0 {
			functions = append(functions, f)
		}
	}
	if len(functions) == 0 {
		return nil, fmt.Errorf("%w: no function with durations", ErrTrace)
	}
	return functions, nil
}

// minutes are the columns whose name is a number.
func (t table) minutes(name string) ([]float64, error) {
	var counts []float64
	for i, column := range t.columns {
		if _, err := strconv.Atoi(column); err != nil {
			continue
		}
		v, err := number(t.rows[name][i])
		if err != nil {
			return nil, fmt.Errorf("%w: invocations.csv: line %d: minute %s: %w", ErrTrace, t.lines[name], column, err)
		}
		counts = append(counts, v)
	}
	return counts, nil
}

// quantiles are the columns that begin with the prefix, in the given unit.
func (t table) quantiles(name, prefix string, unit float64) ([]quantile, error) {
	row, ok := t.rows[name]
	if !ok {
		return nil, nil
	}
	var q []quantile
	for i, column := range t.columns {
		percent, ok := strings.CutPrefix(column, prefix)
		if !ok {
			continue
		}
		p, err := number(percent)
		if err != nil || p > 100 {
			return nil, fmt.Errorf("%w: column %q", ErrTrace, column)
		}
		v, err := number(row[i])
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: column %s: %w", ErrTrace, t.lines[name], column, err)
		}
		q = append(q, quantile{p / 100, v * unit})
	}
	slices.SortFunc(q, func(a, b quantile) int { return cmp.Compare(a.p, b.p) })
	return q, nil
}

// draw interpolates between the quantiles at u ∈ [0,1).
func draw(q []quantile, u float64) float64 {
	i := sort.Search(len(q), func(i int) bool { return q[i].p >= u })
	switch {
	case len(q) == 0:
		return 0
	case i == 0:
		return q[0].value
	case i == len(q):
		return q[i-1].value
	}
	a, b := q[i-1], q[i]
	return a.value + (b.value-a.value)*(u-a.p)/(b.p-a.p)
}

// mean is that of draw over u.
func mean(q []quantile) float64 {
	if len(q) == 0 {
		return 0
	}
	sum := q[0].p*q[0].value + (1-q[len(q)-1].p)*q[len(q)-1].value
	for i := 1; i < len(q); i++ {
		sum += (q[i].p - q[i-1].p) * (q[i].value + q[i-1].value) / 2
	}
	return sum
}

// Invocations replays functions for the given duration, each invocation a pod of
// one thread that works for its whole duration. Counts are scaled alike so that
// they take the share load of the cores on average, and arrivals are Poisson
// within each minute.
func Invocations(seed uint64, functions []Function, load, cores, duration float64) ([]sim.Pod, error) {
	if err := checked(Equal, "load", load, "cores", cores, "duration", duration); err != nil {
		return nil, err
	}
	minutes := int(duration / 60)
	work := 0.
	for _, f := range functions {
		for i := range min(minutes, len(f.invocations)) {
			work += f.invocations[i] * mean(f.duration)
		}
	}
	if !(work > 0) {
		return nil, fmt.Errorf("%w: no work within %d minutes", ErrTrace, minutes)
	}
	scale := load * cores * 60 * float64(minutes) / work
	s := newStreams(seed)
	var pods []sim.Pod
	for _, f := range functions {
		for i := range min(minutes, len(f.invocations)) {
			if expected := float64(len(pods)) + f.invocations[i]*scale; expected > maxPods {
				return nil, refuse("pods", expected, fmt.Sprintf("at most %d", maxPods))
			}
			pods = s.invoke(pods, f, float64(i)*60, f.invocations[i]*scale)
		}
	}
	slices.SortStableFunc(pods, func(a, b sim.Pod) int { return cmp.Compare(a.Created, b.Created) })
	return pods, nil
}

// invoke adds the pods of a function in the minute from start on.
func (s streams) invoke(pods []sim.Pod, f Function, start, count float64) []sim.Pod {
	if count == 0 {
		return pods
	}
	for now := gap(s.arrivals, count); now < 60; now += gap(s.arrivals, count) {
		p := s.pod(start+now, draw(f.duration, s.works.Float64()), Equal)
		p.Memory, p.Workload = draw(f.memory, s.choices.Float64()), f.name
		pods = append(pods, p)
	}
	return pods
}

func gap(rng *rand.Rand, perMinute float64) float64 { return rng.ExpFloat64() * 60 / perMinute }
