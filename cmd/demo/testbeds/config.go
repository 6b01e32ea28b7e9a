package testbeds

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// ErrInvalid is what a field.Error wraps.
var ErrInvalid = errors.New("invalid configuration")

func refuse(name string, value any, want string) error {
	return &field.Error{Package: "testbeds", Field: name, Value: value, Err: fmt.Errorf("%w: want %s", ErrInvalid, want)}
}

// Config of a run. A zero field takes its default. It is a plain value.
type Config struct {
	// Jobs is how many there are of each of two kinds, bound by the CPU and mostly waiting;
	// default 3, at most half of colocate.MostExact. It is also the nodes of the plan.
	Jobs int
	// Alone is about how long each takes alone; default 10 s, at least 1 s, for the interface
	// tells times in whole seconds.
	Alone time.Duration
	// Samples is how often each pair is tried; default 1.
	Samples int
	// Greedy plans as the thesis does.
	Greedy bool
	// Seed draws the jobs, and the nodes' noise.
	Seed uint64
	// Keep holds the cluster after the result until the context ends.
	Keep bool
	// Progress is where the run is shown; nil shows nothing.
	Progress io.Writer
	// OnResult, if set, is given the result.
	OnResult func(Result) error
}

// WithDefaults returns the configuration with its zero fields filled.
func (c Config) WithDefaults() Config {
	c.Jobs, c.Alone, c.Samples = cmp.Or(c.Jobs, 3), cmp.Or(c.Alone, 10*time.Second), cmp.Or(c.Samples, 1)
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	if c.OnResult == nil {
		c.OnResult = func(Result) error { return nil }
	}
	return c
}

// Validate returns a *field.Error for the first field out of range.
func (c Config) Validate() error {
	switch {
	case c.Jobs < 0 || 2*c.Jobs > colocate.MostExact:
		return refuse("Jobs", c.Jobs, fmt.Sprintf("1 to %d", colocate.MostExact/2))
	case c.Alone != 0 && c.Alone < time.Second:
		return refuse("Alone", c.Alone, "at least 1s, the interface tells times in whole seconds")
	case c.Samples < 0:
		return refuse("Samples", c.Samples, "at least 1")
	}
	return nil
}
