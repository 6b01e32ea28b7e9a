package main

import "github.com/spazio-scheduler/spazio/sim"

// effort is what a scheduler spent on its attempts: how many there were and how
// many of them bound a pod, the seconds of choosing a node in all, and those of
// the ones that bound from their start until the API server had the bind.
type effort struct {
	Attempts float64 `json:"attempts"`
	Bound    float64 `json:"bound"`
	Choosing float64 `json:"choosing"`
	Binding  float64 `json:"binding"`
}

// assumed is the effort in the simulator.
func assumed(c sim.Config, r sim.Result) effort {
	c = c.WithDefaults()
	e := effort{Bound: float64(len(r.Records))}
	for _, p := range r.Records {
		e.Attempts += float64(p.Attempts)
	}
	e.Choosing = e.Attempts * c.SchedulerDelay
	e.Binding = e.Bound * (c.SchedulerDelay + c.Latency)
	return e
}

// metrics of a batch of the given number of pods:
//
//   - attempts: at a pod
//   - choosing: of an attempt, filtering and scoring
//   - binding: of an attempt that bound, from its start to the bind's end
func (e effort) metrics(pods int) []sim.Metric {
	var all []sim.Metric
	add := func(name string, sum, count float64, unit string) {
		if count > 0 {
			all = append(all, sim.Metric{Name: name, Value: sum / count, Unit: unit})
		}
	}
	add("attempts", e.Attempts, float64(pods), "1")
	add("choosing", e.Choosing, e.Attempts, "s")
	add("binding", e.Binding, e.Bound, "s")
	return all
}
