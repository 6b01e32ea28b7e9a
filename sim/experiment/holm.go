package experiment

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// holm returns the adjusted values of p, in its order, by S. Holm, "A simple sequentially
// rejective multiple test procedure" (1979): with p₍₁₎ ≤ … ≤ p₍ₘ₎ the j-th is
//
//	max over i ≤ j of min(1, (m−i+1)·p₍ᵢ₎)
//
// Those below α are rejected with a probability of at most α that any is rejected wrongly,
// however they depend on each other. NaN, for what was not tested, stays NaN and does not count.
func holm(p []float64) []float64 {
	adjusted := slices.Clone(p)
	var order []int
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	most := 0.
	for i, at := range order {
		most = max(most, min(1, float64(len(order)-i)*p[at]))
		adjusted[at] = most
	}
	return adjusted
}

// pairedP is the two-sided p-value of Student's paired test that the logarithms of the ratios
// have the mean 0; NaN with fewer than two, or where a ratio has no logarithm.
func pairedP(ratios []float64) float64 {
	logs := make([]float64, len(ratios))
	for i, r := range ratios {
		if logs[i] = math.Log(r); math.IsInf(logs[i], 0) || math.IsNaN(logs[i]) {
			return math.NaN()
		}
	}
	n := float64(len(logs))
	if n < 2 {
		return math.NaN()
	}
	mean, sd := stat.MeanStdDev(logs, nil)
	if sd == 0 {
		if mean == 0 {
			return 1
		}
		return 0
	}
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Survival(math.Abs(mean)/sd*math.Sqrt(n))
}

// Headline is a comparison of the headline table: the metric of a Spazio over the other scheduler's,
// and the p-value that there is no difference, adjusted for the number of the table's rows. P and
// Adjusted are NaN where the test could not be computed, or where pods that did not end leave open
// which is better; such a row still counts among them. Ratio is NaN where the metric was not measured
// under both schedulers, and its bounds also as those of Ratios are.
type Headline struct {
	Experiment, Scheduler, Metric, Other string
	Ratio                                Interval
	P, Adjusted                          float64
}

// headlines are declared before any run: the metric, of which experiments, to whom.
var headlines = []struct {
	applies rule
	metric  string
	others  []string
}{
	{long, "sojourn_mean", []string{Default, requestsRight, limitRange}},
	{in("memory", "mixed-io", "unlike", "profiles-mixes", "profiles-unlike"), "sojourn_mean", []string{Default, requestsRight, limitRange, pooled}},
	{in("memory", "mixed-io", "unlike"), "kills", []string{Default}},
	{in("background", "wrong-requests"), "slowdown_p99", []string{Default, requestsRight}},
	{in("servers"), "server_p99", []string{Default, requestsRight}},
	{in("traces", "phases"), "sojourn_mean", []string{Default, requestsRight}},
	{offered, "server_p99", []string{Default, RequestsP98}},
	{in("services").atLoad(0), coresUsed, []string{Default, RequestsP98}},
	{in("relief"), "total_slowdown_p99", []string{unrelieved}},
}

// offered are the cases of services with a load beside them; that without one is of ServiceCores.
func offered(c Case) bool { return in("services")(c) && c.Params.load > 0 }

// Headlines is the table of the cases whose schedulers were run. It is of Spazio as installed, with
// profiles on, where that was.
func Headlines(cases []Case, rows []Row) []Headline {
	answered, answers := ServiceCores(cases, rows)
	cases, rows = slices.Concat(cases, answered), slices.Concat(rows, answers)
	ran := map[[2]string]bool{}
	for _, r := range rows {
		ran[[2]string{r.Experiment, r.Scheduler}] = true
	}
	var table []Headline
	for _, h := range headlines {
		for _, other := range h.others {
			ratios := Ratios(rows, other)
			for _, c := range cases {
				own := units
				if !ran[[2]string{c.Label, own}] {
					own = Spazio
				}
				if h.applies(c) && ran[[2]string{c.Label, own}] && ran[[2]string{c.Label, other}] {
					table = append(table, headlineOf(ratios, c.Label, own, h.metric, other))
				}
			}
		}
	}
	p := make([]float64, len(table))
	for i, h := range table {
		if p[i] = h.P; math.IsNaN(h.P) {
			p[i] = 1
		}
	}
	for i, v := range holm(p) {
		if table[i].Adjusted = v; math.IsNaN(table[i].P) {
			table[i].Adjusted = math.NaN()
		}
	}
	return table
}

// headlineOf is a row of the table that is not adjusted yet.
func headlineOf(ratios []Line, label, scheduler, metric, other string) Headline {
	nan := math.NaN()
	h := Headline{Experiment: label, Scheduler: scheduler, Metric: metric, Other: other, Ratio: Interval{Mean: nan, Low: nan, High: nan}, P: nan}
	for _, l := range ratios {
		if l.Experiment == label && l.Scheduler == scheduler && l.Metric == metric {
			h.Ratio = l.Interval
			if h.Ratio.atMost(1) || h.Ratio.atLeast(1) {
				h.P = pairedP(l.Values)
			}
		}
	}
	return h
}
