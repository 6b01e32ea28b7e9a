package aggregate

import (
	"math"
	"time"
)

// sequential is G ← ½G + ½Gᵢ for each arriving model: it depends on the order,
// and forgets nothing but by newer arrivals.
type sequential struct {
	total  []float64
	weight float64
}

func (s *sequential) enter(n *node) {
	if n.weight == 0 {
		return
	}
	if s.weight == 0 {
		copy(s.total, n.moments)
		s.weight = n.weight
		return
	}
	for i, v := range n.moments {
		s.total[i] = s.total[i]/2 + v/2
	}
	s.weight = s.weight/2 + n.weight/2
}

func (s *sequential) leave(*node) {}

func (s *sequential) merged(time.Time, []*node) common {
	// Any node weighs a half when it is the last to arrive.
	return common{moments: s.total, samples: s.weight, kept: 1, reach: math.Inf(1)}
}
