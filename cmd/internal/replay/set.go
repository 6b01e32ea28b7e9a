package replay

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spazio-scheduler/spazio/agent"
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
func options(c *agent.Config) map[string]reflect.Value {
	all := map[string]reflect.Value{}
	walk(reflect.ValueOf(c).Elem(), "", all)
	for _, name := range fixed {
		delete(all, name)
	}
	for name, full := range short {
		all[name] = all[full]
	}
	return all
}

func walk(v reflect.Value, prefix string, into map[string]reflect.Value) {
	for i := range v.NumField() {
		name, field := prefix+kebab(v.Type().Field(i).Name), v.Field(i)
		if field.Kind() == reflect.Struct {
			walk(field, name+".", into)
			continue
		}
		into[name] = field
	}
}

// kebab writes PodsPerCore as pods-per-core.
func kebab(name string) string {
	var b strings.Builder
	small := false
	for _, r := range name {
		if unicode.IsUpper(r) && small {
			b.WriteByte('-')
		}
		small = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// names lists the options without their short names.
func names() []string {
	var list []string
	for name := range options(new(agent.Config)) {
		if _, ok := short[name]; !ok {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
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
	field, ok := options(c)[key]
	if !ok {
		return fmt.Errorf("%q is not an option; there are %s", key, strings.Join(names(), ", "))
	}
	if err := assign(field, value); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

func assign(field reflect.Value, text string) error {
	switch target := field.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return target.UnmarshalText([]byte(text))
	case *time.Duration:
		d, err := time.ParseDuration(text)
		*target = d
		return err
	case *float64:
		f, err := strconv.ParseFloat(text, 64)
		*target = f
		return err
	case *int:
		i, err := strconv.Atoi(text)
		*target = i
		return err
	case *bool:
		b, err := strconv.ParseBool(text)
		*target = b
		return err
	}
	return fmt.Errorf("cannot be set")
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
