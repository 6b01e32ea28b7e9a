package experiment

import (
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Line is a metric of one scheduler in one case over all seeds.
type Line struct {
	Experiment, Scheduler, Metric, Unit string
	Interval
	// Values are those of the seeds, in their order.
	Values []float64
}

// Interval is a mean and the bounds of its 95 % confidence interval; NaN bounds
// with fewer than two values.
type Interval struct {
	Mean, Low, High float64
	N               int
	// Bound is "≥" where the true figure is not known and at least this, since pods did not end (see
	// [sim.Summarise]); of a ratio it is "≤" where that is so of the base, and "≈" where it is of both.
	Bound string
}

// unended returns whether a figure counts pods of any seed that did not end for what they took
// until the run's end.
func unended(rows []Row) func(lineKey) bool {
	some := map[lineKey]bool{}
	for _, r := range rows {
		if r.Value > 0 && (r.Metric == "unfinished" || r.Metric == "gave_up") {
			some[lineKey{r.Experiment, r.Scheduler, r.Metric}] = true
		}
	}
	return func(k lineKey) bool {
		slowdown := strings.HasPrefix(k.metric, "total_slowdown")
		if !slowdown && k.metric != "makespan" && k.metric != "edp" && !strings.HasPrefix(k.metric, "sojourn") {
			return false
		}
		return some[lineKey{k.experiment, k.scheduler, "unfinished"}] || slowdown && some[lineKey{k.experiment, k.scheduler, "gave_up"}]
	}
}

const confidence = .95

// intervalOf uses Student's t.
func intervalOf(values []float64) Interval {
	mean, sd := stat.MeanStdDev(values, nil)
	i := Interval{Mean: mean, Low: math.NaN(), High: math.NaN(), N: len(values)}
	if n := len(values); n > 1 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile((1 + confidence) / 2)
		half := t * sd / math.Sqrt(float64(n))
		i.Low, i.High = mean-half, mean+half
	}
	return i
}

type lineKey struct{ experiment, scheduler, metric string }

// Summarise joins the rows of all seeds, in order of appearance.
func Summarise(rows []Row) []Line {
	index := map[lineKey]int{}
	var lines []Line
	for _, r := range rows {
		k := lineKey{r.Experiment, r.Scheduler, r.Metric}
		i, ok := index[k]
		if !ok {
			i = len(lines)
			index[k] = i
			lines = append(lines, Line{Experiment: r.Experiment, Scheduler: r.Scheduler, Metric: r.Metric, Unit: r.Unit})
		}
		lines[i].Values = append(lines[i].Values, r.Value)
	}
	isBound := unended(rows)
	for i := range lines {
		l := &lines[i]
		if l.Interval = intervalOf(l.Values); isBound(lineKey{l.Experiment, l.Scheduler, l.Metric}) {
			l.Bound = "≥"
		}
	}
	return lines
}

// Ratios divides each metric by that of the base scheduler with the same seed:
// the geometric mean of the ratios and its interval, taken on logarithms. Where
// both are 0 the ratio is 1; where a ratio of some seed is 0, infinite or
// negative, the line has the ratio of the means and no interval. Values holds
// the ratios by seed.
func Ratios(rows []Row, base string) []Line {
	type cell struct {
		experiment, metric string
		seed               uint64
	}
	reference := map[cell]float64{}
	for _, r := range rows {
		if r.Scheduler == base {
			reference[cell{r.Experiment, r.Metric, r.Seed}] = r.Value
		}
	}
	var ratios []Row
	sums := map[lineKey][2]float64{}
	for _, r := range rows {
		b, ok := reference[cell{r.Experiment, r.Metric, r.Seed}]
		if !ok {
			continue
		}
		k := lineKey{r.Experiment, r.Scheduler, r.Metric}
		sums[k] = [2]float64{sums[k][0] + r.Value, sums[k][1] + b}
		r.Value, r.Unit = divide(r.Value, b), "1"
		ratios = append(ratios, r)
	}
	lines := Summarise(ratios)
	isBound := unended(rows)
	for i := range lines {
		l := &lines[i]
		k := lineKey{l.Experiment, l.Scheduler, l.Metric}
		l.Interval = geometric(l.Values, divide(sums[k][0], sums[k][1]))
		l.Bound = boundOf(isBound(k), isBound(lineKey{l.Experiment, base, l.Metric}))
	}
	return lines
}

// boundOf is the Bound of a ratio of which one or both may be a lower bound.
func boundOf(own, base bool) string {
	switch {
	case own && base:
		return "≈"
	case own:
		return "≥"
	case base:
		return "≤"
	}
	return ""
}

// atMost reports whether the true figure is known to be no more than a bound, as far as the mean says.
func (i Interval) atMost(bound float64) bool {
	return i.Mean <= bound && (i.Bound == "" || i.Bound == "≤")
}

func (i Interval) atLeast(bound float64) bool {
	return i.Mean >= bound && (i.Bound == "" || i.Bound == "≥")
}

func divide(a, b float64) float64 {
	if a == 0 && b == 0 {
		return 1
	}
	return a / b
}

func geometric(ratios []float64, otherwise float64) Interval {
	logs := make([]float64, len(ratios))
	for i, r := range ratios {
		if !(r > 0) || math.IsInf(r, 1) {
			return Interval{Mean: otherwise, Low: math.NaN(), High: math.NaN(), N: len(ratios)}
		}
		logs[i] = math.Log(r)
	}
	i := intervalOf(logs)
	return Interval{Mean: math.Exp(i.Mean), Low: math.Exp(i.Low), High: math.Exp(i.High), N: i.N}
}
