package main

import (
	"slices"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/sim/report/figures/measured"
)

// clock counts from a run's start and keeps what happened when. It is safe for
// concurrent use.
type clock struct {
	start time.Time

	mu    sync.Mutex
	jobs  []measured.Job
	marks []measured.Mark
}

func (c *clock) since(at time.Time) float64 { return at.Sub(c.start).Seconds() }

func (c *clock) mark(name string, pod int, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.marks = append(c.marks, measured.Mark{Name: name, Pod: pod, At: c.since(at)})
}

func (c *clock) job(j measured.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jobs = append(c.jobs, j)
}

// sorted are the marks in order of time.
func (c *clock) sorted() []measured.Mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortStableFunc(c.marks, func(a, b measured.Mark) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	return slices.Clone(c.marks)
}
