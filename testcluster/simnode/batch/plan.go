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
			arrival += c.gap(arrival, arrivals.ExpFloat64())
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

// gap is the time from one arrival to the next: in it as many are expected as the draw, of a law
// of mean 1, says.
func (c *Config) gap(arrival time.Duration, draw float64) time.Duration {
	at, rate, seconds := arrival.Seconds(), c.Rate, 0.
	if c.Burst > 0 {
		if before := c.BurstAfter - at; before > 0 && draw > before*rate {
			draw -= before * rate
			at, seconds = c.BurstAfter, before
		}
		if at >= c.BurstAfter {
			rate = c.Burst
		}
	}
	return time.Duration((seconds + draw/rate) * float64(time.Second))
}

// A pod of no work at all has no slowdown to speak of.
const shortestWork = time.Millisecond
