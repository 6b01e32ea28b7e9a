package batch

import (
	"math/rand/v2"
	"time"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// Task is one pod as it is planned.
type Task struct {
	// Arrival is when it is submitted, from the start of the batch.
	Arrival time.Duration
	Work    time.Duration
	Startup time.Duration
	Memory  float64
	// RequestCPU is what it requests in cores.
	RequestCPU float64
	// Owner is the workload that it is of, empty for none, and Cores the rate at which it works while
	// nothing holds it up; 0 means 1.
	Owner string
	Cores float64
}

// Plan returns the pods of a configuration in order of arrival. The
// configuration alone decides.
func Plan(c Config) ([]Task, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.WithDefaults()
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

			RequestCPU: c.RequestCPU,
		}
	}
	return tasks, nil
}

// A pod of no work at all has no slowdown to speak of.
const shortestWork = time.Millisecond
