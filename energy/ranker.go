package energy

import (
	"math"
	"slices"
	"sync"
	"time"
)

const (
	// fleetAge is how long the nodes that a node is compared with count as unchanged.
	fleetAge = time.Second
	// maxFleets bounds the sizes of pods for which a Ranker remembers the nodes.
	maxFleets = 256
	// coresSteps is how many steps a core is rounded to.
	coresSteps = 10
	// maxGain is how many times better, or worse, than the median of all nodes a node may count as,
	// because a node that misreports its power must not gain more. Real machines differ by less.
	maxGain = 4
)

// RoundCores rounds the cores that a pod is expected to keep busy to tenths, one at least: pods that
// take about the same share a Ranking and a scheduling result.
func RoundCores(cores float64) float64 { return math.Max(math.Round(cores*coresSteps), 1) / coresSteps }

// Ranker compares nodes by their [Goodness] for pods. It looks at all nodes once a second for each
// size of pods. The fields are set before the first call. Safe for concurrent use.
type Ranker struct {
	Objective Objective
	// IdleNodesPowerDown reports whether a node without pods counts as asleep.
	IdleNodesPowerDown bool

	mu       sync.Mutex
	fleets   map[float64]fleet // by the cores of the pods
	goodness []float64         // memory
}

// Ranking compares nodes for pods of one size. The zero value knows no node. It is a plain value.
type Ranking struct {
	// Cores is how many cores such a pod is expected to keep busy, rounded.
	Cores     float64
	objective Objective
	powerDown bool
	fleet     fleet
}

// fleet is what nodes are compared with as of a time. The zero value is a fleet of which nothing is
// known.
type fleet struct {
	median, mean float64
	at           time.Duration
}

// For returns the Ranking for a pod of so many cores. Where the nodes have to be looked at, each has
// to call add with all of them; see [Goodness] for its arguments. Times are since any start, the same
// for all calls.
func (r *Ranker) For(cores float64, now time.Duration, each func(add func(p *Power, pods int, inflight float64))) Ranking {
	to := Ranking{Cores: RoundCores(cores), objective: r.Objective, powerDown: r.IdleNodesPowerDown}
	r.mu.Lock()
	defer r.mu.Unlock()
	f, known := r.fleets[to.Cores]
	if age := now - f.at; !known || age < 0 || age >= fleetAge {
		if r.fleets == nil || len(r.fleets) >= maxFleets {
			r.fleets = make(map[float64]fleet)
		}
		r.goodness = r.goodness[:0]
		each(func(p *Power, pods int, inflight float64) {
			if g := to.of(p, pods, inflight); !math.IsNaN(g) {
				r.goodness = append(r.goodness, g)
			}
		})
		f = fleetOf(r.goodness)
		f.at = now
		r.fleets[to.Cores] = f
	}
	to.fleet = f
	return to
}

func (r *Ranking) of(p *Power, pods int, inflight float64) float64 {
	return goodness(p, pods, inflight, r.Cores, r.objective, r.powerDown)
}

// Relative returns a node's Goodness over the median of all nodes, within ¼ and 4. A node of unknown
// power has the mean of the others, so that it neither gains nor loses; where no node's power is known
// it is NaN.
func (r *Ranking) Relative(p *Power, pods int, inflight float64) float64 {
	switch g := r.of(p, pods, inflight); {
	case r.fleet.median == 0:
		return math.NaN()
	case math.IsNaN(g):
		return r.fleet.mean
	default:
		return r.fleet.clip(g)
	}
}

// fleetOf returns the fleet of nodes of these goodnesses, which it sorts.
func fleetOf(goodness []float64) (f fleet) {
	if len(goodness) == 0 {
		return f
	}
	slices.Sort(goodness)
	f.median = math.Sqrt(goodness[(len(goodness)-1)/2]) * math.Sqrt(goodness[len(goodness)/2])
	sum := 0.
	for _, g := range goodness {
		sum += f.clip(g)
	}
	f.mean = sum / float64(len(goodness))
	return f
}

func (f fleet) clip(goodness float64) float64 {
	return min(max(goodness/f.median, 1./maxGain), maxGain)
}
