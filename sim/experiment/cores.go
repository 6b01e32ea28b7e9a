package experiment

import (
	"fmt"
	"slices"
	"strings"
)

// coresUsed is the metric of ServiceCores, and mostSlowed how many times that alone the services'
// p99 may be.
const (
	coresUsed  = "cores_at_p99"
	mostSlowed = 1.2
	// offeredP99 is that of all requests, where those without a response took as long as the run.
	offeredP99 = "server_p99_offered"
)

// ServiceCores answers the question of the experiment services from the rows of its runs: for each
// scheduler and seed the most cores in use, in the mean of the run and by all pods, at one of the
// loads that were offered at which the 99th percentile of the services' responses is at most 1.2
// times that alone, requests without a response included. Where there is no such load these are the
// cores of the services alone. The cases that it returns are those of the experiment without their load.
func ServiceCores(cases []Case, rows []Row) (answered []Case, answers []Row) {
	type run struct {
		label, scheduler string
		seed             uint64
	}
	p99, utilisation := map[run]float64{}, map[run]float64{}
	for _, r := range rows {
		switch r.Metric {
		case "server_p99":
			p99[run{r.Experiment, r.Scheduler, r.Seed}] = r.Value
		case "utilisation":
			utilisation[run{r.Experiment, r.Scheduler, r.Seed}] = r.Value
		}
	}
	index := map[run]int{} // of answers
	for _, c := range cases {
		if c.Experiment.Name != services.Name {
			continue
		}
		answer := c
		answer.Label, answer.Params.load = strings.Replace(c.Label, fmt.Sprintf("/load=%v", c.Params.load), "", 1), 0
		if !slices.ContainsFunc(answered, func(a Case) bool { return a.Label == answer.Label }) {
			answered = append(answered, answer)
		}
		for _, r := range rows {
			own, alone := run{c.Label, r.Scheduler, r.Seed}, run{c.Label, Idle, r.Seed}
			most, ok := p99[alone]
			if !ok || r.Experiment != c.Label || r.Metric != offeredP99 || r.Scheduler == Idle {
				continue
			}
			k := run{answer.Label, r.Scheduler, r.Seed}
			i, ok := index[k]
			if !ok {
				i, index[k] = len(answers), len(answers)
				answers = append(answers, Row{answer.Label, r.Scheduler, r.Seed, coresUsed, utilisation[alone] * c.Params.cores(), "cores"})
			}
			if r.Value <= mostSlowed*most {
				answers[i].Value = max(answers[i].Value, utilisation[own]*c.Params.cores())
			}
		}
	}
	return answered, answers
}
