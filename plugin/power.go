package plugin

import (
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/reserve"
)

// withFlight is a node's power as it will be with its pods in flight. Idle remains where
// no pod is there or on its way: what waking the node costs, if it sleeps.
func withFlight(p energy.Power, cores float64, vacant bool) energy.Power {
	p.Watts += p.Marginal * cores
	p.Busy += cores
	if !vacant {
		p.Idle = 0
	}
	return p
}

// thrift is how a profile ranks nodes by energy. Safe for concurrent use.
type thrift struct {
	objective energy.Objective
	sleep     bool

	mu sync.Mutex
	// fleets are what nodes are held against, by the cores of the pod.
	fleets map[float64]fleetAt
	all    []float64
}

// fleetAt is a fleet as it was at a time.
type fleetAt struct {
	reserve.Fleet
	at time.Duration
}

// fleetsMost bounds the sizes of pods that fleets are remembered for.
const fleetsMost = 256

// weighing is how good nodes are for a pod of so many cores. The zero value says
// nothing of any.
type weighing struct {
	objective energy.Objective
	sleep     bool
	pod       float64
	fleet     reserve.Fleet
}

// weigh prepares to rank the nodes for a pod of so many cores.
func (t *thrift) weigh(d *directory, at reserve.Moment, cores float64) weighing {
	w := weighing{objective: t.objective, sleep: t.sleep, pod: reserve.RoundCores(cores)}
	t.mu.Lock()
	defer t.mu.Unlock()
	f, known := t.fleets[w.pod]
	if age := at.Now - f.at; !known || age < 0 || age >= reserve.FleetAge {
		if t.fleets == nil || len(t.fleets) >= fleetsMost {
			t.fleets = make(map[float64]fleetAt)
		}
		f = fleetAt{t.fleet(d, at, &w), at.Now}
		t.fleets[w.pod] = f
	}
	w.fleet = f.Fleet
	return w
}

// fleet looks at all nodes; t.mu is held.
func (t *thrift) fleet(d *directory, at reserve.Moment, w *weighing) reserve.Fleet {
	t.all = t.all[:0]
	for _, n := range d.nodes {
		if v := n.view.Load(); v.fresh(at.Now) && v.power.Known() {
			t.all = append(t.all, w.of(&v.power))
		}
	}
	return reserve.FleetOf(t.all)
}

// of is how good a node is, its flight included, in a unit of no meaning.
func (w *weighing) of(p *energy.Power) float64 {
	return energy.Goodness(p, 0, 0, w.pod, w.objective, w.sleep)
}

// relative is how good a node is over the fleet's median, NaN where nothing is known of
// any.
func (w *weighing) relative(p *energy.Power) float64 { return w.fleet.Relative(w.of(p)) }

// ofView is relative of a node as seen in v.
func (w *weighing) ofView(v *view, at reserve.Moment) float64 {
	var power energy.Power
	if v.fresh(at.Now) {
		power = v.power
	}
	return w.relative(&power)
}
