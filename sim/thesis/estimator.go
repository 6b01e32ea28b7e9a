package thesis

import (
	"slices"

	"github.com/spazio-scheduler/spazio/internal/pipeline"
	"github.com/spazio-scheduler/spazio/kalman"
)

// The thesis's estimators; the package documentation has their formulas.
const (
	Naive pipeline.Method = "naive"
	Delta pipeline.Method = "delta"
	Joint pipeline.Method = "joint"
)

func init() {
	for method, a := range map[pipeline.Method]algebra{Naive: naive{}, Delta: delta{}, Joint: joint{}} {
		pipeline.RegisterMethod(method, func(configs ...kalman.Config) (pipeline.Estimator, error) {
			return newEstimator(a, configs)
		})
	}
}

// estimator is one filter a channel, all of one algebra. It is not safe for
// concurrent use.
type estimator struct {
	channels    []channel
	verdicts    []kalman.Verdict
	innovations []kalman.Innovation
}

func newEstimator(a algebra, configs []kalman.Config) (*estimator, error) {
	// What refuses a Config, and numbers its channel, is kalman's.
	if _, err := kalman.NewPerChannel(configs...); err != nil {
		return nil, err
	}
	e := &estimator{
		channels: make([]channel, len(configs)),
		verdicts: make([]kalman.Verdict, len(configs)), innovations: make([]kalman.Innovation, len(configs)),
	}
	for i, c := range configs {
		c = c.WithDefaults()
		sd := c.PriorSD * c.Prior
		e.channels[i] = channel{algebra: a, config: c, priorVar: sd * sd, floor: c.Floor * c.Prior}
	}
	return e, nil
}

// Step takes an observation into every channel, as kalman.PerChannel does.
func (e *estimator) Step(o kalman.Observation) error {
	if err := o.Validate(len(e.channels)); err != nil {
		return err
	}
	for i := range e.channels {
		v, tested := kalman.Frozen, kalman.Innovation{}
		if !o.Pause {
			v = e.channels[i].step(&o, i, &tested)
		}
		e.verdicts[i], e.innovations[i] = v, tested
	}
	return nil
}

func (e *estimator) EstimatesTo(dst []kalman.Estimate) []kalman.Estimate {
	dst = dst[:0]
	for i := range e.channels {
		dst = append(dst, e.channels[i].state.Estimate(e.channels[i].config))
	}
	return dst
}

func (e *estimator) VerdictsTo(dst []kalman.Verdict) []kalman.Verdict {
	return append(dst[:0], e.verdicts...)
}

func (e *estimator) InnovationsTo(dst []kalman.Innovation) []kalman.Innovation {
	return append(dst[:0], e.innovations...)
}

func (e *estimator) StatesTo(dst []kalman.State) []kalman.State {
	dst = slices.Grow(dst[:0], len(e.channels))
	for i := range e.channels {
		dst = append(dst, e.channels[i].state)
	}
	return dst
}

// SetStates goes on from states that kalman's estimators would take, too.
func (e *estimator) SetStates(states []kalman.State) error {
	configs := make([]kalman.Config, len(e.channels))
	checked, err := kalman.NewPerChannel(configs...)
	if err != nil {
		return err
	}
	if err := checked.SetStates(states); err != nil {
		return err
	}
	for i, s := range states {
		e.channels[i].state = s
	}
	return nil
}
