package demo

import (
	"math/rand/v2"
	"time"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// batchTask is one pod as it is planned.
type batchTask struct {
	Work    time.Duration
	Startup time.Duration
	Memory  float64
	// Owner is the workload that it is of, empty for none, and Cores the rate at which it works while
	// nothing holds it up; 0 means 1.
	Owner string
	Cores float64
}

// planBatch returns the pods of a valid configuration, which alone decides.
func planBatch(c demoConfig) []batchTask {
	startups := rand.New(rand.NewPCG(c.Seed, 3))
	tasks := make([]batchTask, c.Pods)
	for i := range tasks {
		tasks[i] = batchTask{
			Work:    max(shortestWork, time.Duration(c.CPUSeconds*float64(time.Second))),
			Startup: simnode.StartupLatency(startups),
			Memory:  simnode.DefaultMemory,
		}
	}
	return tasks
}

// A pod of no work at all has no slowdown to speak of.
const shortestWork = time.Millisecond
