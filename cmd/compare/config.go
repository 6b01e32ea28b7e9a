package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/compare/load"
	"github.com/spazio-scheduler/spazio/cmd/compare/social"
	"github.com/spazio-scheduler/spazio/field"
)

// Config says what is compared by what. A zero field takes its default. It is a plain
// value.
type Config struct {
	// Schedulers are the schedulerNames of the pods; default default-scheduler, spazio and
	// spazio-energy. The first is what the others are compared with. A name may come
	// again, which compares a scheduler with itself.
	Schedulers []string `json:"schedulers"`
	// Runs of each; default 5.
	Runs int `json:"runs"`
	// Duration is how long a run is measured; default a minute.
	Duration time.Duration `json:"duration"`
	// WarmUp is how long the load goes on before; default 5 s.
	WarmUp time.Duration `json:"warm_up"`
	// Rate is requests a second; default 100.
	Rate float64 `json:"rate"`
	// Connections is the most to each replica of the front; default 64.
	Connections int `json:"connections"`
	// Phases is what is asked; default mixed.
	Phases load.Phases `json:"phases"`
	// Kill pods are killed every KillEvery; defaults 3 and 20 s. NoKill kills none.
	Kill      int           `json:"kill"`
	KillEvery time.Duration `json:"kill_every"`
	NoKill    bool          `json:"no_kill"`
	// Replicas of each tier; default 3.
	Replicas int `json:"replicas"`
	// Slices of this machine that are nodes; default 2, or 1 on a machine of one CPU.
	Slices int `json:"slices"`
	// Topology is what the slices are; default Separate.
	Topology Topology `json:"topology"`
	// Seed picks who is killed, the same for each scheduler.
	Seed uint64 `json:"seed"`
	// MostLate is the share of requests that may be sent late; a run with more is void.
	// Default .01.
	MostLate float64 `json:"most_late"`
	// Placing is how long pods may take until all run; default 3 min.
	Placing time.Duration `json:"placing"`
}

// Topology says which machines the slices are.
type Topology string

const (
	// Separate are machines of their own, each with counters of energy.
	Separate Topology = "separate"
	// OneHost are virtual machines of one host, which has the counters and shares them by
	// spazio-power.
	OneHost Topology = "one-host"
)

// DefaultSchedulers are those of a Config without any.
var DefaultSchedulers = []string{"default-scheduler", "spazio", "spazio-energy"}

// WithDefaults returns the configuration with its defaults, on a machine of so many CPUs.
func (c Config) WithDefaults(cpus int) Config {
	if len(c.Schedulers) == 0 {
		c.Schedulers = DefaultSchedulers
	}
	c.Schedulers = slices.Clone(c.Schedulers)
	for _, d := range []struct {
		field    *int
		standard int
	}{{&c.Runs, 5}, {&c.Connections, 64}, {&c.Kill, 3}, {&c.Replicas, 3}, {&c.Slices, min(2, max(cpus, 1))}} {
		if *d.field == 0 {
			*d.field = d.standard
		}
	}
	for _, d := range []struct {
		field    *time.Duration
		standard time.Duration
	}{{&c.Duration, time.Minute}, {&c.WarmUp, 5 * time.Second}, {&c.KillEvery, 20 * time.Second}, {&c.Placing, 3 * time.Minute}} {
		if *d.field == 0 {
			*d.field = d.standard
		}
	}
	if c.Rate == 0 {
		c.Rate = 100
	}
	if c.Topology == "" {
		c.Topology = Separate
	}
	if c.MostLate == 0 {
		c.MostLate = .01
	}
	if c.NoKill {
		c.Kill = 0
	}
	if len(c.Phases) == 0 {
		c.Phases = load.Phases{{Kind: load.Mix}}
	}
	return c
}

// Seed are the numbers of the thesis's comparison (§5.2.4): wrk2 with 64 connections and
// 2056 requests a second, 3 pods killed a minute, 3 replicas, an hour, once for each of its
// two schedulers, of which the second chooses by energy.
func Seed() Config {
	return Config{
		Schedulers: []string{"default-scheduler", "spazio-energy"}, Runs: 1, Duration: time.Hour,
		Rate: 2056, Connections: 64, Kill: 3, KillEvery: time.Minute, Replicas: 3,
	}
}

// bounds of a run: beyond them something is a slip of the pen.
const (
	mostRuns     = 1000
	mostLength   = 24 * time.Hour
	mostReplicas = 100
)

// Validate names the first field that is out of range, of a configuration with its
// defaults on a machine of so many CPUs.
func (c Config) Validate(cpus int) error {
	for _, s := range c.Schedulers {
		if s == "" || strings.ContainsAny(s, " /\t\n") {
			return refuse("Schedulers", s, "schedulerNames of pods")
		}
	}
	pods := c.Replicas * len(social.Tiers())
	switch {
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
	case c.Topology != Separate && c.Topology != OneHost:
		return refuse("Topology", c.Topology, fmt.Sprintf("%s or %s", Separate, OneHost))
	case c.Slices > cpus:
		return &field.Error{Package: "compare", Field: "Slices", Value: c.Slices, Err: fmt.Errorf("%w: %w: this machine has %d", ErrInvalid, ErrFewCPUs, cpus)}
	case pods > c.Slices*mostPods:
		return refuse("Replicas", c.Replicas, fmt.Sprintf("so that %d pods are %d a slice at most", pods, mostPods))
	case !(c.MostLate >= 0 && c.MostLate <= 1):
		return refuse("MostLate", c.MostLate, "a share, 0 to 1")
	case c.Placing < time.Second:
		return refuse("Placing", c.Placing, "a second at least")
	}
	return load.Config{Targets: []string{"front"}, Rate: c.Rate, Connections: c.Connections, Duration: c.Duration, Phases: c.Phases}.Validate()
}

// mostPods are those that a kubelet takes.
const mostPods = 110
