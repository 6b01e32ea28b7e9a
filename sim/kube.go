package sim

import "github.com/spazio-scheduler/spazio/sim/baseline"

// Default is kube-scheduler with its default profile: LeastAllocated and
// BalancedAllocation, ties broken by chance.
type Default struct{}

// Start implements Scheduler.
func (Default) Start(c *Cluster) (Policy, error) {
	return &scoring{plain{c.run}, c.run.defaultScore}, nil
}

// MostAllocated is kube-scheduler with its default profile, except that the strategy of
// NodeResourcesFit packs: MostAllocated and BalancedAllocation.
type MostAllocated struct{}

// Start implements Scheduler.
func (MostAllocated) Start(c *Cluster) (Policy, error) {
	return &scoring{plain{c.run}, c.run.packingScore}, nil
}

// scoring is a policy that scores each node by itself.
type scoring struct {
	plain
	score func(m *machine, pod int32) float64
}

func (p *scoring) Score(scores []float64, nodes []int, pod int) {
	for i, n := range nodes {
		scores[i] = p.score(p.c.nodes[n], int32(pod))
	}
}

// defaultScore is the sum of kube-scheduler's own scores.
func (s *cluster) defaultScore(m *machine, pod int32) float64 {
	return float64(baseline.LeastAllocated(m.allocatable, m.nonzero.Plus(s.claims[pod].nonzero)) + s.balance(m, pod))
}

// packingScore is defaultScore with a strategy that packs.
func (s *cluster) packingScore(m *machine, pod int32) float64 {
	return float64(baseline.MostAllocated(m.allocatable, m.nonzero.Plus(s.claims[pod].nonzero)) + s.balance(m, pod))
}

func (s *cluster) balance(m *machine, pod int32) int64 {
	return baseline.BalancedAllocation(m.allocatable, m.requested, s.claims[pod].request)
}
