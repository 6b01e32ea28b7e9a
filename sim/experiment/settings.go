package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/sim"
)

// unset are the fields of sim.Spazio that are no settings: those that the
// simulator sets, the prior, which follows from pods-per-core, centring, which the
// pipeline refuses, the policy for stale nodes, of which there are none, and a place on earth.
var unset = []string{
	"agent.node", "agent.incarnation", "agent.schema", "agent.channels", "agent.cores", "agent.no-pressure",
	"agent.estimator.prior", "agent.model.centre", "freshness.policy", "profiles.config.zone",
}

func settings(s *sim.Spazio) OptionFields { return OptionsOf(s, unset...) }

// Settings lists the names that Params.Set takes: the fields of sim.Spazio, as
// agent.filter.hold for Agent.Filter.Hold.
func Settings() []string { return settings(new(sim.Spazio)).Names() }

var errAssignment = errors.New("want name=value")

// setOption makes an assignment, "agent.churn-hold=500ms". The error is an
// *OptionError; s is then as it was.
func setOption(s *sim.Spazio, assignment string) error {
	name, value, ok := strings.Cut(assignment, "=")
	if !ok {
		return fmt.Errorf("experiment: %w", &OptionError{Name: assignment, Err: errAssignment})
	}
	changed := *s
	if err := settings(&changed).Set(name, value); err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	if err := changed.Validate(); err != nil {
		return fmt.Errorf("experiment: %w", &OptionError{Name: name, Value: value, Err: err})
	}
	*s = changed
	return nil
}

// with returns the case with one more assignment, which its label names.
func (c Case) with(assignment string) (Case, error) {
	if err := setOption(&c.Params.spazio, assignment); err != nil {
		return Case{}, err
	}
	c.Params.Set = append(slices.Clone(c.Params.Set), assignment)
	c.Label += "/" + assignment
	return c, nil
}
