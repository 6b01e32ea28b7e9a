package demo

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// testbedConfig describes a run of runTestbed. A zero field takes its default.
type testbedConfig struct {
	// Jobs is how many there are of each of two kinds, bound by the CPU and mostly waiting;
	// default 3, at most half of colocate.MostExact. It is also the nodes of the plan.
	Jobs int
	// Alone is about how long each takes alone; default 10 s, at least 1 s, since the
	// interface has times in whole seconds.
	Alone time.Duration
	// Greedy plans as the thesis does.
	Greedy bool
	// Seed draws the jobs, and the nodes' noise.
	Seed uint64
	// Keep holds the cluster after the result until the context ends.
	Keep bool
	// Progress is where the run is shown.
	Progress io.Writer
	// OnResult is given the result.
	OnResult func(testbedResult) error
}

// withDefaults returns the configuration with its zero fields filled.
func (c testbedConfig) withDefaults() testbedConfig {
	c.Jobs, c.Alone = cmp.Or(c.Jobs, 3), cmp.Or(c.Alone, 10*time.Second)
	return c
}

// validate returns a *field.Error for the first field out of range.
func (c testbedConfig) validate() error {
	switch {
	case c.Jobs < 0 || 2*c.Jobs > colocate.MostExact:
		return refuse("Jobs", c.Jobs, fmt.Sprintf("1 to %d", colocate.MostExact/2))
	case c.Alone != 0 && c.Alone < time.Second:
		return refuse("Alone", c.Alone, "at least 1s, the interface tells times in whole seconds")
	}
	return nil
}
