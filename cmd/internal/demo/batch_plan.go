package demo

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// batchTask is one pod as it is planned.
type batchTask struct {
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

// planBatch returns the pods of a configuration in order of arrival. The
// configuration alone decides.
func planBatch(c batchConfig) ([]batchTask, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	// A stream each, so that one setting doesn't change what the others draw.
	arrivals := rand.New(rand.NewPCG(c.Seed, 1))
	works := rand.New(rand.NewPCG(c.Seed, 2))
	startups := rand.New(rand.NewPCG(c.Seed, 3))
	tasks := make([]batchTask, c.Pods)
	var arrival time.Duration
	for i := range tasks {
		if c.Rate > 0 {
			arrival += time.Duration(arrivals.ExpFloat64() / c.Rate * float64(time.Second))
		}
		seconds := c.CPUSeconds
		if c.Distribution == exponential {
			seconds *= works.ExpFloat64()
		}
		tasks[i] = batchTask{
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

// distribution is the law of the pods' work.
type distribution string

// The laws of the pods' work; both have the configured mean.
const (
	equal       distribution = "equal"
	exponential distribution = "exponential"
)

// batchConfig describes a batch. A zero field takes its default.
type batchConfig struct {
	// Pods is their number; default 300.
	Pods int `json:"pods"`
	// CPUSeconds is the mean CPU time of a pod in seconds; default 5.
	CPUSeconds float64 `json:"cpuSeconds"`
	// Distribution is the law of the CPU time; default equal.
	Distribution distribution `json:"workDistribution"`
	// Memory is what a pod takes in bytes; default 64 MiB.
	Memory float64 `json:"memoryBytes"`
	// RequestCPU is what a pod requests in cores; 0 is nothing.
	RequestCPU float64 `json:"requestCPU"`
	// Rate is the mean of Poisson arrivals per virtual second; 0 submits all
	// pods at once.
	Rate float64 `json:"rate"`
	// Seed selects works, arrivals and start-up latencies.
	Seed uint64 `json:"seed"`
}

// Bounds of what one process can reasonably submit and follow.
const (
	maxPods    = 100_000
	maxSeconds = 1e6
	maxRequest = 1024
)

// finite reports whether v is a number from 0 on.
func finite(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// validate returns a *field.Error for the first field out of range.
func (c batchConfig) validate() error {
	switch {
	case c.Pods < 0 || c.Pods > maxPods:
		return refuse("Pods", c.Pods, fmt.Sprintf("at most %d", maxPods))
	case !finite(c.CPUSeconds) || c.CPUSeconds > maxSeconds:
		return refuse("CPUSeconds", c.CPUSeconds, fmt.Sprintf("at most %g", maxSeconds))
	case c.Distribution != "" && c.Distribution != equal && c.Distribution != exponential:
		return refuse("Distribution", c.Distribution, fmt.Sprintf("%s or %s", equal, exponential))
	case !finite(c.Memory):
		return refuse("Memory", c.Memory, "a number of bytes")
	case !finite(c.RequestCPU) || c.RequestCPU > maxRequest:
		return refuse("RequestCPU", c.RequestCPU, fmt.Sprintf("cores, at most %d", maxRequest))
	case !finite(c.Rate):
		return refuse("Rate", c.Rate, "pods a second, 0 for all at once")
	}
	return nil
}

// withDefaults returns the configuration with its zero fields filled.
func (c batchConfig) withDefaults() batchConfig {
	c.Pods, c.CPUSeconds = cmp.Or(c.Pods, 300), cmp.Or(c.CPUSeconds, 5)
	c.Distribution, c.Memory = cmp.Or(c.Distribution, equal), cmp.Or(c.Memory, simnode.DefaultMemory)
	return c
}

// String describes the batch in a few words.
func (c batchConfig) String() string {
	c = c.withDefaults()
	arrival := "at once"
	if c.Rate > 0 {
		arrival = fmt.Sprintf("%g a second", c.Rate)
	}
	return fmt.Sprintf("%d pods of %g CPU-seconds (%s), %s", c.Pods, c.CPUSeconds, c.Distribution, arrival)
}
