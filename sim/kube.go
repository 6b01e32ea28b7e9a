package sim

import "github.com/spazio-scheduler/spazio/sim/baseline"

// Default is kube-scheduler with its default profile: LeastAllocated and
// BalancedAllocation, ties broken by chance.
type Default struct{}

type defaultPolicy struct{ plain }

// Start implements Scheduler.
func (Default) Start(c *Cluster) (Policy, error) { return defaultPolicy{plain{c.run}}, nil }

func (p defaultPolicy) Score(scores []float64, nodes []int, pod int) {
	for i, n := range nodes {
		scores[i] = p.c.defaultScore(p.c.nodes[n], int32(pod))
	}
}

// defaultScore is the sum of kube-scheduler's own scores.
func (s *cluster) defaultScore(m *machine, pod int32) float64 {
	c := &s.claims[pod]
	return float64(
		baseline.LeastAllocated(m.allocatable, m.nonzero.Plus(c.nonzero)) +
			baseline.BalancedAllocation(m.allocatable, m.requested, c.request))
}
