package demo

import "github.com/spazio-scheduler/spazio/testcluster/simnode/batch"

// Result is what a demo ends with; its JSON form is what --output json prints.
type Result struct {
	Config Config `json:"config"`
	// Simulated sums up the pods, one entry a profile in the order of the runs.
	Simulated []Column `json:"simulated"`
	// Paces say how well this machine kept up with each run.
	Paces []Pace `json:"paces"`
	// Unlike is the second act, nil if it was left out.
	Unlike *Unlike `json:"unlike,omitempty"`
}

// add sums up the batch under a profile.
func (r *Result) add(pace Pace, records []batch.Record) {
	r.Paces = append(r.Paces, pace)
	r.Simulated = append(r.Simulated, Column{Profile: pace.Profile, Summary: batch.Summarise(records)})
}
