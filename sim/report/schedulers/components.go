package schedulers

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/sim/report/ratio"
	"github.com/spazio-scheduler/spazio/sim/report/table"
)

// Components are the parts of a cluster, each measured with those before it, in several
// rounds. It is a plain value, safe for concurrent reading.
type Components struct {
	// Quality says what the joules are.
	Quality string      `json:"quality"`
	Parts   []Component `json:"parts"`
}

// Component is a part with those before it.
type Component struct {
	Name string `json:"name"`
	// Alone says that the part is not added to those before it but to the first.
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
func (c Components) Table() table.Table {
	t := table.Table{
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
		cores, _ := added(p.Cores, before.Cores)
		watts, says := added(p.Watts, before.Watts)
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

// added is a mean difference with its interval, and what that says.
func added(with, without []float64) (text, says string) {
	mean, half, err := ratio.Difference(with, without)
	switch {
	case err != nil:
		return "-", Unknown
	case mean-half > 0:
		says = More
	case mean+half < 0:
		says = Less
	default:
		says = NoDifference
	}
	return fmt.Sprintf("%s ± %s", number(mean), number(half)), says
}

// Guests are what spazio-power does by the number of guests of a host. It is a plain value,
// safe for concurrent reading.
type Guests struct {
	// Quality says what the joules are.
	Quality string      `json:"quality"`
	Rows    []GuestsRow `json:"rows"`
}

// GuestsRow is so many guests. Times are in seconds between two publications of a guest, of
// all guests.
type GuestsRow struct {
	Guests       int     `json:"guests"`
	Publications int     `json:"publications"`
	Mean         float64 `json:"mean"`
	Least        float64 `json:"least"`
	P99          float64 `json:"p99"`
	Most         float64 `json:"most"`
	// Millicores are of spazio-power.
	Millicores float64 `json:"millicores"`
}

// Table has a row a number of guests.
func (g Guests) Table() table.Table {
	t := table.Table{
		Title:  fmt.Sprintf("Time between two publications of a guest's energy in seconds (joules: %s)", g.Quality),
		Header: []string{"guests", "publications", "mean", "least", "p99", "most", "spazio-power, millicores"},
		Right:  []bool{true, true, true, true, true, true, true},
	}
	for _, r := range g.Rows {
		t.Add(fmt.Sprint(r.Guests), fmt.Sprint(r.Publications), fmt.Sprintf("%.3f", r.Mean), fmt.Sprintf("%.3f", r.Least), fmt.Sprintf("%.3f", r.P99), fmt.Sprintf("%.3f", r.Most), fmt.Sprintf("%.2f", r.Millicores))
	}
	return t
}
