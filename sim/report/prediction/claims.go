package prediction

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/prediction"
	"github.com/spazio-scheduler/spazio/sim/report/table"
)

// claim is a sentence of the paper or of the thesis and what became of it on a source.
type claim struct{ text, source, measured, verdict string }

func verdict(holds bool) string {
	if holds {
		return "holds"
	}
	return "does not hold"
}

// beside holds a share of n cases against another: with two standard errors for room.
func beside(share, other, n float64) string {
	room := 2 * math.Sqrt(max(share*(1-share), other*(1-other))/n)
	switch {
	case share > other+room:
		return "holds"
	case share < other-room:
		return "the contrary"
	}
	return "no difference to be seen"
}

// below says whether a ratio is: by a hundredth at least, with its whole interval.
func below(i experiment.Interval) string {
	switch {
	case i.Mean < .99 && !(i.High >= 1):
		return "holds"
	case i.Mean > 1.01 && !(i.Low <= 1):
		return "the contrary"
	}
	return "no difference to be seen"
}

// scoreOf is what a signal did on a source, above its own percentile.
func scoreOf(r prediction.Result, source string, behind bool, signal string) (prediction.Score, bool) {
	for _, row := range r.Rows {
		if row.Source == source && row.Filtered == behind && row.Spike == prediction.OwnPercentile && row.Signal == signal {
			return row.Score, row.Spikes >= fewest
		}
	}
	return prediction.Score{}, false
}

// chance is the better of both coins.
func chance(r prediction.Result, source string, behind bool, of func(prediction.Score) float64) float64 {
	coin, _ := scoreOf(r, source, behind, prediction.Coin)
	shifted, _ := scoreOf(r, source, behind, prediction.Shifted)
	return math.Max(of(coin), of(shifted))
}

// claims are those on prediction.
func claims(r prediction.Result) (all []claim) {
	within := func(i int) func(prediction.Score) float64 {
		return func(s prediction.Score) float64 { return s.ForetoldShare(i) }
	}
	for i, w := range prediction.Windows {
		for _, s := range r.Sources {
			own, ok := scoreOf(r, s.Name, false, prediction.Pronto)
			if !ok {
				continue
			}
			by := chance(r, s.Name, false, within(i))
			all = append(all, claim{
				fmt.Sprintf("rejections precede spikes by at most %d", w), s.Name,
				fmt.Sprintf("%s of the spikes, %s by chance", share(own.ForetoldShare(i)), share(by)), beside(own.ForetoldShare(i), by, own.Spikes),
			})
		}
	}
	for _, s := range r.Sources {
		own, ok := scoreOf(r, s.Name, false, prediction.Pronto)
		if !ok {
			continue
		}
		coin, _ := scoreOf(r, s.Name, false, prediction.Coin)
		all = append(all, claim{
			"few alarms are in vain", s.Name,
			fmt.Sprintf("%s of them, %s of a coin's", share(own.FalseShare(falseWindow)), share(coin.FalseShare(falseWindow))), verdict(own.FalseShare(falseWindow) < .5),
		})
	}
	for _, s := range r.Sources {
		own, ok := scoreOf(r, s.Name, false, prediction.Pronto)
		alone, known := scoreOf(r, s.Name, false, prediction.Alone)
		if !ok || !known {
			continue
		}
		all = append(all, claim{
			"a fleet's model predicts better than a node's own", s.Name,
			fmt.Sprintf("%s of the spikes within %d, %s alone", share(own.ForetoldShare(falseWindow)), prediction.Windows[falseWindow], share(alone.ForetoldShare(falseWindow))),
			beside(own.ForetoldShare(falseWindow), alone.ForetoldShare(falseWindow), own.Spikes),
		})
	}
	for _, s := range r.Starts {
		if s.Calm == 0 || s.Stills == 0 {
			continue
		}
		all = append(all, claim{
			"containers that start or stop raise the pressure of a calm node (thesis §2.6.3)", s.Source,
			fmt.Sprintf("to %s within a second, %s without", share(s.Rise), share(s.Still)), verdict(s.Rise > s.Still),
		})
	}
	for _, s := range r.Sources {
		own, ok := scoreOf(r, s.Name, true, prediction.Pronto)
		if !ok || s.Second == 1 {
			continue
		}
		by := chance(r, s.Name, true, within(0))
		all = append(all, claim{
			"behind filter and gate rejections precede spikes by at most 1", s.Name,
			fmt.Sprintf("%s of the spikes, %s by chance", share(own.ForetoldShare(0)), share(by)), beside(own.ForetoldShare(0), by, own.Spikes),
		})
	}
	return all
}

// schedulerClaims are those on what rejections do to a scheduler: fewer slow pods than
// where they are left out, and than where a coin makes them.
func schedulerClaims(rows []experiment.Row) (all []claim) {
	for _, base := range []string{experiment.Default, experiment.ProntoCoin} {
		for _, l := range experiment.Ratios(rows, base) {
			if l.Scheduler != experiment.Pronto || l.Metric != "slowdown_p99" {
				continue
			}
			all = append(all, claim{
				"with rejections fewer pods are slow than under " + base, l.Experiment,
				"99th percentile of the slowdown " + ratio(l.Interval) + " of that", below(l.Interval),
			})
		}
	}
	return all
}

func claimed(all []claim) table.Table {
	t := table.Table{Title: "What is claimed, and what was found", Header: []string{"claim", "on", "found", "verdict"}}
	for _, c := range all {
		t.Add(c.text, c.source, c.measured, c.verdict)
	}
	return t
}
