package replay

import (
	"encoding/csv"
	"encoding/json"
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

// ReadDir reads the series in all files below a directory that end in .csv or
// .json and hold any. Others of that kind are left out, except CSV with a column
// timestamp and none that is known beside it, which are refused. The series are in
// the order of their files' names.
func ReadDir(dir fs.FS) ([]Series, error) {
	var all []Series
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		series, err := readFile(dir, name)
		all = append(all, series...)
		return err
	})
	return all, err
}

func readFile(dir fs.FS, name string) ([]Series, error) {
	read := ReadCSV
	switch path.Ext(name) {
	case ".csv":
	case ".json":
		read = readPrometheus
	default:
		return nil, nil
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	series, err := read(name, f)
	if errors.Is(err, ErrNoSeries) {
		return nil, nil
	}
	return series, err
}

// ErrNoSeries reports that a file holds no series that is understood.
var ErrNoSeries = errors.New("no series")

// column is what a column of a CSV file says.
type column struct {
	resource Resource
	factor   float64 // to cores or bytes
	cores    bool    // the factor counts a core, of which the row says the number
}

// columns by their header, in small letters: this project's own, CloudWatch's (a
// machine's share in %, of one core as their number is unknown) and GWA-T-12's.
var columns = map[string]column{
	"cpu_cores":         {CPU, 1, false},
	"memory_bytes":      {Memory, 1, false},
	"value":             {CPU, .01, false},
	"cpu usage [%]":     {CPU, .01, true},
	"memory usage [kb]": {Memory, 1 << 10, false},
}

// passedOver are the columns of those files that say nothing of use. Another one is
// refused: it may be a known one's name misspelt.
var passedOver = []string{
	"timestamp", "timestamp [ms]", "cpu cores", "cpu capacity provisioned [mhz]", "cpu usage [mhz]", "memory capacity provisioned [kb]",
	"disk read throughput [kb/s]", "disk write throughput [kb/s]", "network received throughput [kb/s]", "network transmitted throughput [kb/s]",
}

// Bounds of what is read: no machine has more. A share in per cent is of one machine.
const maxCores, maxBytes, maxPercent = 4096, 1 << 50, 100

// ReadCSV reads the series of a file with a header: times in a column timestamp,
// as RFC 3339, "2006-01-02 15:04:05" in UTC, or seconds since 1970, and values in
// columns cpu_cores or memory_bytes, or as in CloudWatch's and the Grid Workloads
// Archive's files. Fields are separated by commas or semicolons. Rows out of the
// order of time, values that are no number or more than any machine has, and columns
// that are not known are an error, which names the line.
func ReadCSV(name string, r io.Reader) ([]Series, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	header, _, _ := strings.Cut(text, "\n")
	rows := csv.NewReader(strings.NewReader(text))
	if strings.Contains(header, ";") {
		rows.Comma = ';'
	}
	rows.ReuseRecord = true
	names, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, ErrNoSeries)
	}
	table, err := newTable(name, names)
	if err != nil {
		return nil, err
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return table.series, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := table.add(row); err != nil {
			line, _ := rows.FieldPos(0)
			return nil, fmt.Errorf("%s: line %d: %w", name, line, err)
		}
	}
}

// table turns rows into series.
type table struct {
	name        string
	time, cores int // columns, −1 without
	from        []int
	columns     []column
	series      []Series
}

func newTable(name string, header []string) (*table, error) {
	t := &table{name: name, time: -1, cores: -1}
	seen, unknown := map[string]bool{}, ""
	for i, label := range header {
		label = strings.ToLower(strings.TrimSpace(label))
		if _, ok := columns[label]; (!ok && !slices.Contains(passedOver, label) || seen[label]) && unknown == "" {
			unknown = label
		}
		seen[label] = true
		if column, ok := columns[label]; ok {
			t.from, t.columns = append(t.from, i), append(t.columns, column)
			t.series = append(t.series, Series{Name: name, Resource: column.resource})
		}
		switch label {
		case "timestamp", "timestamp [ms]":
			t.time = i
		case "cpu cores":
			t.cores = i
		}
	}
	switch {
	case t.time < 0 || len(t.series) == 0 && unknown == "":
		return nil, fmt.Errorf("%s: %w: want a column timestamp and one of cpu_cores, memory_bytes", name, ErrNoSeries)
	case unknown != "":
		return nil, fmt.Errorf("%s: line 1: %w", name, refuse(name+".column", unknown, "timestamp, cpu_cores or memory_bytes, or another of the files known, each once"))
	}
	return t, nil
}

func (t *table) add(row []string) error {
	at, err := parseTime(row[t.time])
	if err != nil {
		return refuse(t.name+".timestamp", row[t.time], "a time")
	}
	for i := range t.series {
		s, c := &t.series[i], t.columns[i]
		value, err := parseValue(row[t.from[i]])
		if err != nil {
			return refuse(t.name+".value", row[t.from[i]], "a number, finite and not negative")
		}
		value *= c.factor
		if c.cores && t.cores >= 0 {
			cores, err := parseValue(row[t.cores])
			if err != nil {
				return refuse(t.name+".cores", row[t.cores], "a number, finite and not negative")
			}
			value *= cores
		}
		switch {
		case c.resource == CPU && value > maxCores:
			return refuse(t.name+".value", row[t.from[i]], "at most 4096 cores; bytes belong into a column memory_bytes")
		case c.resource == Memory && value > maxBytes:
			return refuse(t.name+".value", row[t.from[i]], "at most 2^50 bytes")
		case c.factor == .01 && !c.cores && value > maxPercent*c.factor:
			return refuse(t.name+".value", row[t.from[i]], "a machine's CPU in per cent, at most 100")
		}
		if n := len(s.Times); n > 0 && !at.After(s.Times[n-1]) {
			if at.Equal(s.Times[n-1]) { // a clock set back for summer time repeats some
				continue
			}
			return refuse(t.name+".timestamp", row[t.time], "after the row before")
		}
		s.Times, s.Values = append(s.Times, at), append(s.Values, value)
	}
	return nil
}

func parseValue(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err == nil && (!(v >= 0) || math.IsInf(v, 1)) {
		err = strconv.ErrRange
	}
	return v, err
}

func parseTime(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return unix(s)
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	return time.Parse("2006-01-02 15:04:05", text)
}

func unix(seconds float64) (time.Time, error) {
	if !(seconds >= 0) || seconds > 9e9 {
		return time.Time{}, strconv.ErrRange
	}
	return time.UnixMilli(int64(math.Round(seconds * 1e3))).UTC(), nil
}

// readPrometheus reads the answer of a Prometheus server to a range query, in
// which each result is a series. What it measures, the metric's name says, else the
// file's; of the answer to an aggregation, which has no name, in a file whose name says
// nothing, the values do: no machine has as many cores as the least pod has bytes. Bytes
// where cores are said, and a counter, of which a rate is meant, are an error.
func readPrometheus(name string, r io.Reader) ([]Series, error) {
	var answer struct {
		Data struct {
			ResultType string
			Result     []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.NewDecoder(r).Decode(&answer); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrNoSeries, err)
	}
	if answer.Data.ResultType != "matrix" {
		return nil, fmt.Errorf("%s: %w: want the answer to a range query", name, ErrNoSeries)
	}
	var all []Series
	for _, result := range answer.Data.Result {
		s := Series{Name: name + labels(result.Metric)}
		for _, v := range result.Values {
			seconds, ok := v[0].(float64)
			at, err := unix(seconds)
			if !ok || err != nil {
				return nil, refuse(s.Name+".Times", v[0], "seconds since 1970")
			}
			text, _ := v[1].(string)
			value, err := parseValue(text)
			if err != nil || value > maxBytes {
				return nil, refuse(s.Name+".Values", v[1], "a number, not negative, at most 2^50")
			}
			s.Times, s.Values = append(s.Times, at), append(s.Values, value)
		}
		if err := s.validate(); err != nil {
			return nil, err
		}
		if err := s.measures(result.Metric["__name__"], path.Base(name)); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// measures finds what a series of a metric is of, in a file.
func (s *Series) measures(metric, file string) error {
	if strings.HasSuffix(metric, "_total") {
		return refuse(s.Name+".__name__", metric, "no counter: query its rate, as rate("+metric+"[5m])")
	}
	cpu, memory := kinds(metric)
	if cpu == memory {
		cpu, memory = kinds(file)
	}
	largest := slices.Max(append(s.Values, 0))
	if cpu == memory {
		memory = largest > maxCores
	} else if cpu && largest > maxCores {
		return refuse(s.Name+".Values", largest, "cores, at most 4096, as the name says; an answer in bytes belongs into a file named memory….json")
	}
	if memory {
		s.Resource = Memory
	}
	return nil
}

// kinds are those that a name speaks of.
func kinds(name string) (cpu, memory bool) {
	name = strings.ToLower(name)
	cpu = strings.Contains(name, "cpu") || strings.Contains(name, "cores")
	memory = strings.Contains(name, "memory") || strings.Contains(name, "bytes")
	return cpu, memory
}

// labels are those of a metric in the order of their names.
func labels(metric map[string]string) string {
	var pairs []string
	for name, value := range metric {
		pairs = append(pairs, name+"="+strconv.Quote(value))
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, ",") + "}"
}
