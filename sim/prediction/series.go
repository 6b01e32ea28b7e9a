package prediction

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/workload"
)

// errSeries is the reason why a series was refused; match it with errors.Is.
var errSeries = errors.New("prediction: bad series")

// maxSeries bounds a directory of series.
const maxSeries = 1000

// column is one that is read of a series: a part of another, or, where there is none, of
// its own largest value.
type column struct {
	name, of string
	percent  bool
}

// Columns of the two formats; the first is what stands for pressure.
var (
	cloudWatch = []column{{name: "value", percent: true}}
	bitbrains  = []column{
		{name: "CPU usage [%]", percent: true},
		{name: "Memory usage [KB]", of: "Memory capacity provisioned [KB]"},
		{name: "Disk read throughput [KB/s]"}, {name: "Disk write throughput [KB/s]"},
		{name: "Network received throughput [KB/s]"}, {name: "Network transmitted throughput [KB/s]"},
	}
)

// ReadSeries reads every .csv file of a directory as a node: of CloudWatch
// (timestamp,value in percent), or of the Grid Workloads Archive's Bitbrains. They have no
// pressure, so that the utilisation of the CPU stands for it, and a row for a second: they
// have one in five minutes. The nodes are as long as the shortest. Errors are errSeries
// or those of reading.
func ReadSeries(name string, dir fs.FS) (Source, error) {
	s := Source{name: name, second: 1, unit: "rows"}
	files, err := fs.Glob(dir, "*.csv")
	if err != nil {
		return Source{}, err
	}
	if len(files) == 0 || len(files) > maxSeries {
		return Source{}, fmt.Errorf("%w: %d .csv files, want 1 to %d", errSeries, len(files), maxSeries)
	}
	slices.Sort(files)
	shortest := math.MaxInt
	for _, file := range files {
		n, err := readNode(dir, file)
		if err != nil {
			return Source{}, fmt.Errorf("%s: %w", file, err)
		}
		if len(s.nodes) > 0 && len(n.Metrics[0]) != len(s.nodes[0].Metrics[0]) {
			return Source{}, fmt.Errorf("%s: %w: its format is not that of the others", file, errSeries)
		}
		shortest = min(shortest, len(n.Pressure))
		s.nodes = append(s.nodes, n)
	}
	for i := range s.nodes {
		s.nodes[i].Pressure, s.nodes[i].Metrics = s.nodes[i].Pressure[:shortest], s.nodes[i].Metrics[:shortest]
	}
	what := "utilisation of the CPU"
	if len(s.nodes[0].Metrics[0]) > 1 {
		what += ", which stands for pressure, memory, disk read and written, network received and sent, each of these four over its largest"
	} else {
		what += ", which stands for pressure"
	}
	s.about = fmt.Sprintf("%d machines, %d rows of %s", len(s.nodes), shortest, what)
	return s, nil
}

func readNode(dir fs.FS, file string) (node, error) {
	in, err := dir.Open(file)
	if err != nil {
		return node{}, err
	}
	defer in.Close()
	n, err := readSeries(in)
	n.Name = strings.TrimSuffix(path.Base(file), path.Ext(file))
	return n, err
}

func readSeries(in io.Reader) (n node, err error) {
	columns := cloudWatch
	err = workload.ReadRows(in, func(row workload.Row) error {
		if row.Has(bitbrains[0].name) {
			columns = bitbrains
		}
		y, err := values(columns, row)
		n.Metrics = append(n.Metrics, y)
		return err
	})
	if err != nil {
		return n, fmt.Errorf("%w: %w", errSeries, err)
	}
	if len(n.Metrics) == 0 {
		return n, fmt.Errorf("%w: no rows", errSeries)
	}
	overLargest(columns, n.Metrics)
	for _, y := range n.Metrics {
		n.Pressure = append(n.Pressure, y[0])
	}
	return n, nil
}

// values are the columns of a row, at most 1 where it is known what they are of.
func values(columns []column, row workload.Row) ([]float64, error) {
	y := make([]float64, len(columns))
	for i, c := range columns {
		v, err := row.Number(c.name)
		if err != nil {
			return nil, err
		}
		switch {
		case c.percent:
			v = min(v/100, 1)
		case c.of != "":
			all, err := row.Number(c.of)
			if err != nil {
				return nil, err
			}
			v = min(v/max(all, 1), 1)
		}
		y[i] = v
	}
	return y, nil
}

// overLargest scales the columns that have no known whole.
func overLargest(columns []column, rows [][]float64) {
	for i, c := range columns {
		if c.percent || c.of != "" {
			continue
		}
		largest := 0.
		for _, y := range rows {
			largest = max(largest, y[i])
		}
		if largest == 0 {
			continue
		}
		for _, y := range rows {
			y[i] /= largest
		}
	}
}
