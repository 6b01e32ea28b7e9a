package sim

import (
	"gonum.org/v1/gonum/floats"

	"github.com/spazio-scheduler/spazio/sim/node"
)

// Energy is what nodes have taken in joules.
type Energy struct {
	// Joules is all, Idle what of it is taken without load, and Empty what was taken by
	// nodes that had no pod.
	Joules, Idle, Empty float64
}

// dynamic is what load has caused.
func (e Energy) dynamic() float64 { return e.Joules - e.Idle }

// ifEmptySlept is what it were if nodes without pods had taken nothing.
func (e Energy) ifEmptySlept() float64 { return e.Joules - e.Empty }

func (e Energy) minus(f Energy) Energy {
	return Energy{e.Joules - f.Joules, e.Idle - f.Idle, e.Empty - f.Empty}
}

// with adds a node's.
func (e Energy) with(t node.Totals) Energy {
	return Energy{e.Joules + t.Joules, e.Idle + t.IdleJoules, e.Empty + t.EmptyJoules}
}

// powered reports whether the power of any node is modelled.
func (s *cluster) powered() bool {
	for _, m := range s.nodes {
		if m.model.Params().Power.Modelled() {
			return true
		}
	}
	return false
}

// open notes what the nodes have taken when the workload begins.
func (s *cluster) open() {
	for _, m := range s.nodes {
		s.advance(m)
		s.before = s.before.with(m.model.Totals())
	}
}

// energy adds the figures of what was taken, where pods that ended sojourned for so long.
func (m *metrics) energy(e Energy, ended int, sojourn []float64) {
	const kilo = 1e3
	m.add("energy", e.Joules/kilo, "kJ")
	m.add("energy_dynamic", e.dynamic()/kilo, "kJ")
	m.add("energy_if_empty_slept", e.ifEmptySlept()/kilo, "kJ")
	if ended > 0 {
		m.add("energy_pod", e.Joules/float64(ended), "J")
	}
	if len(sojourn) > 0 {
		m.add("edp", e.Joules/kilo*floats.Sum(sojourn)/float64(len(sojourn)), "kJ s")
	}
}
