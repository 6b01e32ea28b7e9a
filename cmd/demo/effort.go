package demo

import "k8s.io/component-base/metrics/legacyregistry"

// effort is what a batch took: the scheduler's attempts, and the CPU time of the demo's process, the
// pods of this machine excepted.
type effort struct {
	// Attempts counts them, Bound those of them that bound a pod.
	Attempts float64 `json:"attempts"`
	Bound    float64 `json:"bound"`
	// Choosing is the seconds of choosing a node, filtering and scoring, in all,
	// Binding those of the attempts that bound, from their start until the API
	// server had the bind.
	Choosing float64 `json:"choosing"`
	Binding  float64 `json:"binding"`
	// CPU is in seconds.
	CPU float64 `json:"cpu"`
}

// spent reads the metrics of the scheduler and of its process, this one: what
// they have spent so far.
func spent() (effort, error) {
	var e effort
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		return e, err
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			h := m.GetHistogram()
			switch family.GetName() {
			case "process_cpu_seconds_total":
				e.CPU = m.GetCounter().GetValue()
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
	return e, nil
}

func (e effort) since(before effort) effort {
	return effort{
		Attempts: e.Attempts - before.Attempts, Bound: e.Bound - before.Bound,
		Choosing: e.Choosing - before.Choosing, Binding: e.Binding - before.Binding,
		CPU: e.CPU - before.CPU,
	}
}
