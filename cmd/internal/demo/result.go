package demo

// demoResult is what a demo ends with; its JSON form is what --output json prints.
type demoResult struct {
	Config demoConfig `json:"config"`
	// Simulated sums up the pods, one entry a profile in the order of the runs.
	Simulated []profileColumn `json:"simulated"`
	// Paces say how well this machine kept up with each run.
	Paces []runPace `json:"paces"`
	// Unlike is the second act, nil if it was left out.
	Unlike *unlikeResult `json:"unlike,omitempty"`
}

// add sums up the batch under a profile.
func (r *demoResult) add(pace runPace, records []podRecord) {
	r.Paces = append(r.Paces, pace)
	r.Simulated = append(r.Simulated, profileColumn{Profile: pace.Profile, batchSummary: summarise(records)})
}
