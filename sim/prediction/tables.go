package prediction

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// falseWindow is the one by which an alarm is in vain in tables: the middle one.
const falseWindow = 1

// fewest spikes are worth a table.
const fewest = 10

// share is a number in [0,1].
func share(v float64) string { return decimal(v, 3) }

// decimal returns a number with so many decimal places, or a dash for NaN.
func decimal(v float64, places int) string {
	if math.IsNaN(v) {
		return "–"
	}
	return strconv.FormatFloat(v, 'f', places, 64)
}

// header of scores.
func scoreHeader() []string {
	cells := []string{"signal"}
	for _, w := range windows {
		cells = append(cells, fmt.Sprintf("foretold within %d", w))
	}
	return append(cells, "told at its first sample", "alarms",
		fmt.Sprintf("in vain within %d", windows[falseWindow]), "of the time", "lead")
}

func scoreCells(s signalScore) []string {
	var all []string
	for i := range windows {
		all = append(all, share(s.foretoldShare(i)))
	}
	return append(all, share(s.atFirstShare()), decimal(s.Alarms, 0), share(s.falseShare(falseWindow)), share(s.rejectedShare()), decimal(s.meanLead(), 1))
}

// words are how a source was seen, and what its spikes are.
func seen(behind bool) string {
	if behind {
		return "filtered"
	}
	return "raw"
}

// scores is a table of what all signals did on a source; false where there is too little
// to tell.
func scores(r Result, source Source, behind bool, spike threshold) (t text.Table, ok bool) {
	spikes := 0.
	t.Header = scoreHeader()
	for _, row := range r.Rows {
		if row.Source == source.name && row.Filtered == behind && row.Spike == spike {
			spikes = row.Spikes
			t.Add(append([]string{row.Signal}, scoreCells(row.signalScore)...)...)
		}
	}
	t.Title = fmt.Sprintf("%s, %s, %.0f spikes above %v; windows and lead in %s", source.name, seen(behind), spikes, spike, source.unit)
	return t, spikes >= fewest
}

// Table returns the evaluation for machines.
func (r Result) Table() text.Table {
	t := text.Table{Header: append([]string{"source", "filtered", "spike", "spikes"}, scoreHeader()...)}
	for _, row := range r.Rows {
		t.Add(append([]string{row.Source, strconv.FormatBool(row.Filtered), row.Spike.String(), strconv.FormatFloat(row.Spikes, 'f', -1, 64), row.Signal},
			scoreCells(row.signalScore)...)...)
	}
	return t
}

// Tables returns the tables of a source with enough spikes, raw and filtered, for a person.
func (r Result) Tables() (all []text.Table) {
	for _, s := range r.sources {
		for _, behind := range []bool{false, true} {
			for _, spike := range thresholds() {
				if t, ok := scores(r, s, behind, spike); ok {
					all = append(all, t)
				}
			}
		}
	}
	return all
}

// startsTable returns the table of what follows containers' events.
func (r Result) startsTable() text.Table {
	t := text.Table{
		Title: "Within a second after a container's start or stop",
		Header: []string{"source", "events", "of the time", "of the spikes above the 95th percentile", "of those above .5",
			"largest pressure within a second after two calm ones: with an event", "without"},
	}
	part := func(n, of int) string { return share(float64(n) / float64(of)) } // of none it is no number
	for _, s := range r.starts {
		t.Add(s.Source, strconv.Itoa(s.Events), share(s.Share), part(s.Spikes[0], s.All[0]), part(s.Spikes[1], s.All[1]),
			fmt.Sprintf("%s (%d)", share(s.Rise), s.Calm), fmt.Sprintf("%s (%d)", share(s.Still), s.Stills))
	}
	return t
}
