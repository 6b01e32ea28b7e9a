package comparison

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// quantities are what metrics are of, where their names are short for it, and statistics what of
// them, by the ends of the names.
var (
	quantities = map[string]string{"run": "run time", "sojourn": "sojourn time", "sojourn_owner": "sojourn time by owner", "sojourn_work": "sojourn time by core-second", "owner": "owners' sojourn over that alone", "server": "response time of servers"}
	statistics = map[string]string{"mean": "mean ", "max": "longest ", "p50": "median ", "jain": "Jain's index of the "}
)

// Words is a metric's name for a reader: run_mean is mean run time.
func Words(metric string) string {
	base, statistic := metric, ""
	if i := strings.LastIndexByte(metric, '_'); i > 0 {
		base, statistic = metric[:i], metric[i+1:]
	}
	words := statistics[statistic]
	if percentile, ok := strings.CutPrefix(statistic, "p"); ok && words == "" {
		if _, err := strconv.Atoi(percentile); err == nil {
			words = percentile + "th percentile of the "
		}
	}
	if words == "" {
		base = metric
	}
	return words + cmp.Or(quantities[base], strings.ReplaceAll(base, "_", " "))
}

// settingsOf is what a case's label has beside its experiment: batch/work=0.1/law=equal is of work=0.1,
// law=equal. A case without settings is called by its experiment.
func settingsOf(label string) string {
	experiment, settings, _ := strings.Cut(label, "/")
	return cmp.Or(strings.ReplaceAll(settings, "/", ", "), experiment)
}

// settingWords are the words of settings in pictures, %s for the value.
var settingWords = map[string]string{"work": "%s s of CPU", "law": "%s sizes", "mix": "%s", "load": "load %s", "requests": "requests: %s"}

// pictured is a case's settings beside its fleet, for the legend of a picture: 10 s of CPU, equal sizes.
func pictured(k experiment.Case) string {
	settings := strings.Split(settingsOf(strings.Replace(k.Label, "/fleet="+k.Params.Fleet, "", 1)), ", ")
	for i, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		if words := settingWords[name]; words != "" {
			settings[i] = strings.Replace(words, "%s", value, 1)
		}
	}
	return strings.Join(settings, ", ")
}

// schedulers are the words of the most compared schedulers in pictures.
var schedulers = map[string]string{
	"spazio": "Spazio, defaults", "spazio-units": "Spazio, as installed", "spazio-pooled": "Spazio, all pods typical",
	"spazio-shortest-first": "Spazio, shortest first", "requests-right": "correct requests",
	"requests-p98": "98th percentile requested", "limit-range": "one LimitRange",
}

// number keeps three digits.
func number(v float64) string {
	switch a := math.Abs(v); {
	case v == 0:
		return "0"
	case math.IsInf(v, 0) || math.IsNaN(v):
		return "∞"
	case a >= 1000:
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// interval is a mean with its bounds.
func interval(i experiment.Interval) string {
	if math.IsNaN(i.Low) {
		return bounded(i)
	}
	return fmt.Sprintf("%s [%s, %s]", bounded(i), number(i.Low), number(i.High))
}

// bounded is a mean, marked where it is a bound.
func bounded(i experiment.Interval) string {
	switch {
	case math.IsNaN(i.Mean):
		return "not computed"
	case i.Bound != "":
		return i.Bound + " " + number(i.Mean)
	}
	return number(i.Mean)
}

// plusMinus is a mean with half of its interval.
func plusMinus(l experiment.Line) string {
	if math.IsNaN(l.Low) {
		return bounded(l.Interval)
	}
	return bounded(l.Interval) + " ±" + number((l.High-l.Low)/2)
}

// probability is a p-value, if it could be computed.
func probability(p float64) string {
	if math.IsNaN(p) {
		return "not computed"
	}
	return number(p)
}

func yes(holds bool) string {
	if holds {
		return "yes"
	}
	return "no"
}

// decimal returns a number with so many decimal places, or a dash in the place of NaN.
func decimal(v float64, places int) string {
	if math.IsNaN(v) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', places, 64)
}
