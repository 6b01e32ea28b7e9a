package pipeline

import "github.com/spazio-scheduler/spazio/capacity"

// Rule names what decides which of package capacity's two equations counts in a
// channel. The empty one takes the lower, as that package does, which text calls
// "least-of-both"; others are those that were registered.
type Rule string

var rules = named[func(churn bool) capacity.Mode]{
	kind: "Rule", standard: "least-of-both", variants: map[string]func(churn bool) capacity.Mode{},
}

// RegisterRule makes known by its name what chooses the equation on a node, whose
// containers churn or not. It is for init functions, and not safe for concurrent use.
func RegisterRule(r Rule, choose func(churn bool) capacity.Mode) { rules.variants[string(r)] = choose }

// Room returns the room by the equation that the Rule chooses, which is valid.
func (r Rule) Room(room capacity.Room, churn bool) capacity.Room {
	if r == "" {
		return room
	}
	return room.By(rules.variants[string(r)](churn))
}

// validate returns a *field.Error for a Rule that no package has registered.
func (r Rule) validate() error { return rules.validate(string(r)) }

// String returns the name, "least-of-both" of the empty one.
func (r Rule) String() string { return rules.text(string(r)) }

// MarshalText returns the name.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a name. The error is that of Validate.
func (r *Rule) UnmarshalText(text []byte) error {
	name, err := rules.parse(string(text))
	if err == nil {
		*r = Rule(name)
	}
	return err
}

// AvailConfig is how the room in pods is counted.
type AvailConfig struct {
	// Rule decides which equation counts; the zero value takes the lower.
	Rule Rule
	capacity.AvailOptions
}

// Validate returns the error of the Rule or of the options.
func (c AvailConfig) Validate() error {
	if err := c.Rule.validate(); err != nil {
		return err
	}
	return c.AvailOptions.Validate()
}
