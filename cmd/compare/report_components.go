package compare

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Components are the parts of a cluster, each measured with those before it, in several
// rounds. It is a plain value, safe for concurrent reading.
type Components struct {
	// Quality says what the joules are.
	Quality string            `json:"quality"`
	Parts   []componentResult `json:"parts"`
}

// componentResult is a part with those before it.
type componentResult struct {
	Name string `json:"name"`
	// Alone is set if the part is added to the first, not to those before it.
	Alone bool `json:"alone,omitempty"`
	// CPUs is how many the part keeps busy, 0 where it is not meant to keep all.
	CPUs int `json:"cpus,omitempty"`
	// Cores and Watts are what all took in each round: processors that were busy, and
	// power.
	Cores []float64 `json:"cores"`
	Watts []float64 `json:"watts"`
}

// Table has a row a part: what all take with it, and what it adds, with the 95 % interval
// of the rounds.
func (c Components) Table() text.Table {
	t := text.Table{
		Title:  fmt.Sprintf("What each part takes beside those before it (joules: %s)", c.Quality),
		Header: []string{"part", "cores", "W", "adds cores", "adds W", "says of W"},
		Right:  []bool{false, true, true, true, true},
	}
	for i, p := range c.Parts {
		cells := []string{p.Name, number(mean(p.Cores)), number(mean(p.Watts))}
		if i == 0 {
			t.Add(append(cells, "", "", "")...)
			continue
		}
		before := c.Parts[i-1]
		if p.Alone {
			before = c.Parts[0]
		}
		cores, _ := difference(p.Cores, before.Cores)
		watts, says := difference(p.Watts, before.Watts)
		if missed := notBusy(p.Cores, p.CPUs); missed != "" {
			cores, watts, says = "-", "-", missed
		}
		t.Add(append(cells, cores, watts, says)...)
	}
	return t
}

// busyShare is the least share of the CPUs that counts as all of them.
const busyShare = .9

// notBusy is why a measurement of busy CPUs shows nothing, "" where they were busy: others
// on the machine take them, or nothing kept them busy.
func notBusy(cores []float64, cpus int) string {
	if m := mean(cores); cpus > 0 && !(m >= busyShare*float64(cpus)) {
		return fmt.Sprintf("no verdict: %s of %d CPUs were busy, want %d %%", number(m), cpus, int(100*busyShare))
	}
	return ""
}

// difference is the mean of with−without, or of with alone, with its 95 % interval, and what that
// says.
func difference(with, without []float64) (text, says string) {
	if without == nil {
		without = make([]float64, len(with))
	}
	d, err := experiment.PairedDifference(with, without)
	if err != nil {
		return "-", unknown
	}
	return fmt.Sprintf("%s ± %s", number(d.Mean), number(d.High-d.Mean)), verdict(d.Low, d.High, 0)
}

// Save writes the parts into a directory: as a page with its picture, as a table and as
// JSON.
func (c Components) Save(dir string) error {
	return save(dir, "components", "What each part takes", c.Quality, c.Table(), c.chart(), c)
}

// chart has a row a part: what all take with it, the mean of the rounds with its 95 %
// interval.
func (c Components) chart() report.Chart {
	var cores, watts report.DotPlot
	for _, p := range c.Parts {
		addMean(&cores, p.Name, p.Cores)
		addMean(&watts, p.Name, p.Watts)
	}
	return report.Chart{Panels: []report.Panel{
		above0(&cores, "busy cores, mean and 95 % interval", "cores"),
		above0(&watts, fmt.Sprintf("power, mean and 95 %% interval (joules: %s)", c.Quality), "W"),
	}}
}

// addMean adds the mean of some values with its interval, where they have one.
func addMean(d *report.DotPlot, row string, values []float64) {
	i, err := experiment.PairedDifference(values, make([]float64, len(values)))
	if err != nil {
		i = experiment.Interval{Mean: mean(values)}
	}
	d.Add(row, "", i.Mean, i.Low, i.High)
}

func above0(d *report.DotPlot, title, label string) report.Panel {
	_, most := d.Range()
	return d.Panel(title, report.Axis{Label: label, Min: 0, Max: max(1.05*most, 1e-3)})
}
