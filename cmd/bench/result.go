package bench

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Result is what a benchmark has found, as cmd/bench/results keeps it. It is for one goroutine.
type Result struct {
	provenance
	Rows []Row `json:"rows"`
}

// provenance is where a result comes from.
type provenance struct {
	// Command is what was typed, without the program's directory.
	Command   string `json:"command"`
	Date      string `json:"date"`
	Version   string `json:"version"`
	Go        string `json:"go"`
	Processor string `json:"processor"`
	Cores     int    `json:"cores"`
}

// Row is a figure. It is a plain value.
type Row struct {
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Bar is what the figure must keep to, if anything.
	Bar *Bar `json:"bar,omitempty"`
	// Interval holds the ends of the 95 % interval, if there is one.
	Interval []float64 `json:"interval,omitempty"`
	// Of are the figures that Value is the median, the worst or a ratio of.
	Of []float64 `json:"of,omitempty"`
}

// Bar is a bound of a figure. It is a plain value.
type Bar struct {
	Value float64 `json:"value"`
	// Least reports that the figure must be Value at least, and not at most.
	Least bool `json:"least,omitempty"`
}

// AtMost is a bar from above.
func AtMost(v float64) *Bar { return &Bar{Value: v} }

// AtLeast is a bar from below.
func AtLeast(v float64) *Bar { return &Bar{Value: v, Least: true} }

// met reports whether the figure keeps to its bar: NaN, of which nothing was measured, keeps to none.
func (r Row) met() bool {
	return r.Bar == nil || r.Bar.Least && r.Value >= r.Bar.Value || !r.Bar.Least && r.Value <= r.Bar.Value
}

func newResult() *Result {
	return &Result{provenance: provenance{
		Command: strings.Join(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...), " "), Date: time.Now().UTC().Format(time.DateOnly),
		Version: build.Version(), Go: runtime.Version(), Processor: processor(), Cores: runtime.NumCPU(),
	}}
}

// processor is what Linux calls this machine's, or nothing.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	if found := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return ""
}

// Add adds rows.
func (r *Result) Add(rows ...Row) { r.Rows = append(r.Rows, rows...) }

func (r *Result) write(w io.Writer, format string) error {
	if format == "json" {
		return text.JSON(w, r)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WHAT\tVALUE\tUNIT\tBAR\tVERDICT")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s", row.What, number(row.Value))
		if len(row.Interval) == 2 {
			fmt.Fprintf(t, " (%s to %s)", number(row.Interval[0]), number(row.Interval[1]))
		}
		fmt.Fprintf(t, "\t%s", row.Unit)
		if row.Bar != nil {
			sign := map[bool]string{false: "≤", true: "≥"}[row.Bar.Least]
			verdict := map[bool]string{false: "MISSED", true: "ok"}[row.met()]
			fmt.Fprintf(t, "\t%s %s\t%s", sign, number(row.Bar.Value), verdict)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// number has three digits that count, and those before the point.
func number(v float64) string {
	if math.Abs(v) >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// keep writes the result into a file, if there is one.
func (r *Result) keep(name string) error {
	if name == "" {
		return nil
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(text.JSON(file, r), file.Close())
}

// missed returns an error for each bar that is.
func (r *Result) missed() error {
	var missed []error
	for _, row := range r.Rows {
		if !row.met() {
			missed = append(missed, fmt.Errorf("%s: %.3g %s misses %g", row.What, row.Value, row.Unit, row.Bar.Value))
		}
	}
	return errors.Join(missed...)
}

// Quantile is the least of the values that a part q of them doesn't exceed, NaN of none.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

// Median is the quantile of one half.
func Median(values []float64) float64 { return Quantile(values, .5) }
