package main

import (
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/spazio-scheduler/spazio/sim"
)

// effort is what a scheduler spent on its attempts: how many there were and how
// many of them bound a pod, the seconds of choosing a node in all, and those of
// the ones that bound from their start until the API server had the bind.
type effort struct {
	Attempts, Bound   float64
	Choosing, Binding float64
}

// spent reads the metrics of the scheduler in this process.
func spent() effort {
	var e effort
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		return e
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			h := m.GetHistogram()
			switch family.GetName() {
			case "scheduler_scheduling_algorithm_duration_seconds":
				e.Choosing += h.GetSampleSum()
			case "scheduler_scheduling_attempt_duration_seconds":
				e.Attempts += float64(h.GetSampleCount())
				for _, l := range m.GetLabel() {
					if l.GetName() == "result" && l.GetValue() == "scheduled" {
						e.Bound += float64(h.GetSampleCount())
						e.Binding += h.GetSampleSum()
					}
				}
			}
		}
	}
	return e
}

func (e effort) since(before effort) effort {
	return effort{
		Attempts: e.Attempts - before.Attempts, Bound: e.Bound - before.Bound,
		Choosing: e.Choosing - before.Choosing, Binding: e.Binding - before.Binding,
	}
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
