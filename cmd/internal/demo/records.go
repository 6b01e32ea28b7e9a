package demo

import (
	"time"

	"github.com/spazio-scheduler/spazio/simnode/batch"
)

// BatchRecord is what became of one batch, pod by pod.
type BatchRecord struct {
	Profile string      `json:"profile"`
	Pods    []PodRecord `json:"pods"`
	// Scheduler is what the scheduler spent on it.
	Scheduler Effort `json:"scheduler"`
}

// PodRecord is what became of one pod. Times are virtual seconds from the
// submission of the batch's first pod; nil says that it has not happened.
type PodRecord struct {
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
}

// newBatchRecord puts a batch in order of its plan.
func newBatchRecord(profile string, records []batch.Record, spent Effort) BatchRecord {
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
	b := BatchRecord{Profile: profile, Scheduler: spent}
	for _, r := range records {
		b.Pods = append(b.Pods, PodRecord{
			Name: r.Name, Node: r.Node, Work: r.Work.Seconds(), Startup: r.Startup.Seconds(), Memory: r.Memory,
			Created: since(r.Created), Bound: since(r.Bound), Running: since(r.Running), Done: since(r.Done), Failed: r.Failed,
		})
	}
	return b
}
