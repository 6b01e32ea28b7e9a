package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// table renders the result for reading, one column a profile. With both it adds
// their ratios, and says what the figures mean; the second act follows. Its lines have at most 120 columns.
func (r demoResult) table() string {
	inconclusive, against := r.inconclusive(), defaultProfile
	if inconclusive != "" {
		against = "" // no ratios either
	}
	shown := comparison(fmt.Sprintf("%d simulated nodes × %d cores", r.Config.Nodes, r.Config.Cores), r.Simulated, spazioProfile, against)
	if inconclusive != "" {
		shown += "\n" + noVerdict(inconclusive)
	} else {
		shown += r.meaning()
	}
	if r.Unlike != nil {
		shown += "\n" + r.Unlike.table()
	}
	return text.Fold(shown, 120)
}

// meaning is what the figures of the first act mean.
func (r demoResult) meaning() string {
	spazio, ran := find(r.Simulated, spazioProfile)
	if other, ok := find(r.Simulated, defaultProfile); ok && ran {
		return "\n" + verdict(spazio, other) + "\n"
	}
	return ""
}

// verdict is the result in a sentence.
func verdict(spazio, other profileColumn) string {
	held := spazio.Makespan > other.Makespan
	but := "and"
	if faster := spazio.RunTime.Mean < other.RunTime.Mean; faster == held {
		but = "but"
	}
	return fmt.Sprintf("Spazio starts a pod only where there is room: on average a pod ran for %s s instead of %s s (%s)\n"+
		"and was done %s s after its submission instead of %s s (%s),\n"+
		"%s the batch as a whole took %s s instead of %s s (%s).",
		seconds(spazio.RunTime.Mean), seconds(other.RunTime.Mean), change(spazio.RunTime.Mean, other.RunTime.Mean),
		seconds(spazio.Sojourn.Mean), seconds(other.Sojourn.Mean), change(spazio.Sojourn.Mean, other.Sojourn.Mean),
		but, seconds(spazio.Makespan), seconds(other.Makespan), change(spazio.Makespan, other.Makespan))
}

func seconds(v float64) string { return fmt.Sprintf("%.1f", v) }

// numbers is a table whose columns except the first are numbers.
func numbers(header ...string) text.Table {
	right := slices.Repeat([]bool{true}, len(header))
	right[0] = false
	return text.Table{Header: header, Right: right}
}

// rendered is a table as text.
func rendered(t text.Table) string {
	var shown strings.Builder
	_ = t.WriteText(&shown, 0) // a Builder takes everything
	return shown.String()
}

func number(v float64) string { return fmt.Sprintf("%.2f", v) }
