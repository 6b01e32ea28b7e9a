package pipeline

import "github.com/spazio-scheduler/spazio/kalman"

// Estimator learns the capacity of each channel of a node and what a pod takes of
// it. Its methods promise what those of kalman.PerChannel, the default one, do. It
// is not safe for concurrent use.
type Estimator interface {
	Step(o kalman.Observation) error
	EstimatesTo(dst []kalman.Estimate) []kalman.Estimate
	VerdictsTo(dst []kalman.Verdict) []kalman.Verdict
	InnovationsTo(dst []kalman.Innovation) []kalman.Innovation
	StatesTo(dst []kalman.State) []kalman.State
	SetStates(states []kalman.State) error
}

// Method names an Estimator. The empty one is kalman.PerChannel, which text calls
// "centred"; others are those that were registered.
type Method string

var estimators = named[func(configs ...kalman.Config) (Estimator, error)]{
	kind: "Method", standard: "centred", variants: map[string]func(configs ...kalman.Config) (Estimator, error){},
}

// RegisterMethod makes an Estimator known by its name. It is for the init functions
// of the packages that have one, and not safe for concurrent use.
func RegisterMethod(m Method, create func(configs ...kalman.Config) (Estimator, error)) {
	estimators.variants[string(m)] = create
}

// New returns an estimator with one Config a channel. The error is that of a
// Config, or of Validate.
func (m Method) New(configs ...kalman.Config) (Estimator, error) {
	if m == "" {
		return kalman.NewPerChannel(configs...)
	}
	if err := m.validate(); err != nil {
		return nil, err
	}
	return estimators.variants[string(m)](configs...)
}

// validate returns a *field.Error for a Method that no package has registered.
func (m Method) validate() error { return estimators.validate(string(m)) }

// String returns the name, "centred" of the empty one.
func (m Method) String() string { return estimators.text(string(m)) }

// MarshalText returns the name.
func (m Method) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads a name. The error is that of Validate.
func (m *Method) UnmarshalText(text []byte) error {
	name, err := estimators.parse(string(text))
	if err == nil {
		*m = Method(name)
	}
	return err
}

// EstimatorConfig is how the channels of a node are estimated.
type EstimatorConfig struct {
	// Method is the estimator; the zero value is kalman's.
	Method Method
	kalman.Config
}

// Validate returns the error of the Method or of the Config.
func (c EstimatorConfig) Validate() error {
	if err := c.Method.validate(); err != nil {
		return err
	}
	return c.Config.Validate()
}
