package classic

import (
	"time"
)

// Continuous is the thesis's continuous profiler (§4.6, 5.3.2) as it is written, for
// one resource: the job that has waited longest for an update is looked up, and of the
// application that it is one of, the jobs whose metric is above the mean of all by more
// than a fifth are predicted more, those below by more than a fifth less. The steps, by
// which the thesis does not say, are its author's program's: 20 % more, 10 % less.
//
// It is here to be compared with: docs/profiles.md says what it does wrong, and package
// continuous what is done instead. It is safe for concurrent use, as its model is.
type Continuous struct {
	model *ResourceModel
	// application returns the jobs of the application that a job is one of.
	application func(Job) []Job
}

// NewContinuous corrects the predictions of a model. application names the jobs that
// work together with one, itself among them, as GetJobConnections of the thesis does
// (listing 5.2).
func NewContinuous(m *ResourceModel, application func(Job) []Job) *Continuous {
	return &Continuous{m, application}
}

// The thesis's band (§5.3.2), and the steps.
const (
	band     = .2
	more     = 1.2
	less     = .9
	noFactor = 1.
)

// Update is an iteration (listing 5.2) at a time, of what a metric of each job showed
// since the last, and returns the jobs it looked at: none of an empty model. Jobs
// without a value are left out of the mean.
func (c *Continuous) Update(at time.Time, metric map[Job][]float64) []Job {
	job, ok := c.model.GetLastUpdatedJob()
	if !ok {
		return nil
	}
	jobs := c.application(job)
	averages, all := make([]float64, len(jobs)), 0.
	known := 0
	for i, j := range jobs {
		if averages[i], ok = mean(metric[j]); ok {
			all += averages[i]
			known++
		}
	}
	for i, j := range jobs {
		factor := noFactor
		if len(metric[j]) > 0 {
			factor = step(averages[i], all/float64(known))
		}
		c.model.scale(at, j, factor)
	}
	c.model.scale(at, job, noFactor) // a job in no application waits no longer either
	return jobs
}

// step is what a prediction is multiplied by.
func step(average, all float64) float64 {
	switch {
	case average > (1+band)*all:
		return more
	case average < (1-band)*all:
		return less
	}
	return noFactor
}

func mean(values []float64) (mean float64, ok bool) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean, len(values) > 0
}
