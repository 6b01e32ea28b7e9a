package replay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/sim/option"
	_ "github.com/spazio-scheduler/spazio/sim/thesis" // values of estimator.method
)

// fixed are the fields of agent.Config that can't be set: those that say what
// was measured, the prior, which the channels have, and centring, which the
// pipeline refuses.
var fixed = []string{
	"node", "incarnation", "schema", "channels", "cores", "no-pressure", "estimator.prior", "model.centre",
}

// options returns the fields of c that can be set, by name: filter.hold is
// c.Filter.Hold.
func options(c *agent.Config) option.Fields {
	all := option.Of(c)
	for _, name := range fixed {
		delete(all, name)
	}
	return all
}

// Names lists the options that can be set.
func Names() []string { return options(new(agent.Config)).Names() }

// set assigns key=value to c.
func set(c *agent.Config, assignment string) error {
	key, value, ok := strings.Cut(assignment, "=")
	if !ok {
		return fmt.Errorf("%q is not key=value", assignment)
	}
	err := options(c).Set(key, value)
	if errors.Is(err, option.ErrUnknown) {
		return fmt.Errorf("%w; there are %s", err, strings.Join(Names(), ", "))
	}
	return err
}
