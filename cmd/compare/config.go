package compare

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/compare/social"
	"github.com/spazio-scheduler/spazio/field"
)

// Config says what is compared by what; DefaultConfig has the defaults. It is a plain value.
type Config struct {
	// Schedulers are the schedulerNames of the pods. The first is what the others are compared
	// with. A name may come again, which compares a scheduler with itself.
	Schedulers []string
	// Runs of each.
	Runs int
	// Duration is how long a run is measured.
	Duration time.Duration
	// WarmUp is how long the load goes on before.
	WarmUp time.Duration
	// Rate is requests a second.
	Rate float64
	// Connections is the most to each replica of the front.
	Connections int
	// Phases is what is asked; none mean mixed.
	Phases social.Phases
	// Kill pods are killed every KillEvery.
	Kill      int
	KillEvery time.Duration
	// Replicas of each tier.
	Replicas int
	// Slices of this machine that are nodes; 0 is two, or one on a machine of one CPU.
	Slices int
	// Topology is what the slices are.
	Topology topology
	// Seed selects the pods that are killed, the same for each scheduler.
	Seed uint64
	// MostLate is the share of requests that may be sent late; a run with more is void.
	MostLate float64
	// Placing is how long pods may take until all run.
	Placing time.Duration
}

// topology is how the slices are spread over machines.
type topology string

const (
	// separate are machines of their own, each with counters of energy.
	separate topology = "separate"
	// oneHost are virtual machines of one host, which has the counters and shares them by
	// spazio-host-energy.
	oneHost topology = "one-host"
)

// DefaultConfig returns the configuration of a comparison of which nothing else is said.
func DefaultConfig() Config {
	return Config{
		Schedulers: []string{"default-scheduler", "spazio", "spazio-energy"}, Runs: 5, Duration: time.Minute, WarmUp: 5 * time.Second,
		Rate: 100, Connections: 64, Phases: social.Phases{{Kind: social.Mix}}, Kill: 3, KillEvery: 20 * time.Second, Replicas: 3,
		Topology: separate, MostLate: .01, Placing: 3 * time.Minute,
	}
}

// Sliced returns the configuration with its slices on a machine of so many CPUs.
func (c Config) Sliced(cpus int) Config {
	c.Slices = cmp.Or(c.Slices, min(2, max(cpus, 1)))
	return c
}

// bounds of a run: beyond them something is a slip of the pen.
const (
	mostRuns     = 1000
	mostLength   = 24 * time.Hour
	mostReplicas = 100
)

// Validate names the first field that is out of range, of a configuration with its
// slices on a machine of so many CPUs.
func (c Config) Validate(cpus int) error {
	for _, s := range c.Schedulers {
		if s == "" || strings.ContainsAny(s, " /\t\n") {
			return refuse("Schedulers", s, "schedulerNames of pods")
		}
	}
	pods := c.Replicas * len(social.Tiers())
	switch {
	case len(c.Schedulers) == 0:
		return refuse("Schedulers", c.Schedulers, "one at least")
	case c.Runs < 1 || c.Runs > mostRuns:
		return refuse("Runs", c.Runs, fmt.Sprintf("1 to %d", mostRuns))
	case c.Duration < time.Second || c.Duration > mostLength:
		return refuse("Duration", c.Duration, "a second to a day")
	case c.WarmUp < 0 || c.WarmUp > mostLength:
		return refuse("WarmUp", c.WarmUp, "at most a day")
	case c.Kill < 0 || c.Kill > c.Replicas*len(victims()):
		return refuse("Kill", c.Kill, fmt.Sprintf("at most %d, the pods that may be killed", c.Replicas*len(victims())))
	case c.KillEvery < time.Second:
		return refuse("KillEvery", c.KillEvery, "a second at least")
	case c.Replicas < 1 || c.Replicas > mostReplicas:
		return refuse("Replicas", c.Replicas, fmt.Sprintf("1 to %d", mostReplicas))
	case c.Slices < 1:
		return refuse("Slices", c.Slices, "1 at least")
	case c.Topology != separate && c.Topology != oneHost:
		return refuse("Topology", c.Topology, fmt.Sprintf("%s or %s", separate, oneHost))
	case c.Slices > cpus:
		return &field.Error{Package: "compare", Field: "Slices", Value: c.Slices, Err: fmt.Errorf("%w: %w: this machine has %d", ErrInvalid, errFewCPUs, cpus)}
	case pods > c.Slices*mostPods:
		return refuse("Replicas", c.Replicas, fmt.Sprintf("so that %d pods are %d a slice at most", pods, mostPods))
	case !(c.MostLate >= 0 && c.MostLate <= 1):
		return refuse("MostLate", c.MostLate, "a share, 0 to 1")
	case c.Placing < time.Second:
		return refuse("Placing", c.Placing, "a second at least")
	}
	return c.loadOn([]string{"front"}, c.Duration).Validate()
}

// loadOn is the load on some replicas of the front for a while.
func (c Config) loadOn(targets []string, length time.Duration) social.Load {
	return social.Load{Targets: targets, Rate: c.Rate, Connections: c.Connections, Duration: length, Phases: c.Phases}
}

// mostPods are those that a kubelet takes.
const mostPods = 110
