package prediction

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

func verdict(holds bool) string {
	if holds {
		return "holds"
	}
	return "does not hold"
}

// outcome returns the verdict on a claim whose contrary can be found as well.
func outcome(above, below bool) string {
	switch {
	case above:
		return "holds"
	case below:
		return "the contrary"
	}
	return "no difference to be seen"
}

// compareShares compares two shares of n cases, with a tolerance of two standard errors.
func compareShares(share, other, n float64) string {
	room := 2 * math.Sqrt(max(share*(1-share), other*(1-other))/n)
	return outcome(share > other+room, share < other-room)
}

// compareRatio compares a ratio with 1: the ratio has to be below 0.99 and its interval below 1.
func compareRatio(i experiment.Interval) string {
	return outcome(i.Mean < .99 && !(i.High >= 1), i.Mean > 1.01 && !(i.Low <= 1))
}

// scoreOf is what a signal did on a source, above its own percentile.
func scoreOf(r Result, source string, behind bool, signal string) (signalScore, bool) {
	for _, row := range r.Rows {
		if row.Source == source && row.Filtered == behind && row.Spike == ownPercentile && row.Signal == signal {
			return row.signalScore, row.Spikes >= fewest
		}
	}
	return signalScore{}, false
}

// foretoldBy is the share of the spikes within a window that a signal foretells.
func foretoldBy(r Result, source string, behind bool, signal string, window int) float64 {
	score, _ := scoreOf(r, source, behind, signal)
	return score.foretoldShare(window)
}

// claimed is what the paper and the thesis say, and what became of it on each source and under
// schedulers.
func claimed(r Result, rows []experiment.Row) text.Table {
	t := text.Table{Title: "What is claimed, and what was found", Header: []string{"claim", "on", "found", "verdict"}}
	addPredictions(&t, r)
	// Under a scheduler fewer pods are slow than where rejections are left out, and than where a
	// coin makes them.
	for _, base := range []string{experiment.Default, experiment.ProntoCoin} {
		for _, l := range experiment.Ratios(rows, base) {
			if l.Scheduler == experiment.Pronto && l.Metric == "slowdown_p99" {
				t.Add("with rejections fewer pods are slow than under "+base, l.Experiment,
					"99th percentile of the slowdown "+shortInterval(l.Interval)+" of that", compareRatio(l.Interval))
			}
		}
	}
	return t
}

// addPredictions adds the claims on what rejections foretell.
func addPredictions(t *text.Table, r Result) {
	// each adds a claim on those sources in which Pronto's signal has spikes enough.
	each := func(claim string, behind bool, judge func(s Source, own signalScore) (found, verdict string)) {
		for _, s := range r.sources {
			if own, ok := scoreOf(r, s.name, behind, prontoSignal); ok {
				if found, verdict := judge(s, own); found != "" {
					t.Add(claim, s.name, found, verdict)
				}
			}
		}
	}
	// byChance holds what is foretold against the better of both coins.
	byChance := func(behind bool, window int) func(Source, signalScore) (found, verdict string) {
		return func(s Source, own signalScore) (found, verdict string) {
			if behind && s.second == 1 {
				return "", ""
			}
			of := own.foretoldShare(window)
			by := math.Max(foretoldBy(r, s.name, behind, coinSignal, window), foretoldBy(r, s.name, behind, shifted, window))
			return fmt.Sprintf("%s of the spikes, %s by chance", share(of), share(by)), compareShares(of, by, own.Spikes)
		}
	}
	for i, w := range windows {
		each(fmt.Sprintf("rejections precede spikes by at most %d", w), false, byChance(false, i))
	}
	each("few alarms are in vain", false, func(s Source, own signalScore) (found, holds string) {
		coin, _ := scoreOf(r, s.name, false, coinSignal)
		vain := own.falseShare(falseWindow)
		return fmt.Sprintf("%s of them, %s of a coin's", share(vain), share(coin.falseShare(falseWindow))), verdict(vain < .5)
	})
	each("a fleet's model predicts better than a node's own", false, func(s Source, own signalScore) (found, verdict string) {
		score, known := scoreOf(r, s.name, false, aloneSignal)
		if !known {
			return "", ""
		}
		of, alone := own.foretoldShare(falseWindow), score.foretoldShare(falseWindow)
		return fmt.Sprintf("%s of the spikes within %d, %s alone", share(of), windows[falseWindow], share(alone)), compareShares(of, alone, own.Spikes)
	})
	for _, s := range r.starts {
		if s.Calm > 0 && s.Stills > 0 {
			t.Add("containers that start or stop raise the pressure of a calm node (thesis §2.6.3)", s.Source,
				fmt.Sprintf("to %s within a second, %s without", share(s.Rise), share(s.Still)), verdict(s.Rise > s.Still))
		}
	}
	each("behind filter and gate rejections precede spikes by at most 1", true, byChance(true, 0))
}
