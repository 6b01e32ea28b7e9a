package compare

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Following is how a guest's energy follows its processor time, in several settings. It is
// a plain value, safe for concurrent reading.
type Following struct {
	// Quality says what the joules are.
	Quality  string           `json:"quality"`
	Settings []followedResult `json:"settings"`
}

// followedResult is a guest in a setting, with a reading for each publication of its energy.
type followedResult struct {
	Name string `json:"name"`
	// CPUs is how many the guest has, all of which are meant to be busy; 0 if unknown.
	CPUs     int               `json:"cpus,omitempty"`
	Readings []followedReading `json:"readings"`
}

// followedReading is what a guest took between two publications of its energy.
type followedReading struct {
	// At is since the first, in seconds, and Seconds how long it was since the one before.
	At      float64 `json:"at"`
	Seconds float64 `json:"seconds"`
	Cores   float64 `json:"cores"`
	Watts   float64 `json:"watts"`
}

// changes are the readings' cores and watts over those of the reading before, where both
// were above 0.
func (g followedResult) changes() (at, cores, watts []float64) {
	for i := 1; i < len(g.Readings); i++ {
		a, b := g.Readings[i-1], g.Readings[i]
		if a.Cores > 0 && a.Watts > 0 && b.Cores > 0 && b.Watts > 0 {
			at, cores, watts = append(at, b.At), append(cores, b.Cores/a.Cores), append(watts, b.Watts/a.Watts)
		}
	}
	return at, cores, watts
}

// Table has a row a setting: the mean power a busy core with the 95 % interval of the
// readings, how far they are from the mean, and by how much the change of energy from one
// reading to the next differs from that of processor time, in 95 of a hundred.
func (f Following) Table() text.Table {
	t := text.Table{
		Title:  fmt.Sprintf("A guest's energy beside its processor time, its CPUs kept busy (joules: %s)", f.Quality),
		Header: []string{"setting", "readings", "cores", "± %", "W", "± %", "W a core", "energy's change is that of processor time ±, %"},
		Right:  []bool{false, true, true, true, true, true, true, true},
	}
	for _, g := range f.Settings {
		var cores, watts, price []float64
		for _, r := range g.Readings {
			cores, watts = append(cores, r.Cores), append(watts, r.Watts)
			if r.Cores > 0 {
				price = append(price, r.Watts/r.Cores)
			}
		}
		_, c, w := g.changes()
		var apart []float64
		for i := range c {
			apart = append(apart, math.Abs(w[i]-c[i]))
		}
		perCore, _ := difference(price, nil)
		change := formatted("%.1f", 100*nineteenOf20(apart))
		if missed := notBusy(cores, g.CPUs); missed != "" {
			perCore, change = "-", missed
		}
		t.Add(g.Name, fmt.Sprint(len(g.Readings)), number(mean(cores)), spread(cores), number(mean(watts)), spread(watts),
			perCore, change)
	}
	return t
}

// spread is the standard deviation over the mean in per cent; a dash for fewer than two values.
func spread(values []float64) string {
	mean, deviation := stat.MeanStdDev(values, nil)
	return formatted("%.1f", 100*deviation/mean)
}

// nineteenOf20 is what 95 of a hundred values do not exceed; NaN of none.
func nineteenOf20(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return stat.Quantile(.95, stat.Empirical, slices.Sorted(slices.Values(values)), nil)
}

// Save writes the settings into a directory, as Components does.
func (f Following) Save(dir string) error {
	return save(dir, "following", "A guest's energy beside its processor time", f.Quality, f.Table(), f.chart(), f)
}

// chart has a panel a setting: energy and processor time of each reading over those of the
// one before.
func (f Following) chart() report.Chart {
	var c report.Chart
	for _, g := range f.Settings {
		at, cores, watts := g.changes()
		lines := []report.Series{{Name: "processor time"}, {Name: "energy", Style: report.Dashed}}
		for i, x := range at {
			lines[0].Points = append(lines[0].Points, report.Point{X: x, Y: cores[i]})
			lines[1].Points = append(lines[1].Points, report.Point{X: x, Y: watts[i]})
		}
		c.Panels = append(c.Panels, report.Panel{
			Title: fmt.Sprintf("%s (joules: %s)", g.Name, f.Quality),
			X:     report.Axis{Label: "s"}, Y: report.Axis{Label: "over the reading before"}, Series: lines,
		})
	}
	return c
}
