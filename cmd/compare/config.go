package compare

import (
	"fmt"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/compare/social"
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
	// Phases is what is asked; none mean mixed.
	Phases social.Phases
	// Kill pods are killed every KillEvery.
	Kill      int
	KillEvery time.Duration
	// Replicas of each tier.
	Replicas int
	// Seed selects the pods that are killed, the same for each scheduler.
	Seed uint64
	// MostLate is the share of requests that may be sent late; a run with more is void.
	MostLate float64
}

// DefaultConfig returns the configuration of a comparison of which nothing else is said.
func DefaultConfig() Config {
	return Config{
		Schedulers: []string{"default-scheduler", "spazio", "spazio-energy"}, Runs: 5, Duration: time.Minute, WarmUp: 5 * time.Second,
		Rate: 100, Phases: social.Phases{{Kind: social.Mix}}, Kill: 3, KillEvery: 20 * time.Second, Replicas: 3,
		MostLate: .01,
	}
}

const (
	// connections is the most to each replica of the front: the thesis's number.
	connections = 64
	// placing is how long pods may take until all run; a run in which they take longer is void. A
	// scheduler that does not place its probe in that time is not there.
	placing = 3 * time.Minute

	// Beyond these bounds of a run something is a slip of the pen.
	mostRuns     = 1000
	mostLength   = 24 * time.Hour
	mostReplicas = 100
)

// validate names the first field that is out of range, of a configuration for so many nodes.
func (c Config) validate(nodes int) error {
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
	case pods > nodes*mostPods:
		return refuse("Replicas", c.Replicas, fmt.Sprintf("so that %d pods are %d a node at most", pods, mostPods))
	case !(c.MostLate >= 0 && c.MostLate <= 1):
		return refuse("MostLate", c.MostLate, "a share, 0 to 1")
	}
	return c.loadOn([]string{"front"}, c.Duration).Validate()
}

// loadOn is the load on some replicas of the front for a while.
func (c Config) loadOn(targets []string, length time.Duration) social.Load {
	return social.Load{Targets: targets, Rate: c.Rate, Connections: connections, Duration: length, Phases: c.Phases}
}

// mostPods are those that a kubelet takes.
const mostPods = 110
