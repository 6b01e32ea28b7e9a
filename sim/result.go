package sim

import (
	"math"

	"github.com/spazio-scheduler/spazio/sim/node"
)

// Result is a run. Times are in seconds from the workload's start.
type Result struct {
	// Pods is the workload as given, Records what became of it.
	Pods    []Pod
	Records []Record
	// Nodes and Cores size the cluster.
	Nodes int
	Cores float64
	// Memory is that of all nodes in bytes.
	Memory float64
	// End is when the last pod ended or its Job gave up, or the horizon.
	End float64
	// Done and Lost are what all pods with work did in core-seconds, and what of
	// it was lost by kills and evictions. Busy is what the cores did in all, from the start of
	// the warm-up to End.
	Done, Lost, Busy float64
	// Waited and Overcommitted are node-seconds in which a thread waited for a
	// core, and in which pods asked for more memory than there is.
	Waited, Overcommitted float64
	// Most is the largest number of pods that ran on a node at once, MostPerCore
	// that over the node's cores.
	Most        int
	MostPerCore float64
	// Disruptions are the evictions by a descheduler, in their order.
	Disruptions []Disruption
	// Responses are the servers' response times in seconds.
	Responses []float64
	// Unserved is how many requests came to services without a ready pod, Failed how many ended
	// without a response, with their pod or with the run.
	Unserved float64
	Failed   int
	// Energy is what the nodes took from the workload's start to End.
	Energy Energy
	// Span is all time simulated, the warm-up included.
	Span float64
}

func (s *cluster) result() Result {
	r := Result{
		Pods: s.pods, Records: s.records, Nodes: len(s.nodes),
		Cores: s.cores(), End: s.lastGaveUp, Most: s.most, MostPerCore: s.mostPerCore, Span: s.now, Disruptions: s.disruptions,
		Unserved: s.unserved(),
	}
	for _, record := range r.Records {
		r.End = math.Max(r.End, record.Done)
	}
	if s.unfinished > 0 {
		r.End = s.now - s.Warmup
	}
	for _, m := range s.nodes {
		r.Memory += m.capacity.Memory
		s.transit = m.model.AdvanceTo(s.transit[:0], s.now)
		t := m.model.Totals()
		r.Done, r.Lost, r.Busy = r.Done+t.Pods, r.Lost+t.Lost, r.Busy+t.Busy
		r.Waited, r.Overcommitted = r.Waited+t.Waited, r.Overcommitted+t.Overcommitted
		r.Failed += t.Failed
		r.Energy = r.Energy.with(t)
		r.Responses = m.model.Responses(r.Responses)
	}
	for i := range s.pods {
		if n := s.records[i].Node; n >= 0 && s.pods[i].isServer() {
			r.Failed += s.nodes[n].model.Requests(node.PodID(i))
		}
	}
	r.Energy = r.Energy.minus(s.before)
	return r
}
