package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spazio-scheduler/spazio/sim/report/ratio"
	"github.com/spazio-scheduler/spazio/sim/report/table"
)

// report is everything measured.
type report struct {
	Tasks   int     `json:"tasks"`
	AtOnce  []int   `json:"at_once"`
	Batches []batch `json:"batches"`
}

func (r report) write(w io.Writer, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	fmt.Fprintf(w, "%d tasks; ratios to %d at once in the same round, with 95 %% intervals\n\n", r.Tasks, r.AtOnce[0])
	t := table.Table{Header: []string{"runtime", "load", "at once", "batch s", "ratio", "work ms", "ratio", "besides ms", "start ms", "switches"}}
	for _, key := range r.kinds() {
		base := r.of(key.Runtime, key.Load, r.AtOnce[0])
		for _, n := range r.AtOnce {
			of := r.of(key.Runtime, key.Load, n)
			took, err := compare(of, base, func(b batch) float64 { return b.Seconds })
			if err != nil {
				return err
			}
			work, err := compare(of, base, func(b batch) float64 { return b.Work })
			if err != nil {
				return err
			}
			t.Add(key.Runtime, key.Load, fmt.Sprint(n),
				fmt.Sprintf("%.2f", mean(of, func(b batch) float64 { return b.Seconds })), took,
				fmt.Sprintf("%.1f", 1e3*mean(of, func(b batch) float64 { return b.Work })), work,
				fmt.Sprintf("%.1f", 1e3*mean(of, func(b batch) float64 { return b.Besides })),
				fmt.Sprintf("%.0f", 1e3*mean(of, func(b batch) float64 { return b.Start })),
				fmt.Sprintf("%.0f", mean(of, func(b batch) float64 { return b.Switches })))
		}
	}
	return t.WriteText(w, table.Terminal)
}

// kinds are the runtimes and loads, in their order.
func (r report) kinds() []batch {
	var kinds []batch
	for _, b := range r.Batches {
		if n := len(kinds); n == 0 || kinds[n-1].Runtime != b.Runtime || kinds[n-1].Load != b.Load {
			kinds = append(kinds, b)
		}
	}
	return kinds
}

// of returns the batches of a kind, by rounds.
func (r report) of(runtime, load string, atOnce int) []batch {
	var of []batch
	for _, b := range r.Batches {
		if b.Runtime == runtime && b.Load == load && b.AtOnce == atOnce {
			of = append(of, b)
		}
	}
	return of
}

func mean(of []batch, quantity func(batch) float64) float64 {
	sum := 0.
	for _, b := range of {
		sum += quantity(b)
	}
	return sum / float64(len(of))
}

// compare gives the ratio of two series of batches with its interval.
func compare(of, base []batch, quantity func(batch) float64) (string, error) {
	var a, b []float64
	for i := range of {
		a, b = append(a, quantity(of[i])), append(b, quantity(base[i]))
	}
	e, err := ratio.Of(a, b)
	return fmt.Sprintf("%.3f (%.3f–%.3f)", e.Ratio, e.Low, e.High), err
}
