package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// result is what a run found. Its JSON names are for scripts.
type result struct {
	Guests []row `json:"guests"`
}

// row is one number of guests. Times are in seconds.
type row struct {
	Count int `json:"count"`
	// Intervals are those between two publications of a guest, of all guests; Mean is
	// that of the guest whose mean is farthest from a period.
	Intervals int     `json:"intervals"`
	Mean      float64 `json:"mean"`
	P1        float64 `json:"p1"`
	P99       float64 `json:"p99"`
	Max       float64 `json:"max"`
	// Late is the most between a sample and its publication.
	Late       float64 `json:"late"`
	Millicores float64 `json:"millicores"`
	PeakMiB    float64 `json:"rss_peak_mib"`
}

// row is what was seen. A guest of which there is no interval is an error.
func (w *watch) row() (row, error) {
	r := row{Count: len(w.files), Intervals: len(w.apart), Late: w.late.Seconds(), Mean: barPeriod.Seconds()}
	for i, sum := range w.sum {
		if w.n[i] == 0 {
			return r, fmt.Errorf("%s has not changed", w.files[i])
		}
		mean := (sum / time.Duration(w.n[i])).Seconds()
		if math.Abs(mean-barPeriod.Seconds()) > math.Abs(r.Mean-barPeriod.Seconds()) {
			r.Mean = mean
		}
	}
	slices.Sort(w.apart)
	at := func(q float64) float64 { return w.apart[int(q*float64(len(w.apart)-1)+.5)].Seconds() }
	r.P1, r.P99, r.Max = at(.01), at(.99), at(1)
	return r, nil
}

// The bars: how far a guest's mean time between publications may be from a period, the most
// of any, in seconds, and processor time, up to so many guests.
const (
	barMean       = .02
	barMax        = 1.25
	barMillicores = 5
	barCount      = 20
)

// missed returns an error for each bar that is.
func (r result) missed() (missed []error) {
	for _, row := range r.Guests {
		miss := func(ok bool, format string, args ...any) {
			if !ok {
				missed = append(missed, fmt.Errorf("%d guests: %s", row.Count, fmt.Sprintf(format, args...)))
			}
		}
		miss(math.Abs(row.Mean-barPeriod.Seconds()) <= barMean, "publications are %.3f s apart", row.Mean)
		miss(row.Max <= barMax, "two publications are %.3f s apart, and may be %g", row.Max, barMax)
		miss(row.Count > barCount || row.Millicores <= barMillicores, "%.2f millicores, and may be %d", row.Millicores, barMillicores)
	}
	return missed
}

func (r result) write(w io.Writer, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	fmt.Fprintf(w, "%7s %10s %8s %8s %8s %8s %9s %11s %6s\n", "guests", "intervals", "mean s", "p1", "p99", "max", "late ms", "millicores", "MiB")
	for _, g := range r.Guests {
		fmt.Fprintf(w, "%7d %10d %8.3f %8.3f %8.3f %8.3f %9.1f %11.2f %6.1f\n",
			g.Count, g.Intervals, g.Mean, g.P1, g.P99, g.Max, 1000*g.Late, g.Millicores, g.PeakMiB)
	}
	_, err := fmt.Fprintf(w, "%7s %10s %8s %8s %8s %8.2f %9s %11d\n", "bar", "", "±0.02", "", "", barMax, "", barMillicores)
	return err
}
