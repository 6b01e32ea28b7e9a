package demo

import "github.com/spazio-scheduler/spazio/testcluster/simnode/batch"

// Result is what a demo ends with; its JSON form is what --output json prints.
type Result struct {
	Config Config `json:"config"`
	// Simulated sums up the pods on the simulated nodes, Real those on this
	// machine, one entry a profile in the order of the runs.
	Simulated []Column `json:"simulated"`
	Real      []Column `json:"real,omitempty"`
	// Paces say how well this machine kept up with each run.
	Paces []Pace `json:"paces"`
	// Unlike is the second act, nil if it was left out.
	Unlike *Unlike `json:"unlike,omitempty"`
}

// add sums up the batch under a profile, this machine's pods apart.
func (r *Result) add(pace Pace, records []batch.Record) {
	profile := pace.Profile
	r.Paces = append(r.Paces, pace)
	var simulated, real []batch.Record
	for _, p := range records {
		if p.Node == realNodeName {
			real = append(real, p)
		} else {
			simulated = append(simulated, p)
		}
	}
	r.Simulated = append(r.Simulated, Column{Profile: profile, Summary: batch.Summarise(simulated)})
	if !r.Config.NoRealNode {
		r.Real = append(r.Real, Column{Profile: profile, Summary: batch.Summarise(real)})
	}
}
