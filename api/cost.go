package api

import (
	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// fromCosts leaves the numbers of unknown costs behind: they mean nothing, and
// an estimator may hold an infinite deviation there.
func fromCosts(costs []agent.Cost) []*spaziov1.Cost {
	m := make([]*spaziov1.Cost, len(costs))
	for i, c := range costs {
		m[i] = &spaziov1.Cost{}
		if c.Known {
			m[i] = &spaziov1.Cost{Value: c.Value, Sd: c.SD, Known: true}
		}
	}
	return m
}

func toCosts(m []*spaziov1.Cost) []agent.Cost {
	if len(m) == 0 {
		return nil
	}
	costs := make([]agent.Cost, len(m))
	for i, c := range m {
		if c.GetKnown() {
			costs[i] = agent.Cost{Value: c.GetValue(), SD: c.GetSd(), Known: true}
		}
	}
	return costs
}

// checkCosts accepts no costs at all or one a channel. A known cost of nothing
// would let a node take any number of pods.
func checkCosts(m []*spaziov1.Cost, dim uint32) error {
	if n := len(m); n != 0 && n != int(dim) {
		return refuse("costs", n, ErrLength)
	}
	for i, c := range m {
		least := 0.
		if c.GetKnown() {
			least = minCost
		}
		if err := checkRange("value", c.GetValue(), least, maxCost); err != nil {
			return element("costs", i, err)
		}
		if err := checkRange("sd", c.GetSd(), 0, maxCost); err != nil {
			return element("costs", i, err)
		}
	}
	return nil
}
