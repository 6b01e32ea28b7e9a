package demo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

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
// created anew (see [Run.Submit]). The seed and the owners alone decide. The error is a *field.Error.
func unlikeTasks(seed uint64, owners []podOwner) ([]batchTask, error) {
	rng := rand.New(rand.NewPCG(seed, 4))
	startups := rand.New(rand.NewPCG(seed, 5))
	vary := func(average float64) float64 { return average * (1 + spread*(2*rng.Float64()-1)) }
	var tasks []batchTask
	for _, o := range owners {
		if err := o.validate(); err != nil {
			return nil, err
		}
		for range o.Pods {
			cores := vary(o.Cores)
			tasks = append(tasks, batchTask{
				Owner: o.Name, Cores: cores, Memory: math.Round(vary(o.Memory)), Startup: simnode.StartupLatency(startups),
				Work: max(shortestWork, time.Duration(cores*o.Seconds*float64(time.Second))),
			})
		}
	}
	rng.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
	return tasks, nil
}

func (o podOwner) validate() error {
	switch problems := validation.IsDNS1123Label(o.Name); {
	case len(problems) > 0:
		return refuse("Owner.Name", o.Name, problems[0])
	case o.Pods < 1 || o.Pods > maxPods:
		return refuse("Owner.Pods", o.Pods, fmt.Sprintf("1 to %d", maxPods))
	case !(o.Cores > 0 && o.Cores <= maxRequest):
		return refuse("Owner.Cores", o.Cores, fmt.Sprintf("above 0, at most %d", maxRequest))
	case !(o.Seconds > 0 && o.Seconds <= maxSeconds):
		return refuse("Owner.Seconds", o.Seconds, fmt.Sprintf("above 0, at most %g", maxSeconds))
	case !finite(o.Memory):
		return refuse("Owner.Memory", o.Memory, "a number of bytes")
	}
	return nil
}
