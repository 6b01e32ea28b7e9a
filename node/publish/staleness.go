package publish

import (
	"cmp"
	"math"
	"time"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// Staleness is the rule by which a node pushes its local model: when it has
// hasChanged, or has grown old, but never too often.
type Staleness struct {
	// MinInterval is the least time between two pushes, give or take a twentieth,
	// default 1 s: a block of ten samples at 10 Hz.
	MinInterval time.Duration
	// MaxAge is the time after which an unmoved model is pushed again, so that
	// the aggregator knows the node lives; default 10 s. The answer to a push
	// brings the fleet's model, so an unmoved node gets a change in the
	// fleet up to MaxAge later.
	MaxAge time.Duration
	// Angle is the sine of the angle that the direction u₁ may turn, Stretch
	// the relative change of σ₁, before the model counts as moved, as it does when a
	// channel's mean, of a centred one, has changed by Stretch. Both default to .05:
	// they change the node's signal in about that proportion, less than one pod does.
	Angle, Stretch float64
}

// faint is the root mean square load below which a model's moves are noise: an
// idle node's usage of a percent or two halves and doubles, and turns, all the
// time.
const faint = .02

// Validate returns a *field.Error.
func (s Staleness) Validate() error {
	d := s.withDefaults()
	switch {
	case s.MinInterval < 0:
		return refuse("Staleness.MinInterval", s.MinInterval, "negative")
	case d.MaxAge < d.MinInterval:
		return refuse("Staleness.MaxAge", s.MaxAge, "less than MinInterval")
	case !(d.Angle > 0 && d.Angle <= 1):
		return refuse("Staleness.Angle", s.Angle, "not in (0,1]")
	case !(d.Stretch > 0) || math.IsInf(d.Stretch, 0):
		return refuse("Staleness.Stretch", s.Stretch, "not positive and finite")
	}
	return nil
}

func (s Staleness) withDefaults() Staleness {
	s.MinInterval = cmp.Or(s.MinInterval, time.Second)
	s.MaxAge = cmp.Or(s.MaxAge, max(s.MinInterval, 10*time.Second))
	s.Angle = cmp.Or(s.Angle, .05)
	s.Stretch = cmp.Or(s.Stretch, .05)
	return s
}

// isDue reports whether to push a model whose time comes after wait. Models are made a
// MinInterval apart by default; one that was made just now is not kept for a moment,
// for to wake up again costs more than sending it early.
func (s Staleness) isDue(wait time.Duration, made bool) bool {
	return wait <= 0 || made && wait <= s.MinInterval/20
}

// Wait is the time from the push of last, nil for none, to that of next.
func (s Staleness) Wait(last, next *spaziov1.LocalModel) time.Duration {
	s = s.withDefaults()
	if last == nil || s.hasChanged(last, next) {
		return s.MinInterval
	}
	return s.MaxAge
}

// hasChanged reports whether next has something for the fleet that last had not: another
// schema, a cost now known, another mean, or, under load, a stretched σ₁ or a turned
// u₁.
func (s Staleness) hasChanged(last, next *spaziov1.LocalModel) bool {
	if last.GetSchema() != next.GetSchema() || last.GetModel().GetDim() != next.GetModel().GetDim() {
		return true
	}
	if len(last.GetCosts()) != len(next.GetCosts()) {
		return true
	}
	for i, cost := range next.GetCosts() {
		if cost.GetKnown() != last.GetCosts()[i].GetKnown() {
			return true
		}
	}
	if s.shifted(last.GetModel().GetMean(), next.GetModel().GetMean()) {
		return true
	}
	before, rmsBefore := leading(last.GetModel())
	after, rmsAfter := leading(next.GetModel())
	if max(rmsBefore, rmsAfter) < faint {
		return false
	}
	if math.Abs(rmsAfter-rmsBefore) > s.Stretch*rmsBefore {
		return true
	}
	return sine(before, after) > s.Angle
}

// shifted reports whether the mean of a centred model has moved, or the model has become,
// or ceased to be, one.
func (s Staleness) shifted(last, next []float64) bool {
	if len(last) != len(next) {
		return true
	}
	for i, v := range next {
		if math.Abs(v-last[i]) > s.Stretch {
			return true
		}
	}
	return false
}

// leading returns u₁ and the root mean square of the load along it, σ₁/√b.
func leading(m *spaziov1.Model) ([]float64, float64) {
	dim := int(m.GetDim())
	if len(m.GetSigma()) == 0 || len(m.GetU()) < dim {
		return nil, 0
	}
	return m.GetU()[:dim], m.GetSigma()[0] / math.Sqrt(float64(m.GetBlock()))
}

// sine is that of the angle between the lines along unit vectors u and v, by
// the remainder of the projection: 1 − (u·v)² would lose small angles.
func sine(u, v []float64) float64 {
	var along, rest float64
	for i := range u {
		along += u[i] * v[i]
	}
	for i := range u {
		r := u[i] - along*v[i]
		rest += r * r
	}
	return math.Sqrt(rest)
}
