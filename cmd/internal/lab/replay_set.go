package lab

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	_ "github.com/spazio-scheduler/spazio/sim/thesis" // values of estimator.method
)

// errSet begins the refusal of what --set assigns.
var errSet = errors.New("--set")

// notReplayed are the fields of agent.Config that can't be set: those that say what
// was measured, the prior, which the channels have, and centring, which the
// pipeline refuses.
var notReplayed = []string{
	"node", "incarnation", "schema", "channels", "cores", "no-pressure", "estimator.prior", "model.centre",
}

// replayOptions returns the fields of c that can be set, by name: filter.hold is
// c.Filter.Hold.
func replayOptions(c *agent.Config) experiment.OptionFields {
	return experiment.OptionsOf(c, notReplayed...)
}

// replayAssign assigns key=value to c.
func replayAssign(c *agent.Config, assignment string) error {
	key, value, ok := strings.Cut(assignment, "=")
	if !ok {
		return fmt.Errorf("%q is not key=value", assignment)
	}
	return replayOptions(c).Set(key, value)
}

// checkAssignments returns an error of errSet that names the first assignment that can't be made.
func checkAssignments(assignments []string) error {
	for _, assignment := range assignments {
		if err := replayAssign(new(agent.Config), assignment); err != nil {
			return refuseSet(assignment, err)
		}
	}
	return nil
}

func refuseSet(assignment string, err error) error {
	return fmt.Errorf("%w %s: %w", errSet, assignment, err)
}

// replayOverride returns a function that makes the assignments, which checkAssignments accepts, to a
// Config; nil without any.
func replayOverride(assignments []string) func(*agent.Config) {
	if len(assignments) == 0 {
		return nil
	}
	return func(c *agent.Config) {
		for _, assignment := range assignments {
			replayAssign(c, assignment) //nolint:errcheck // checkAssignments has accepted it
		}
	}
}
