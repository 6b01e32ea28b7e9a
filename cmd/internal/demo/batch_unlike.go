package demo

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// podOwner is a workload and what its pods take on average. A plain value.
type podOwner struct {
	// Name is that of a Job, as objects of Kubernetes are named.
	Name string `json:"name"`
	// Pods is their number, at least 1.
	Pods int `json:"pods"`
	// Cores is the rate at which a pod works while nothing holds it up, above 0, and Seconds how long
	// it then runs.
	Cores   float64 `json:"cores"`
	Seconds float64 `json:"seconds"`
	// Memory is in bytes.
	Memory float64 `json:"memoryBytes"`
}

// spread is by how much at most a pod differs from its owner's average, as a share of it.
const spread = .2

// unlikeTasks returns the pods of several owners, in an order drawn by chance. What
// one pod takes of the CPU and of memory lies within a fifth of its owner's average. A killed pod is
// created anew (see batchRun.submit). The seed and the owners alone decide.
func unlikeTasks(seed uint64, owners []podOwner) []batchTask {
	rng := rand.New(rand.NewPCG(seed, 4))
	startups := rand.New(rand.NewPCG(seed, 5))
	vary := func(average float64) float64 { return average * (1 + spread*(2*rng.Float64()-1)) }
	var tasks []batchTask
	for _, o := range owners {
		for range o.Pods {
			cores := vary(o.Cores)
			tasks = append(tasks, batchTask{
				Owner: o.Name, Cores: cores, Memory: math.Round(vary(o.Memory)), Startup: simnode.StartupLatency(startups),
				Work: max(shortestWork, time.Duration(cores*o.Seconds*float64(time.Second))),
			})
		}
	}
	rng.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
	return tasks
}
