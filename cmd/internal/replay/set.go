package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/sim/option"
)

// fixed are the fields of agent.Config that can't be set: those that say what
// was measured, the prior, which the channels have, and centring, which the
// pipeline refuses.
var fixed = []string{
	"node", "incarnation", "schema", "channels", "cores", "no-pressure", "estimator.prior", "model.centre",
}

// short are other names of the options asked for most.
var short = map[string]string{
	"estimator": "estimator.method", "rule": "avail.rule", "caution": "avail.caution",
	"allowance": "avail.allowance", "block": "model.block", "half-life": "model.half-life",
}

// options returns the fields of c that can be set, by name: filter.hold is
// c.Filter.Hold.
func options(c *agent.Config) option.Fields {
	all := option.Of(c)
	for _, name := range fixed {
		delete(all, name)
	}
	for name, full := range short {
		all[name] = all[full]
	}
	return all
}

// names lists the options without their short names.
func names() []string {
	return slices.DeleteFunc(options(new(agent.Config)).Names(), func(name string) bool {
		_, ok := short[name]
		return ok
	})
}

// nameLines lists the options for a person, line by line.
func nameLines() string {
	lines := []string{""}
	for i, name := range names() {
		if i > 0 {
			lines[len(lines)-1] += ","
			if last := lines[len(lines)-1]; len(last)+1+len(name) > 78 {
				lines = append(lines, "")
			} else {
				lines[len(lines)-1] += " "
			}
		}
		lines[len(lines)-1] += name
	}
	return strings.Join(lines, "\n")
}

// set assigns key=value to c.
func set(c *agent.Config, assignment string) error {
	key, value, ok := strings.Cut(assignment, "=")
	if !ok {
		return fmt.Errorf("%q is not key=value", assignment)
	}
	err := options(c).Set(key, value)
	if errors.Is(err, option.ErrUnknown) {
		return fmt.Errorf("%w; there are %s", err, strings.Join(names(), ", "))
	}
	return err
}

// override returns what all assignments together do to a Config; nil without
// any. The error is that of the first that can't be made.
func override(assignments []string) (func(*agent.Config), error) {
	if len(assignments) == 0 {
		return nil, nil
	}
	for _, a := range assignments {
		if err := set(new(agent.Config), a); err != nil {
			return nil, err
		}
	}
	return func(c *agent.Config) {
		for _, a := range assignments {
			set(c, a) //nolint:errcheck // made once above
		}
	}, nil
}
