package kalman

import (
	"fmt"
	"slices"
)

// Observation is a node at one moment.
type Observation struct {
	// Headroom is 1 − y in [0, 1], one a channel.
	Headroom []float64
	// Pods is the number of pods whose load Headroom shows, in [0, MaxPods].
	Pods float64
	// Known is what pods of known use take of each channel, ≥ 0, and is added to Headroom before
	// anything is learnt; whether a channel is full depends on Headroom alone. Load is how many other
	// pods there are in each channel, in [0, MaxPods]. A nil Known means 0 and a nil Load means Pods.
	Load, Known []float64
	// Churn reports that pods come and go, so that Headroom is a noisy reading
	// (package doc, Churn). Transitioning is the number of pods, in [0, MaxPods], that
	// have come or gone so lately that Headroom may show them or not; it means
	// anything only with Churn.
	Churn         bool
	Transitioning float64
	// Pause reports that Headroom is no reading at all: containers load the node that
	// Pods does not count. Nothing is learnt.
	Pause bool
}

// PerChannel learns capacity and cost of every channel of a node: one State a
// channel, on its own headroom. With a single channel, the headroom along u₁, it
// is the scalar estimator of the thesis. It is not safe for concurrent use.
type PerChannel struct {
	tunings     []tuning
	states      []State
	verdicts    []Verdict
	innovations []Innovation
}

// NewPerChannel returns an estimator with one Config a channel. It returns
// an ErrInvalid, wrapped with the channel's index.
func NewPerChannel(configs ...Config) (*PerChannel, error) {
	p := &PerChannel{
		tunings:     make([]tuning, len(configs)),
		states:      make([]State, len(configs)),
		verdicts:    make([]Verdict, len(configs)),
		innovations: make([]Innovation, len(configs)),
	}
	for i, c := range configs {
		if err := c.Validate(); err != nil {
			return nil, fmt.Errorf("channel %d: %w", i, err)
		}
		p.tunings[i] = c.tuning()
	}
	return p, nil
}

// Validate returns an ErrLength unless Headroom has one value a channel, and so have Load and
// Known if they are not nil. It returns an ErrInvalid for a value out of its range, wrapped with
// the channel's index if it belongs to one channel.
func (o *Observation) Validate(channels int) error {
	if len(o.Headroom) != channels {
		return refuseLength("Headroom", len(o.Headroom), channels)
	}
	for _, f := range [...]struct {
		name   string
		values []float64
	}{{"Load", o.Load}, {"Known", o.Known}} {
		if f.values != nil && len(f.values) != channels {
			return refuseLength(f.name, len(f.values), channels)
		}
	}
	for i, z := range o.Headroom {
		if err := check(z, o.pods(i), o.known(i)); err != nil {
			return fmt.Errorf("channel %d: %w", i, err)
		}
	}
	if o.Churn && !(o.Transitioning >= 0 && o.Transitioning <= MaxPods) {
		return refuse("Transitioning", o.Transitioning, "must be in [0, 1e6]")
	}
	return nil
}

// Step takes one observation into every channel that it says something about. It
// returns the error of Observation.Validate, and then changes nothing. It does not
// allocate.
func (p *PerChannel) Step(o Observation) error {
	if err := o.Validate(len(p.states)); err != nil {
		return err
	}
	if o.Pause {
		for i := range p.verdicts {
			p.verdicts[i], p.innovations[i] = Frozen, Innovation{}
		}
		return nil
	}
	for i, z := range o.Headroom {
		s, t, tested := &p.states[i], &p.tunings[i], &p.innovations[i]
		if o.Churn {
			p.verdicts[i] = s.stepChurn(reading{z, o.known(i)}, o.pods(i), o.Transitioning, t, tested)
		} else {
			p.verdicts[i] = s.step(reading{z, o.known(i)}, o.pods(i), t, tested)
		}
	}
	return nil
}

// pods is the number of pods that count in a channel, known the share that others
// take.
func (o *Observation) pods(channel int) float64 {
	if o.Load == nil {
		return o.Pods
	}
	return o.Load[channel]
}

func (o *Observation) known(channel int) float64 {
	if o.Known == nil {
		return 0
	}
	return o.Known[channel]
}

// EstimatesTo writes one estimate a channel into dst, grown as append does, and
// returns it.
func (p *PerChannel) EstimatesTo(dst []Estimate) []Estimate {
	dst = slices.Grow(dst[:0], len(p.states))[:len(p.states)]
	for i := range p.states {
		p.states[i].estimateTo(&dst[i], &p.tunings[i])
	}
	return dst
}

// VerdictsTo writes what the last Step did with each channel into dst, as
// EstimatesTo does.
func (p *PerChannel) VerdictsTo(dst []Verdict) []Verdict {
	return append(dst[:0], p.verdicts...)
}

// InnovationsTo writes the test of the last Step in each channel into dst, as
// EstimatesTo does.
func (p *PerChannel) InnovationsTo(dst []Innovation) []Innovation {
	return append(dst[:0], p.innovations...)
}

// StatesTo writes the state of each channel into dst, as EstimatesTo does. An
// estimator of the same Configs that takes them by SetStates goes on, to the
// last bit, as this one.
func (p *PerChannel) StatesTo(dst []State) []State {
	return append(dst[:0], p.states...)
}

// SetStates replaces the state of every channel; the verdicts and innovations
// of the last Step stay. It returns an ErrLength or an ErrInvalid, of a State wrapped with the
// channel's index as the one of State.Validate, and then changes nothing.
func (p *PerChannel) SetStates(states []State) error {
	if len(states) != len(p.states) {
		return refuseLength("states", len(states), len(p.states))
	}
	for i, s := range states {
		if err := s.Validate(); err != nil {
			return fmt.Errorf("channel %d: %w", i, err)
		}
	}
	copy(p.states, states)
	return nil
}
