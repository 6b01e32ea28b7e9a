package agent

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/energy"
)

// WhyPower is what is known of the node's power, in watts, and of what its pods take.
type WhyPower struct {
	// Quality is what the figures rest on, and Flags what to hold against them.
	Quality string `json:"quality"`
	Flags   string `json:"flags,omitempty"`
	// Watts is the power and SD its standard deviation. Projected is the part of it
	// that was not measured: that of the pods of the report beyond PodsMeasured, which
	// loaded the node on average while it was measured. It may be negative.
	Watts        float64 `json:"watts"`
	SD           float64 `json:"wattsSD"`
	Projected    float64 `json:"projectedWatts"`
	PodsMeasured float64 `json:"podsMeasured"`
	// Max is the power at full load, Idle without, and Marginal what a core more takes.
	Max      float64 `json:"maxWatts"`
	Idle     float64 `json:"idleWatts"`
	Marginal float64 `json:"marginalWattsPerCore"`
	// Busy is how many of the Cores are, and Joules what the agent has counted.
	Busy   float64 `json:"busyCores"`
	Cores  float64 `json:"cores"`
	Joules float64 `json:"joules"`
	// Pods are the newest figures of pods, by key.
	Pods []WhyPodPower `json:"pods,omitempty"`
}

// WhyPodPower is what a pod took of late.
type WhyPodPower struct {
	// Pod is the pod's key in 16 hexadecimal digits: numbers of JSON do not hold it.
	Pod   string  `json:"pod"`
	Cores float32 `json:"cores"`
	Watts float32 `json:"watts"`
}

// reportedPower is the power of a report, as measured and with what was added.
type reportedPower struct {
	known              bool // that power was measured at all
	measured, reported energy.Power
	pods               float64
}

func (p *Pipeline) rememberPower(r *Report) {
	if s := p.power; s != nil {
		p.powerTold = reportedPower{true, s.Power, r.Power, s.Pods}
	}
}

func (p *Pipeline) explainPower() *WhyPower {
	r := &p.powerTold
	if !r.known {
		return nil
	}
	w := &WhyPower{
		Quality: r.reported.Quality.String(), Flags: r.reported.Flags.String(),
		Watts: r.reported.Watts, SD: r.reported.SD, Projected: r.reported.Watts - r.measured.Watts, PodsMeasured: r.pods,
		Max: r.reported.Max, Idle: r.reported.Idle, Marginal: r.reported.Marginal,
		Busy: r.reported.Busy, Cores: r.reported.Cores, Joules: r.reported.Joules,
	}
	for _, t := range p.power.Took {
		w.Pods = append(w.Pods, WhyPodPower{fmt.Sprintf("%016x", uint64(t.Pod)), t.Cores, t.Watts})
	}
	return w
}
