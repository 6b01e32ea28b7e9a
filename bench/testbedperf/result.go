package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// result is what a run found. Its JSON names are for scripts.
type result struct {
	Nodes int   `json:"nodes"`
	Slots int   `json:"slots"`
	Jobs  int   `json:"jobs"`
	Rows  []row `json:"rows"`
}

// row is a figure and what it must be.
type row struct {
	What  string  `json:"what"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Bar   float64 `json:"bar"`
	// Least says that Value must be Bar at least, and not at most.
	Least bool `json:"least"`
	// Told says that there is no bar: it is what others are compared with.
	Told bool `json:"told,omitempty"`
	// Of are the figures that Value is the median or a quantile of, sorted.
	Of []float64 `json:"of,omitempty"`
}

func (r row) met() bool {
	switch {
	case r.Told:
		return true
	case r.Least:
		return r.Value >= r.Bar
	}
	return r.Value <= r.Bar
}

// texts are the bar and whether it is met.
func (r row) texts() (bar, verdict string) {
	sign := "≤"
	switch {
	case r.Told:
		return "", ""
	case r.Least:
		sign = "≥"
	}
	if verdict = "ok"; !r.met() {
		verdict = "MISSED"
	}
	return fmt.Sprintf("%s %g", sign, r.Bar), verdict
}

func (r *result) add(rows ...row) { r.Rows = append(r.Rows, rows...) }

// tell writes what was found, even if failed says that the run did not come to its end,
// and returns that, or an error for each bar that was missed.
func (r *result) tell(w io.Writer, form string, failed error) error {
	if failed != nil && len(r.Rows) == 0 {
		return failed
	}
	if err := errors.Join(failed, r.write(w, form)); err != nil {
		return err
	}
	return r.missed()
}

func (r *result) write(w io.Writer, form string) error {
	if form == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	fmt.Fprintf(w, "%d nodes, %d slots, %d jobs\n\n", r.Nodes, r.Slots, r.Jobs)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WHAT\tVALUE\tBAR\tUNIT\tVERDICT")
	for _, row := range r.Rows {
		bar, verdict := row.texts()
		fmt.Fprintf(t, "%s\t%.3g\t%s\t%s\t%s\n", row.What, row.Value, bar, row.Unit, verdict)
	}
	return t.Flush()
}

// missed returns an error for each bar that is.
func (r *result) missed() error {
	var missed []error
	for _, row := range r.Rows {
		if !row.met() {
			missed = append(missed, fmt.Errorf("%s: %.3g %s misses %g", row.What, row.Value, row.Unit, row.Bar))
		}
	}
	return errors.Join(missed...)
}

// quantile is the least of the values that a part q of them doesn't exceed.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

func median(values []float64) float64 { return quantile(values, .5) }
