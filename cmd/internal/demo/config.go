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
	// The batch; its Seed selects the nodes' noise too.
	batchConfig
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
	}
	seen := make(map[string]bool)
	for _, p := range c.Profiles {
		if p != spazioProfile && p != defaultProfile || seen[p] {
			return refuse("Profiles", p, fmt.Sprintf("%s and %s, each at most once", spazioProfile, defaultProfile))
		}
		seen[p] = true
	}
	full := c.withDefaults()
	if err := c.batchConfig.validate(); err != nil || len(full.unlikeRuns()) == 0 {
		return err
	}
	_, err := unlikeTasks(c.Seed, full.owners())
	return err
}

// String says in a line what the demo will do.
func (c demoConfig) String() string {
	c = c.withDefaults()
	return fmt.Sprintf("%v, on %d simulated nodes × %d cores; seed %d", c.batchConfig, c.Nodes, c.Cores, c.Seed)
}

// withDefaults returns the configuration with its zero fields filled.
func (c demoConfig) withDefaults() demoConfig {
	c.batchConfig = c.batchConfig.withDefaults()
	c.Nodes, c.Cores, c.TimeScale = cmp.Or(c.Nodes, 6), cmp.Or(c.Cores, 4), cmp.Or(c.TimeScale, 1)
	if len(c.Profiles) == 0 {
		c.Profiles = []string{spazioProfile, defaultProfile}
	}
	return c
}
