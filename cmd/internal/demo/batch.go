package demo

import (
	"math/rand/v2"
	"time"

	"github.com/spazio-scheduler/spazio/simnode"
)

// Task is one pod of a batch as it is planned.
type Task struct {
	// Arrival is when it is submitted, from the start of the batch.
	Arrival time.Duration
	Work    time.Duration
	Startup time.Duration
	Memory  float64 // bytes
}

// Batch plans the pods of a configuration in order of arrival. It depends on the
// configuration alone, so every profile is given the same work.
func Batch(c Config) []Task {
	c = c.withDefaults()
	// A stream each, so that one setting doesn't change what the others draw.
	arrivals := rand.New(rand.NewPCG(c.Seed, 1))
	works := rand.New(rand.NewPCG(c.Seed, 2))
	startups := rand.New(rand.NewPCG(c.Seed, 3))
	tasks := make([]Task, c.Pods)
	var arrival time.Duration
	for i := range tasks {
		if c.Rate > 0 {
			arrival += time.Duration(arrivals.ExpFloat64() / c.Rate * float64(time.Second))
		}
		seconds := c.CPUSeconds
		if c.Distribution == Exponential {
			seconds *= works.ExpFloat64()
		}
		tasks[i] = Task{
			Arrival: arrival,
			Work:    max(shortestWork, time.Duration(seconds*float64(time.Second))),
			Startup: simnode.StartupLatency(startups),
			Memory:  c.Memory,
		}
	}
	return tasks
}

// A pod of no work at all has no slowdown to speak of.
const shortestWork = time.Millisecond
