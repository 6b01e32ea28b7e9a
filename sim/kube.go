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

// MostAllocated is kube-scheduler with its default profile, but for NodeResourcesFit's
// strategy, which packs: MostAllocated and BalancedAllocation.
type MostAllocated struct{}

type packingPolicy struct{ plain }

// Start implements Scheduler.
func (MostAllocated) Start(c *Cluster) (Policy, error) { return packingPolicy{plain{c.run}}, nil }

func (p packingPolicy) Score(scores []float64, nodes []int, pod int) {
	c := &p.c.claims[pod]
	for i, n := range nodes {
		m := p.c.nodes[n]
		scores[i] = float64(
			baseline.MostAllocated(m.allocatable, m.nonzero.Plus(c.nonzero)) +
				baseline.BalancedAllocation(m.allocatable, m.requested, c.request))
	}
}

// defaultScore is the sum of kube-scheduler's own scores.
func (s *cluster) defaultScore(m *machine, pod int32) float64 {
	c := &s.claims[pod]
	return float64(
		baseline.LeastAllocated(m.allocatable, m.nonzero.Plus(c.nonzero)) +
			baseline.BalancedAllocation(m.allocatable, m.requested, c.request))
}
