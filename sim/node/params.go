package node

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Overcommit is what happens when pods take more memory than there is.
type Overcommit uint8

const (
	// Evict, the default, is a node with a kubelet: the kernel kills the pod with most
	// memory by its class, which restarts on the node, and the kubelet evicts pods and
	// refuses others where memory is short.
	Evict Overcommit = iota
	// Kill ends the pod with most memory, and the node takes any other.
	Kill
	// Swap slows all pods down by five.
	Swap
)

// overcommits are the texts of an Overcommit.
var overcommits = [...]string{Evict: "evict", Kill: "kill", Swap: "swap"}

func (o Overcommit) String() string {
	if int(o) >= len(overcommits) {
		return fmt.Sprintf("Overcommit(%d)", int(o))
	}
	return overcommits[o]
}

// MarshalText implements encoding.TextMarshaler.
func (o Overcommit) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler: "evict", "kill" or "swap".
func (o *Overcommit) UnmarshalText(text []byte) error {
	i := slices.Index(overcommits[:], string(text))
	if i < 0 {
		return refuse("Overcommit", string(text), "evict, kill or swap")
	}
	*o = Overcommit(i)
	return nil
}

// Params describes a node. A zero field takes its default.
type Params struct {
	// Cores is the number of cores; default 4.
	Cores int
	// Memory is the node's memory in bytes; default 4 GiB a core.
	Memory float64
	// BaseMemory is the share of Memory that the system takes; default .05.
	BaseMemory float64
	// Background is the mean load of system daemons in cores; default .03,
	// what an idle node with kubelet and runtime shows.
	Background float64
	// StartWork and StopWork are the CPU time a container start and stop take;
	// defaults 300 ms and 100 ms, as measured with containerd.
	StartWork, StopWork time.Duration
	// Teardown is the time from the end of a pod's container to that of its
	// sandbox, by which a node knows that no other container follows; default
	// 0.
	Teardown time.Duration
	// Overcommit is Evict by default.
	Overcommit Overcommit
	// Steal is the share of each core, in [0, 1), that the hypervisor gives to other
	// machines while a thread of this one holds it.
	Steal float64
	// Crowding is what pods lose to one another besides their time on the cores.
	Crowding Crowding
	// Balanced is set if the kernel spreads the threads over the cores evenly, as it
	// does with those of one group. The zero value is a kubelet's pods, each in a
	// group of small weight: the kernel hardly moves their threads, so that those
	// that wait are on some of the cores alone, which pressure shows.
	Balanced bool
	// Power is what the node takes; the zero value is not modelled.
	Power Power
	// Noise is the standard deviation added to each reading; default .01.
	Noise float64
	// Seed selects the random streams.
	Seed uint64
}

// Crowding slows pods down whose threads take turns on a core, for each finds its
// caches full of others' data: with w threads a core, w > 1, a thread does
// 1/(1 + min(Most, Each·(w − 1))) of its work in the same time on the core. The zero
// value is none, as with pods that compute in registers.
type Crowding struct{ Each, Most float64 }

// Cached is the crowding of pods that live in 1 MiB, about what a core caches for
// itself, as measured on a real kernel. Pods that walk through 16 MiB, measured there
// too, have Each .6 and Most .8.
var Cached = Crowding{Each: .085, Most: 1.3}

// Validate returns a *field.Error for the first field out of range.
func (p Params) Validate() error {
	switch {
	case p.Cores < 0 || p.Cores > 4096:
		return refuse("Cores", p.Cores, "0 (default) to 4096")
	case !finite(p.Memory):
		return refuse("Memory", p.Memory, "a finite number of bytes, at least 0")
	case !finite(p.BaseMemory) || p.BaseMemory >= 1:
		return refuse("BaseMemory", p.BaseMemory, "a share in [0,1)")
	case !finite(p.Background) || p.Background > float64(p.WithDefaults().Cores)/2:
		return refuse("Background", p.Background, "0 (default) to half the cores")
	case p.StartWork < 0:
		return refuse("StartWork", p.StartWork, "at least 0")
	case p.StopWork < 0:
		return refuse("StopWork", p.StopWork, "at least 0")
	case p.Teardown < 0:
		return refuse("Teardown", p.Teardown, "at least 0")
	case p.Overcommit > Swap:
		return refuse("Overcommit", p.Overcommit, "Evict, Kill or Swap")
	case !finite(p.Steal) || p.Steal >= 1:
		return refuse("Steal", p.Steal, "a share in [0,1)")
	case !finite(p.Crowding.Each):
		return refuse("Crowding.Each", p.Crowding.Each, "a finite number, at least 0")
	case !finite(p.Crowding.Most):
		return refuse("Crowding.Most", p.Crowding.Most, "a finite number, at least 0")
	case !finite(p.Noise) || p.Noise > 1:
		return refuse("Noise", p.Noise, "0 (default) to 1")
	}
	return p.Power.validate()
}

// finite reports whether v is a number in [0, ∞).
func finite(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// WithDefaults returns p with its zero fields replaced.
func (p Params) WithDefaults() Params {
	setDefault(&p.Cores, 4)
	setDefault(&p.Memory, float64(p.Cores)*(4<<30))
	setDefault(&p.BaseMemory, .05)
	setDefault(&p.Background, .03)
	setDefault(&p.StartWork, 300*time.Millisecond)
	setDefault(&p.StopWork, 100*time.Millisecond)
	setDefault(&p.Noise, .01)
	return p
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// The start-up latency from bind to running, image pull included: log-normal
// with p50 1 s and p99 4 s, the figures the thesis gives (§3.4.1).
const startupMedian = 1

// 2.326 is the 99th percentile of the standard normal distribution.
var startupSigma = math.Log(4) / 2.326

// StartupLatency draws the time from a pod's bind to its running state, in
// seconds.
func StartupLatency(rng *rand.Rand) float64 {
	return startupMedian * math.Exp(startupSigma*rng.NormFloat64())
}
