package schedulers

import (
	"fmt"
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Repeats are comparisons of the same schedulers again and again, which show how far their
// verdicts are to be trusted: of a scheduler with itself, 95 in a hundred say that there is
// no difference. It is a plain value, safe for concurrent reading.
type Repeats struct {
	// Quality says what the joules are; it heads the table.
	Quality     string    `json:"quality"`
	Comparisons []Outcome `json:"comparisons"`
}

// Add adds a comparison.
func (r *Repeats) Add(of Report) {
	r.Quality = of.Quality
	r.Comparisons = append(r.Comparisons, of.Outcome())
}

// Table has a row a scheduler and quantity: how often each verdict was given, and the least
// and the most of the ratios.
func (r Repeats) Table() text.Table {
	t := text.Table{
		Title:  fmt.Sprintf("Verdicts of %d comparisons (joules: %s)", len(r.Comparisons), r.Quality),
		Header: []string{"scheduler", "quantity", noDifference, less, more, unknown, "ratio from", "to"},
		Right:  []bool{false, false, true, true, true, true, true, true},
	}
	type key struct{ scheduler, quantity string }
	var order []key
	verdicts, ratios := map[key]map[string]int{}, map[key][]float64{}
	for _, c := range r.Comparisons {
		for _, q := range c.Ratios {
			k := key{q.Scheduler, q.Quantity}
			if verdicts[k] == nil {
				order, verdicts[k] = append(order, k), map[string]int{}
			}
			verdicts[k][q.Verdict]++
			if q.Pairs > 0 {
				ratios[k] = append(ratios[k], q.Ratio)
			}
		}
	}
	for _, k := range order {
		cells := []string{k.scheduler, k.quantity}
		for _, verdict := range t.Header[2:6] {
			cells = append(cells, fmt.Sprint(verdicts[k][verdict]))
		}
		least, most := math.NaN(), math.NaN()
		if len(ratios[k]) > 0 {
			least, most = slices.Min(ratios[k]), slices.Max(ratios[k])
		}
		t.Add(append(cells, formatted("%.3f", least), formatted("%.3f", most))...)
	}
	return t
}
