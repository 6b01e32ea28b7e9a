package sim

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/placement"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// WithEnergy returns the scheduler with energy of a weight, by an objective, in its
// ranking.
func (o Spazio) WithEnergy(weight float64, objective energy.Objective) Spazio {
	o.Ranking.Energy, o.EnergyObjective = weight, objective
	return o
}

// energyRanker is the part of the scheduler that ranks nodes by energy, and of the agents that
// measures it.
type energyRanker struct {
	energy.Ranker
	meters []*joulemeter // by node, nil where no power is
	book   *energy.Book
}

func newEnergyRanker(nodes []*machine, o Spazio) (*energyRanker, error) {
	t := &energyRanker{meters: make([]*joulemeter, len(nodes)), book: energy.NewBook()}
	t.Objective, t.IdleNodesPowerDown = o.EnergyObjective, o.IdleNodesPowerDown
	var err error
	for i, m := range nodes {
		if p := m.model.Params(); p.Power.Modelled() {
			if t.meters[i], err = newJoulemeter(p); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// The agents' side.

// startMeters has the agents read, one after the other in a second.
func (s *spazio) startMeters() {
	for i := range s.energy.meters {
		if s.energy.meters[i] != nil {
			s.c.agenda.add(event{at: meterPeriod * float64(i) / float64(len(s.energy.meters)), kind: metered, node: int32(i)})
		}
	}
}

// meter has a node's agent read its node's energy.
func (s *spazio) meter(m *machine) {
	s.c.advance(m)
	a, j := &s.agents[m.index], s.energy.meters[m.index]
	power, news, err := j.read(s.c.now, m.model.ReadEnergy())
	s.c.fail(err)
	if news {
		s.c.fail(a.pipeline.Power(at(s.c.now), power))
	}
	if j.reads%meterPerPods == 0 {
		took := j.takePods(s.c.now, a.pods, func(key reserve.PodKey) (float64, bool) {
			u, ok := m.model.Usage(node.PodID(podOf(key)))
			return u.CPU, ok
		})
		s.c.fail(a.pipeline.PodPower(at(s.c.now), took))
	}
	s.c.agenda.add(event{at: s.c.now + meterPeriod, kind: metered, node: m.index})
}

// The scheduler's side.

// consumed takes in what the pods of a report took.
func (s *spazio) consumed(r *report) {
	for i, cores := range r.cores {
		if cores > 0 {
			s.c.fail(s.energy.book.Observe(s.workloadOf(podOf(r.listed[i])), energy.Observation{
				Pod: uint64(r.listed[i]), At: at(s.c.now), Cores: float64(cores),
			}))
		}
	}
}

// workloadOf is a pod's; one without a name is its own.
func (s *spazio) workloadOf(pod int32) string {
	if name := s.c.pods[pod].Workload; name != "" {
		return name
	}
	return fmt.Sprintf("pod-%d", pod)
}

// withCores is a demand with the cores that the pod is expected to keep busy, where
// energy counts.
func (s *spazio) withCores(d reserve.Demand, pod int32) reserve.Demand {
	if s.energy != nil {
		d.Cores = s.cores(pod)
	}
	return d
}

// cores is how many a pod is expected to keep busy.
func (s *spazio) cores(pod int32) float64 {
	if k := s.classOf(pod); k != placement.Typical {
		if cores := s.classes[k].asks.Cores; cores > 0 {
			return cores
		}
	}
	return s.energy.book.Estimate(s.workloadOf(pod)).Cores
}

// energyScore returns a function that rates a node for a pod in energy.
func (s *spazio) energyScore(pod int32) func(*spazioAgent) float64 {
	if s.energy == nil {
		return func(*spazioAgent) float64 { return math.NaN() }
	}
	ranking := s.energy.For(s.cores(pod), s.now(), func(add func(*energy.Power, int, float64)) {
		for i := range s.agents {
			a := &s.agents[i]
			add(s.powerOf(a), a.reported.Pods, a.view.Flight.Cores)
		}
	})
	return func(a *spazioAgent) float64 {
		return ranking.Relative(s.powerOf(a), a.reported.Pods, a.view.Flight.Cores)
	}
}

// powerOf is what a node reported last, unknown if that is too old.
func (s *spazio) powerOf(a *spazioAgent) *energy.Power {
	if !a.validity.Fresh(s.now()) {
		return &energy.Power{}
	}
	return &a.power
}
