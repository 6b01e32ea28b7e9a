package workload

import (
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
)

// Requests says what pods declare.
type Requests string

// What pods declare: nothing, three times the CPU that they use, a third of it, or one
// of these by chance. Right is each pod's true need of CPU and memory, which a perfect
// owner would write; P98 is the 98th percentile of the needs of its owner's pods, as a
// recommender has it. Mean is the mean of the needs of all pods, which a LimitRange has pods
// request that request nothing.
const (
	RequestNone  Requests = "none"
	requestOver  Requests = "over"
	requestUnder Requests = "under"
	RequestMixed Requests = "mixed"
	RequestRight Requests = "right"
	RequestP98   Requests = "p98"
	RequestMean  Requests = "mean"
	// RequestServers has servers alone declare, a core each.
	RequestServers Requests = "servers"
	// RequestPlanned leaves what the pods of a trace declare.
	RequestPlanned Requests = "planned"
)

// bestEffort is the weight of a pod that declares nothing beside others that do:
// 2 shares where a core is 1024.
const bestEffort = 2. / 1024

// percentile is a recommender's.
const percentile = .98

// serverRequest is what an owner writes who knows its server's peaks, in cores.
const serverRequest = 1

// Declare returns the pods with what r says for requests, no request above most. Servers
// declare for RequestServers, those of services for RequestRight and RequestP98, too. Where some declare, those that do not have next to no
// weight on a full node, as Kubernetes gives them.
func Declare(seed uint64, pods []sim.Pod, r Requests, most baseline.Resources) ([]sim.Pod, error) {
	needs, mean := percentiles(pods), meanNeed(pods)
	choices := newStreams(seed).choices
	kinds := []Requests{RequestNone, requestOver, requestUnder}
	out := make([]sim.Pod, len(pods))
	for i, p := range pods {
		if p.Server.Rate > 0 {
			if placed := p.On == 0 && (r == RequestRight || r == RequestP98); placed || r == RequestServers {
				p.Request.CPU = serverRequest
			}
			out[i] = p
			continue
		}
		kind := r
		if r == RequestMixed {
			kind = kinds[choices.IntN(len(kinds))]
		}
		used := p.Need().CPU
		switch kind {
		case RequestNone:
			if r == RequestMixed {
				p.Weight = bestEffort
			}
		case requestOver:
			p.Request.CPU = 3 * used
		case requestUnder:
			p.Request.CPU = math.Round(used/3*1000) / 1000
		case RequestServers:
			p.Weight = bestEffort
		case RequestRight:
			p.Request, p.Weight = p.Need(), 0
		case RequestP98:
			p.Request, p.Weight = needs[p.Workload], 0
		case RequestPlanned:
		case RequestMean:
			setDefault(&p.Request.CPU, mean.CPU)
			setDefault(&p.Request.Memory, mean.Memory)
			p.Weight = 0
		default:
			return nil, refuse("requests", r, "none, over, under, mixed, right, p98, mean, servers or planned")
		}
		p.Request = baseline.Resources{CPU: min(p.Request.CPU, most.CPU), Memory: min(p.Request.Memory, most.Memory)}
		out[i] = p
	}
	return out, nil
}

// meanNeed is the mean of the pods' needs, servers left out, in whole thousandths of a core and
// whole bytes, the next above.
func meanNeed(pods []sim.Pod) baseline.Resources {
	var sum baseline.Resources
	n := 0.
	for _, p := range pods {
		if p.Server.Rate == 0 {
			sum = sum.Plus(p.Need())
			n++
		}
	}
	if n == 0 {
		return sum
	}
	return baseline.Resources{CPU: math.Ceil(1000*sum.CPU/n) / 1000, Memory: math.Ceil(sum.Memory / n)}
}

// percentiles are those of the needs of each owner's pods, by nearest rank.
func percentiles(pods []sim.Pod) map[string]baseline.Resources {
	cpu, memory := map[string][]float64{}, map[string][]float64{}
	for _, p := range pods {
		if p.Server.Rate == 0 {
			n := p.Need()
			cpu[p.Workload], memory[p.Workload] = append(cpu[p.Workload], n.CPU), append(memory[p.Workload], n.Memory)
		}
	}
	all := map[string]baseline.Resources{}
	for owner := range cpu {
		all[owner] = baseline.Resources{CPU: ranked(cpu[owner]), Memory: ranked(memory[owner])}
	}
	return all
}

func ranked(values []float64) float64 {
	slices.Sort(values)
	return values[int(math.Ceil(percentile*float64(len(values))))-1]
}
