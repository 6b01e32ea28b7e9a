package pipeline

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/kalman"
)

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

const centred = "centred"

// ErrMethod is the reason why a Method is refused that no package has registered.
var ErrMethod = errors.New("no such estimator")

// estimators are written by Register alone.
var estimators = map[Method]func(configs ...kalman.Config) (Estimator, error){}

// Register makes an estimator known by its name. It is for the init functions of
// the packages that have one, and not safe for concurrent use.
func Register(m Method, create func(configs ...kalman.Config) (Estimator, error)) {
	estimators[m] = create
}

// New returns an estimator with one Config a channel. The error is that of a
// Config, or a *field.Error for a Method that no package has registered.
func (m Method) New(configs ...kalman.Config) (Estimator, error) {
	if m == "" {
		return kalman.NewPerChannel(configs...)
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return estimators[m](configs...)
}

// Validate returns a *field.Error for a Method that no package has registered.
func (m Method) Validate() error {
	if _, ok := estimators[m]; !ok && m != "" {
		known := append([]Method{centred}, slices.Sorted(maps.Keys(estimators))...)
		return &field.Error{Package: "pipeline", Field: "Method", Value: string(m), Err: fmt.Errorf("%w: there are %v", ErrMethod, known)}
	}
	return nil
}

// String returns the name, "centred" of the empty one.
func (m Method) String() string {
	if m == "" {
		return centred
	}
	return string(m)
}

// MarshalText returns the name.
func (m Method) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads a name. The error is that of Validate.
func (m *Method) UnmarshalText(text []byte) error {
	if string(text) == centred {
		*m = ""
		return nil
	}
	named := Method(text)
	if named == "" {
		return &field.Error{Package: "pipeline", Field: "Method", Value: "", Err: ErrMethod}
	}
	if err := named.Validate(); err != nil {
		return err
	}
	*m = named
	return nil
}

// EstimatorConfig says how a node's channels are estimated.
type EstimatorConfig struct {
	// Method is the estimator; the zero value is kalman's.
	Method Method
	kalman.Config
}

// Validate returns the error of the Method or of the Config.
func (c EstimatorConfig) Validate() error {
	if err := c.Method.Validate(); err != nil {
		return err
	}
	return c.Config.Validate()
}
