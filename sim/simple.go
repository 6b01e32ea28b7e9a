package sim

import "math/rand/v2"

// Coin takes any node that fits, all alike.
type Coin struct{}

type coinPolicy struct{ plain }

// Start implements Scheduler.
func (Coin) Start(c *Cluster) (Policy, error) { return coinPolicy{plain{c.run}}, nil }

func (coinPolicy) everyNode() bool { return true }

// Score leaves the choice to chance.
func (coinPolicy) Score(scores []float64, _ []int, _ int) { clear(scores) }

// RoundRobin takes the next node in turn that fits.
type RoundRobin struct{}

type roundRobinPolicy struct {
	plain
	next int
}

// Start implements Scheduler.
func (RoundRobin) Start(c *Cluster) (Policy, error) {
	return &roundRobinPolicy{plain: plain{c.run}}, nil
}

func (*roundRobinPolicy) everyNode() bool { return true }

func (p *roundRobinPolicy) Score(scores []float64, nodes []int, _ int) {
	all := len(p.c.nodes)
	for i, n := range nodes {
		scores[i] = -float64((n - p.next + all) % all)
	}
}

func (p *roundRobinPolicy) bound(m *machine, pod int32) {
	if p.c.pods[pod].On == 0 {
		p.next = int(m.index) + 1
	}
}

// TwoChoices draws two of the nodes that fit and takes that which uses less of the
// resource that it uses most of, as metrics-server measured last (Mitzenmacher, "The power of two
// choices in randomized load balancing", 2001).
type TwoChoices struct{}

type twoChoicesPolicy struct {
	watched
	rng *rand.Rand
}

// Start implements Scheduler.
func (TwoChoices) Start(c *Cluster) (Policy, error) {
	return &twoChoicesPolicy{watch(c, true), c.Rand(0)}, nil
}

func (*twoChoicesPolicy) everyNode() bool { return true }

func (p *twoChoicesPolicy) Score(scores []float64, nodes []int, _ int) {
	clear(scores)
	first, second := p.rng.IntN(len(nodes)), 0
	if len(nodes) > 1 {
		if second = p.rng.IntN(len(nodes) - 1); second >= first {
			second++
		}
	}
	use := func(i int) float64 {
		m, seen := p.c.nodes[nodes[i]], &p.seen[nodes[i]]
		return max(seen.cpu.Mean/m.capacity.CPU, seen.memory.Mean/m.capacity.Memory)
	}
	scores[first], scores[second] = 1, 1
	switch a, b := use(first), use(second); {
	case a < b:
		scores[first] = 2
	case b < a:
		scores[second] = 2
	}
}
