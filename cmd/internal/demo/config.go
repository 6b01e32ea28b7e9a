package demo

import (
	"cmp"
	"fmt"
	"math"
)

// The scheduler profiles a batch can run under.
const (
	spazioProfile  = "spazio"
	defaultProfile = "default-scheduler"
)

// demoConfig describes a demo. A zero field takes its default. It is a plain value.
type demoConfig struct {
	// Pods is their number; default 300.
	Pods int `json:"pods"`
	// CPUSeconds is the CPU time of a pod in seconds; default 5.
	CPUSeconds float64 `json:"cpuSeconds"`
	// Seed selects start-up latencies, unlike pods and the nodes' noise.
	Seed uint64 `json:"seed"`
	// Nodes and Cores size the simulated cluster; defaults 6 and 4,
	// which with the default batch is about 12 pods a core.
	Nodes int `json:"nodes"`
	Cores int `json:"cores"`
	// TimeScale is how many virtual seconds pass in a second; default 1.
	TimeScale float64 `json:"timeScale"`
	// NoUnlike leaves out the second act, the pods of unlike owners. So does that Spazio is not among
	// the Profiles.
	NoUnlike bool `json:"noUnlike"`
	// Profiles are run in this order; default Spazio and Default.
	Profiles []string `json:"profiles"`
}

// Bounds of what one process can reasonably simulate.
const (
	maxPods      = 100_000
	maxSeconds   = 1e6
	maxNodes     = 5_000
	maxCores     = 1_024
	maxTimeScale = 1_000
)

// validate returns a *field.Error for the first field out of range.
func (c demoConfig) validate() error {
	switch {
	case c.Nodes < 0 || c.Nodes > maxNodes:
		return refuse("Nodes", c.Nodes, fmt.Sprintf("1 to %d", maxNodes))
	case c.Cores < 0 || c.Cores > maxCores:
		return refuse("Cores", c.Cores, fmt.Sprintf("1 to %d", maxCores))
	case math.IsNaN(c.TimeScale) || c.TimeScale < 0 || c.TimeScale > maxTimeScale:
		return refuse("TimeScale", c.TimeScale, fmt.Sprintf("above 0, at most %d", maxTimeScale))
	case c.Pods < 0 || c.Pods > maxPods:
		return refuse("Pods", c.Pods, fmt.Sprintf("at most %d", maxPods))
	case math.IsNaN(c.CPUSeconds) || c.CPUSeconds < 0 || c.CPUSeconds > maxSeconds:
		return refuse("CPUSeconds", c.CPUSeconds, fmt.Sprintf("at most %g", maxSeconds))
	}
	seen := make(map[string]bool)
	for _, p := range c.Profiles {
		if p != spazioProfile && p != defaultProfile || seen[p] {
			return refuse("Profiles", p, fmt.Sprintf("%s and %s, each at most once", spazioProfile, defaultProfile))
		}
		seen[p] = true
	}
	return nil
}

// String says in a line what the demo will do.
func (c demoConfig) String() string {
	c = c.withDefaults()
	return fmt.Sprintf("%d pods of %g CPU-seconds (equal), at once, on %d simulated nodes × %d cores; seed %d", c.Pods, c.CPUSeconds, c.Nodes, c.Cores, c.Seed)
}

// withDefaults returns the configuration with its zero fields filled.
func (c demoConfig) withDefaults() demoConfig {
	c.Pods, c.CPUSeconds = cmp.Or(c.Pods, 300), cmp.Or(c.CPUSeconds, 5)
	c.Nodes, c.Cores, c.TimeScale = cmp.Or(c.Nodes, 6), cmp.Or(c.Cores, 4), cmp.Or(c.TimeScale, 1)
	if len(c.Profiles) == 0 {
		c.Profiles = []string{spazioProfile, defaultProfile}
	}
	return c
}
