package classic

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
)

// Job is what the thesis calls a job: a workload.
type Job = profile.Workload

// Sample is what a job took at a time, in cores or bytes. It is a plain value, safe
// for concurrent reading.
type Sample struct {
	At    time.Time
	Value float64
}

// ResourceModel keeps the history of jobs for one resource (listing 5.3). It is
// safe for concurrent use.
type ResourceModel struct {
	config profile.HistoryConfig
	rule   profile.Rule
	mu     sync.RWMutex
	jobs   map[Job]*entry
}

// entry is a job's history, by how much its prediction was corrected, and when it was
// last changed.
type entry struct {
	history *profile.History
	factor  float64
	updated time.Time
}

// NewCPUModel returns an empty model of CPU.
func NewCPUModel() *ResourceModel {
	return newModel(profile.CPU, profile.Seed().CPU)
}

// NewMemoryModel returns an empty model of memory.
func NewMemoryModel() *ResourceModel {
	return newModel(profile.Memory, profile.Seed().Memory)
}

func newModel(scale profile.Scale, rule profile.Rule) *ResourceModel {
	return &ResourceModel{
		config: profile.HistoryConfig{Scale: scale, HalfLife: rule.HalfLife},
		rule:   rule, jobs: map[Job]*entry{},
	}
}

// InsertJob starts a job with its history, in place of one it may have had. A
// sample that is refused leaves the model as it was.
func (m *ResourceModel) InsertJob(at time.Time, job Job, history []Sample) error {
	h, err := profile.NewHistory(m.config)
	if err != nil {
		return err
	}
	for _, s := range history {
		if err := h.Add(s.At, s.Value, 1); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jobs[job] = &entry{h, noFactor, at}
	return nil
}

// UpdateJob adds a sample to a job, which is inserted if it is new.
func (m *ResourceModel) UpdateJob(at time.Time, job Job, s Sample) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.jobs[job]
	if e == nil {
		h, err := profile.NewHistory(m.config)
		if err != nil {
			return err
		}
		e = &entry{history: h, factor: noFactor}
	}
	if err := e.history.Add(s.At, s.Value, 1); err != nil {
		return err
	}
	e.updated = at
	m.jobs[job] = e
	return nil
}

// GetJobUpdateTime is when a job was last changed.
func (m *ResourceModel) GetJobUpdateTime(job Job) (at time.Time, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if e := m.jobs[job]; e != nil {
		return e.updated, true
	}
	return time.Time{}, false
}

// GetLastUpdatedJob is the job that has waited longest for an update, which the
// thesis means by the name; of several the first by name.
func (m *ResourceModel) GetLastUpdatedJob() (job Job, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, j := range m.sorted() {
		if !ok || m.jobs[j].updated.Before(m.jobs[job].updated) {
			job, ok = j, true
		}
	}
	return job, ok
}

// GetJobPrediction is what will be enough for a job from a time on. An unknown job
// has none: no one waits for its history.
func (m *ResourceModel) GetJobPrediction(at time.Time, job Job) (value float64, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if e := m.jobs[job]; e != nil {
		return m.prediction(at, e), true
	}
	return 0, false
}

func (m *ResourceModel) prediction(at time.Time, e *entry) float64 {
	return e.factor * e.history.Target(at, m.rule)
}

// scale corrects the prediction of a job, if it is there, and reports that it is changed.
func (m *ResourceModel) scale(at time.Time, job Job, by float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.jobs[job]; e != nil {
		e.factor *= by
		e.updated = at
	}
}

// PrintModel writes a line a job: its name, when it was updated, and the
// prediction.
func (m *ResourceModel) PrintModel(w io.Writer, at time.Time) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, j := range m.sorted() {
		e := m.jobs[j]
		if _, err := fmt.Fprintf(w, "%v\t%s\t%g\n", j, e.updated.UTC().Format(time.DateTime), m.prediction(at, e)); err != nil {
			return err
		}
	}
	return nil
}

// sorted are the jobs by name.
func (m *ResourceModel) sorted() []Job {
	jobs := make([]Job, 0, len(m.jobs))
	for j := range m.jobs {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b Job) int { return strings.Compare(a.String(), b.String()) })
	return jobs
}

// Continuous is the thesis's continuous profiler (§4.6, 5.3.2) as it is written, for
// one resource: the job that has waited longest for an update is looked up, and of the
// application that it is one of, the jobs whose metric is above the mean of all by more
// than a fifth are predicted more, those below by more than a fifth less. The steps, by
// which the thesis does not say, are its author's program's: 20 % more, 10 % less.
//
// It is here to be compared with: the package's comment lists its faults, and package
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
