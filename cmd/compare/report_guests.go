package compare

import (
	"fmt"
	"slices"

	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Guests are what spazio-host-energy does by the number of guests of a host. It is a plain value,
// safe for concurrent reading.
type Guests struct {
	// Quality says what the joules are.
	Quality string      `json:"quality"`
	Rows    []guestsRow `json:"rows"`
}

// guestsRow is so many guests. Times are in seconds between two publications of a guest, of
// all guests.
type guestsRow struct {
	Guests       int     `json:"guests"`
	Publications int     `json:"publications"`
	Mean         float64 `json:"mean"`
	Least        float64 `json:"least"`
	P99          float64 `json:"p99"`
	Most         float64 `json:"most"`
	// Millicores are of spazio-host-energy.
	Millicores float64 `json:"millicores"`
}

// Table has a row a number of guests.
func (g Guests) Table() text.Table {
	t := text.Table{
		Title:  fmt.Sprintf("Time between two publications of a guest's energy in seconds (joules: %s)", g.Quality),
		Header: []string{"guests", "publications", "mean", "least", "p99", "most", "spazio-host-energy, millicores"},
		Right:  slices.Repeat([]bool{true}, 7),
	}
	for _, r := range g.Rows {
		t.Add(fmt.Sprint(r.Guests), fmt.Sprint(r.Publications), fmt.Sprintf("%.3f", r.Mean), fmt.Sprintf("%.3f", r.Least), fmt.Sprintf("%.3f", r.P99), fmt.Sprintf("%.3f", r.Most), fmt.Sprintf("%.2f", r.Millicores))
	}
	return t
}

// Save writes the guests into a directory, as Components does.
func (g Guests) Save(dir string) error {
	return save(dir, "guests", "How often guests are told their energy", g.Quality, g.Table(), g.chart(), g)
}

// chart has the time between two publications of a guest by the number of guests: the mean,
// from the least to the most.
func (g Guests) chart() report.Chart {
	s := report.Series{Name: "mean, least to most", Style: report.Dots}
	for _, r := range g.Rows {
		s.Points = append(s.Points, report.Point{X: float64(r.Guests), Y: r.Mean, Low: r.Least, High: r.Most})
	}
	return report.Chart{Panels: []report.Panel{{
		Title: "time between two publications of a guest's energy",
		X:     report.Axis{Label: "guests"}, Y: report.Axis{Label: "s", Min: 0, Max: 1.5}, Series: []report.Series{s},
	}}}
}
