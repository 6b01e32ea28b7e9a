package experiment

// loss is a metric by which another scheduler is better in a case.
type loss struct {
	Experiment, Metric string
	// Other is the best of the others by this metric.
	Other string
	// Ratio is the metric to that of the other, seed by seed.
	Ratio Interval
}

// notable is the difference from which a loss is one: within a hundredth two
// schedulers do alike.
const notable = .01

// judged are the metrics by which schedulers are better or worse, and whether
// more is better.
var judged = []struct {
	metric string
	more   bool
}{
	{"useful_share", true},
	{"makespan", false},
	{"run_mean", false},
	{"sojourn_mean", false},
	{"sojourn_owner_mean", false},
	{"sojourn_work_mean", false},
	{"sojourn_p99", false},
	{"slowdown_p99", false},
	{"server_p99", false},
	{"memory_overload", false},
	{"kills", false},
	{"evictions", false},
	{"gave_up", false},
	{"lost_work", false},
	{"owner_jain", true},
	{"energy", false},
	{"energy_dynamic", false},
	{"energy_if_empty_slept", false},
	{"edp", false},
}

// Losses lists where another scheduler that places pods is better than the given
// one by more than a hundredth, the 95 % interval on its side where there is one. A scheduler whose figure
// is a lower bound is not known to be better than one whose figure is not.
func Losses(cases []Case, rows []Row, scheduler string) []loss {
	lines, best, isBound := Summarise(rows), map[[2]string]Line{}, map[[2]string]bool{}
	for _, l := range lines {
		if l.Scheduler == scheduler {
			isBound[[2]string{l.Experiment, l.Metric}] = l.Bound != ""
		}
	}
	for _, l := range lines {
		k := [2]string{l.Experiment, l.Metric}
		if l.Scheduler == scheduler || !other(l.Scheduler) || l.Bound != "" && !isBound[k] {
			continue
		}
		if b, ok := best[k]; !ok || Better(l.Metric, l.Mean, b.Mean) {
			best[k] = l
		}
	}
	ratios := map[string][]Line{}
	var losses []loss
	for _, c := range cases {
		for _, j := range judged {
			first, ok := best[[2]string{c.Label, j.metric}]
			if !ok {
				continue
			}
			if ratios[first.Scheduler] == nil {
				ratios[first.Scheduler] = Ratios(rows, first.Scheduler)
			}
			for _, l := range ratios[first.Scheduler] {
				if l.Experiment == c.Label && l.Metric == j.metric && l.Scheduler == scheduler && lost(l.Interval, j.more) {
					losses = append(losses, loss{c.Label, j.metric, first.Scheduler, l.Interval})
				}
			}
		}
	}
	return losses
}

// other reports whether a scheduler places pods and is none of this repository's.
func other(scheduler string) bool {
	return scheduler != Spazio && scheduler != units && scheduler != unrelieved && scheduler != reserving && scheduler != centralQueue && scheduler != lowerBound && scheduler != Idle && !ofEnergy(scheduler)
}

// Better reports whether a is a better value of a metric than b.
func Better(metric string, a, b float64) bool {
	for _, j := range judged {
		if j.metric == metric && j.more {
			return a > b
		}
	}
	return a < b
}

func lost(i Interval, more bool) bool {
	if more {
		return i.Mean < 1-notable && !(i.High >= 1)
	}
	return i.Mean > 1+notable && !(i.Low <= 1)
}

// Judged names the metrics by which schedulers are better or worse, in the order
// in which they matter.
func Judged() []string {
	names := make([]string, len(judged))
	for i, j := range judged {
		names[i] = j.metric
	}
	return names
}
