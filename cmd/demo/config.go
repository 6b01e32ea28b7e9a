package demo

import (
	"cmp"
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/testcluster/simnode/batch"
)

// The scheduler profiles a batch can run under.
const (
	Spazio  = "spazio"
	Default = "default-scheduler"
	// Pronto is Spazio's profile once more, on nodes that follow Pronto's rejection
	// signal instead of reporting room.
	Pronto = "pronto"
)

// Config describes a demo. A zero field takes its default. It is a plain value.
type Config struct {
	// Config is the batch; its Seed selects the nodes' noise too.
	batch.Config
	// Nodes and Cores size the simulated cluster; defaults 6 and 4,
	// which with the default batch is about 12 pods a core.
	Nodes int `json:"nodes"`
	Cores int `json:"cores"`
	// TimeScale is how many virtual seconds pass in a second; default 1.
	TimeScale float64 `json:"timeScale"`
	// NoRealNode leaves this machine out of the cluster. A TimeScale other than
	// 1 implies it: a real process can't be hurried.
	NoRealNode bool `json:"noRealNode"`
	// NoUnlike leaves out the second act, the pods of unlike owners. So does a real node, and
	// that Spazio is not among the Profiles.
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

// Validate returns a *field.Error for the first field out of range.
func (c Config) Validate() error {
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
		if p != Spazio && p != Default && p != Pronto || seen[p] {
			return refuse("Profiles", p, fmt.Sprintf("each of %s, %s, %s at most once", Spazio, Default, Pronto))
		}
		seen[p] = true
	}
	full := c.WithDefaults()
	if err := c.Config.Validate(); err != nil || len(full.unlikeRuns()) == 0 {
		return err
	}
	_, err := batch.Unlike(c.Seed, full.owners())
	return err
}

// String says in a line what the demo will do.
func (c Config) String() string {
	c = c.WithDefaults()
	machine := " and this machine"
	if c.NoRealNode {
		machine = ""
	}
	return fmt.Sprintf("%v, on %d simulated nodes × %d cores%s; seed %d", c.Config, c.Nodes, c.Cores, machine, c.Seed)
}

// WithDefaults returns the configuration with its zero fields filled.
func (c Config) WithDefaults() Config {
	c.Config = c.Config.WithDefaults()
	c.Nodes, c.Cores, c.TimeScale = cmp.Or(c.Nodes, 6), cmp.Or(c.Cores, 4), cmp.Or(c.TimeScale, 1)
	c.NoRealNode = c.NoRealNode || c.TimeScale != 1
	if len(c.Profiles) == 0 {
		c.Profiles = []string{Spazio, Default}
	}
	return c
}
