package batch

import "time"

// Outcome is a Record for other programs, as JSON. Times are virtual seconds from
// the submission of the batch's first pod; nil means that the event has not happened.
type Outcome struct {
	Name string `json:"name"`
	Node string `json:"node"`
	// Work and Startup are in seconds, Memory in bytes.
	Work    float64  `json:"work"`
	Startup float64  `json:"startup"`
	Memory  float64  `json:"memory"`
	Created *float64 `json:"created,omitempty"`
	Bound   *float64 `json:"bound,omitempty"`
	Running *float64 `json:"running,omitempty"`
	Done    *float64 `json:"done,omitempty"`
	Failed  bool     `json:"failed,omitempty"`
	// Owner, Cores and Kills are those of a batch of unlike pods.
	Owner string  `json:"owner,omitempty"`
	Cores float64 `json:"cores,omitempty"`
	Kills int     `json:"kills,omitempty"`
}

// Outcomes returns what became of each pod, in the order of the records.
func Outcomes(records []Record) []Outcome {
	var start time.Time
	for _, r := range records {
		if start.IsZero() || !r.Created.IsZero() && r.Created.Before(start) {
			start = r.Created
		}
	}
	since := func(at time.Time) *float64 {
		if at.IsZero() {
			return nil
		}
		seconds := at.Sub(start).Seconds()
		return &seconds
	}
	outcomes := make([]Outcome, len(records))
	for i, r := range records {
		outcomes[i] = Outcome{
			Name: r.Name, Node: r.Node, Work: r.Work.Seconds(), Startup: r.Startup.Seconds(), Memory: r.Memory,
			Created: since(r.Created), Bound: since(r.Bound), Running: since(r.Running), Done: since(r.Done), Failed: r.Failed,
			Owner: r.Owner, Cores: r.Cores, Kills: r.Kills,
		}
	}
	return outcomes
}
