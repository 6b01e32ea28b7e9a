package energy

import (
	"math"
	"strings"
)

// Quality describes what a power rests on. Powers of different quality do not compare.
type Quality uint8

const (
	// None: no power is known.
	None Quality = iota
	// Modelled by utilisation, from nameplate figures.
	Modelled
	// Platform: measured for the whole machine, at its supply.
	Platform
	// Shared: a guest's part of what its host has measured.
	Shared
	// Measured by the processor's own counters.
	Measured
)

var qualities = [...]string{"none", "modelled", "platform", "shared", "measured"}

// IsInstrument reports whether the power is read from an instrument of the machine, which
// never shows 0 while the machine runs. A model may, and so may a guest's share.
func (q Quality) IsInstrument() bool { return q == Measured || q == Platform }

// String returns the quality's name.
func (q Quality) String() string { return nameOf(qualities[:], q) }

// Flags say what to hold against a power.
type Flags uint32

const (
	// Partial: a zone was missing.
	Partial Flags = 1 << iota
	// Extrapolated: the curve was read where no reading was near.
	Extrapolated
	// RatioSplit: pods were charged by the machine's utilisation ([Rest]).
	RatioSplit
	// Gap: readings were lost on the way here.
	Gap
	// Projected: the load of pods that were seen but not measured yet is added.
	Projected
)

var flagNames = [...]string{"partial", "extrapolated", "ratio-split", "gap", "projected"}

// String returns the names of the flags that are set, with commas.
func (f Flags) String() string {
	var set []string
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	if f >= 1<<len(flagNames) {
		set = append(set, "unknown")
	}
	return strings.Join(set, ",")
}

// Bounds of a Power that is sent.
const (
	MaxWatts  = maxPower
	MaxCores  = 4096
	MaxJoules = 1e15
)

// Power is a node's power at a moment, a plain value. Where Quality is None the rest
// means nothing.
type Power struct {
	Quality Quality
	// Watts is what it takes, SD its standard deviation, Max what it takes at full
	// load and Idle without.
	Watts, SD, Max, Idle float64
	// Marginal is the watts that a busy core more would take, at Busy.
	Marginal float64
	// Busy is how many of its Cores are.
	Busy, Cores float64
	// Joules is what it has taken since its agent began.
	Joules float64
	Flags  Flags
}

// Validate returns a *field.Error for the first field that is out of range. A Quality
// that is not known is none of them: it counts as None.
func (p *Power) Validate() error {
	for _, f := range [...]struct {
		name        string
		value, most float64
	}{
		{"Watts", p.Watts, MaxWatts}, {"SD", p.SD, MaxWatts}, {"Max", p.Max, MaxWatts}, {"Idle", p.Idle, MaxWatts},
		{"Marginal", p.Marginal, MaxWatts}, {"Busy", p.Busy, MaxCores}, {"Cores", p.Cores, MaxCores}, {"Joules", p.Joules, MaxJoules},
	} {
		if err := amount(f.name, f.value, f.most); err != nil {
			return err
		}
	}
	return nil
}

// Known reports whether the power rests on something.
func (p *Power) Known() bool { return p.Quality > None && int(p.Quality) < len(qualities) }

// Objective describes what makes a node good.
type Objective uint8

const (
	// Marginal prefers the node that the pod raises the power of least.
	Marginal Objective = iota
	// Remaining prefers the node with most watts left to its maximum, as ExEC, the
	// scheduler of van Kemenade's thesis, does. On a fleet of unlike nodes it raises
	// energy: the large, wasteful ones have most left.
	Remaining
)

var objectives = [...]string{"Marginal", "Remaining"}

// String returns the objective's name.
func (o Objective) String() string { return nameOf(objectives[:], o) }

const (
	// A node counts as full where a pod would load it beyond crowded times its cores and
	// finds less than leastRoom of the cores that it takes: a full node must not look
	// free because its power can't rise. The load alone would not do: the second in which
	// a container starts or stops shows some tenths of a core of work (docs/algorithm.md)
	// that the pod will not find there. docs/energy.md has what that comes to.
	crowded   = 1.05
	leastRoom = .4
	// leastWatts keeps a goodness positive and finite.
	leastWatts = 1e-3
)

// goodness returns how good a node of power n is for a pod of so many cores, where pods
// run and inflight cores of pods are on their way that n does not show yet. It is
// positive, and only its ratios between nodes mean something. It is NaN where n's
// quality is None. With sleep a node without pods counts as asleep, and its idle power
// as what waking it costs.
func goodness(n *Power, pods int, inflight, pod float64, o Objective, sleep bool) float64 {
	if !n.Known() {
		return math.NaN()
	}
	if o == Remaining {
		return max(n.Max-n.Watts-n.Marginal*(inflight+pod), 0) + leastWatts
	}
	if load := n.Busy + inflight; load+pod > crowded*n.Cores && n.Cores-load < leastRoom*pod {
		return leastWatts / (1 + n.Busy + inflight)
	}
	added := n.Marginal * pod
	if sleep && pods == 0 && inflight == 0 {
		added += n.Idle
	}
	return 1 / max(added, leastWatts)
}

// hypotenuse is math.Hypot without its care for magnitudes that do not occur.
func hypotenuse(a, b float64) float64 { return math.Sqrt(a*a + b*b) }

// nameOf returns the name of the constant i, "unknown" if there are fewer.
func nameOf[T ~uint8](names []string, i T) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "unknown"
}
