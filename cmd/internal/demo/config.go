package demo

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/simnode"
)

// Distribution is the law of the pods' work.
type Distribution string

// The laws of the pods' work; both have the configured mean.
const (
	Equal       Distribution = "equal"
	Exponential Distribution = "exponential"
)

// The scheduler profiles a batch can run under.
const (
	Spazio  = "spazio"
	Default = "default-scheduler"
)

// Config describes a demo. A zero field takes its default.
type Config struct {
	// Pods is the number of pods in a batch; default 300.
	Pods int `json:"pods"`
	// CPUSeconds is the mean CPU time of a pod in seconds; default 5.
	CPUSeconds float64 `json:"cpuSeconds"`
	// Distribution is the law of the CPU time; default Equal.
	Distribution Distribution `json:"workDistribution"`
	// Memory is what a pod takes in bytes; default 64 MiB.
	Memory float64 `json:"memoryBytes"`
	// Nodes and Cores size the simulated cluster; defaults 19 and 4.
	Nodes int `json:"nodes"`
	Cores int `json:"cores"`
	// Rate is the mean of Poisson arrivals per virtual second; 0 submits the
	// whole batch at once.
	Rate float64 `json:"rate"`
	// Seed selects works, arrivals, start-up latencies and the nodes' noise.
	Seed uint64 `json:"seed"`
	// TimeScale is how many virtual seconds pass in a second; default 1.
	TimeScale float64 `json:"timeScale"`
	// NoRealNode leaves this machine out of the cluster. A TimeScale other than
	// 1 implies it: a real process can't be hurried.
	NoRealNode bool `json:"noRealNode"`
	// Profiles are run in this order; default both.
	Profiles []string `json:"profiles"`
}

// FieldError names a field with a value out of range.
type FieldError struct {
	Field string
	Value any
	Want  string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s = %v: want %s", e.Field, e.Value, e.Want)
}

// Bounds of what one process can reasonably simulate.
const (
	maxPods      = 100_000
	maxNodes     = 5_000
	maxTimeScale = 1_000
	maxSeconds   = 1e6
)

// Validate returns a *FieldError for the first field out of range.
func (c Config) Validate() error {
	finite := func(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }
	switch {
	case c.Pods < 0 || c.Pods > maxPods:
		return &FieldError{"pods", c.Pods, fmt.Sprintf("1 to %d", maxPods)}
	case !finite(c.CPUSeconds) || c.CPUSeconds > maxSeconds:
		return &FieldError{"cpu-seconds", c.CPUSeconds, fmt.Sprintf("above 0, at most %g", maxSeconds)}
	case c.Distribution != "" && c.Distribution != Equal && c.Distribution != Exponential:
		return &FieldError{"work-distribution", c.Distribution, fmt.Sprintf("%s or %s", Equal, Exponential)}
	case !finite(c.Memory):
		return &FieldError{"memory", c.Memory, "a number of bytes"}
	case c.Nodes < 0 || c.Nodes > maxNodes:
		return &FieldError{"nodes", c.Nodes, fmt.Sprintf("1 to %d", maxNodes)}
	case c.Cores < 0 || c.Cores > 1024:
		return &FieldError{"cores", c.Cores, "1 to 1024"}
	case !finite(c.Rate):
		return &FieldError{"rate", c.Rate, "pods a second, 0 for all at once"}
	case !finite(c.TimeScale) || c.TimeScale > maxTimeScale:
		return &FieldError{"time-scale", c.TimeScale, fmt.Sprintf("above 0, at most %d", maxTimeScale)}
	}
	return c.validateProfiles()
}

func (c Config) validateProfiles() error {
	seen := make(map[string]bool)
	for _, p := range c.Profiles {
		if p != Spazio && p != Default || seen[p] {
			return &FieldError{"profiles", p, fmt.Sprintf("each of %s, %s at most once", Spazio, Default)}
		}
		seen[p] = true
	}
	return nil
}

// String says in a line what the demo will do.
func (c Config) String() string {
	c = c.withDefaults()
	arrival := "at once"
	if c.Rate > 0 {
		arrival = fmt.Sprintf("%g a second", c.Rate)
	}
	machine := " and this machine"
	if c.NoRealNode {
		machine = ""
	}
	return fmt.Sprintf("%d pods of %g CPU-seconds (%s), %s, on %d simulated nodes × %d cores%s; seed %d",
		c.Pods, c.CPUSeconds, c.Distribution, arrival, c.Nodes, c.Cores, machine, c.Seed)
}

func (c Config) withDefaults() Config {
	setDefault(&c.Pods, 300)
	setDefault(&c.CPUSeconds, 5)
	setDefault(&c.Distribution, Equal)
	setDefault(&c.Memory, simnode.DefaultMemory)
	setDefault(&c.Nodes, 19)
	setDefault(&c.Cores, 4)
	setDefault(&c.TimeScale, 1)
	if len(c.Profiles) == 0 {
		c.Profiles = []string{Spazio, Default}
	}
	if c.TimeScale != 1 {
		c.NoRealNode = true
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
