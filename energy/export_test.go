package energy

import "cmp"

// CurveState is a Curve's learnt state, for tests that begin with one.
type CurveState = curveState

// SetState makes the curve continue from s.
func (k *Curve) SetState(s CurveState) { k.state, k.dirty = s, true }

// State returns the curve's learnt state.
func (k *Curve) State() CurveState { return k.state }

const (
	MaxPods  = maxPods
	MaxZones = maxZones
	Knots    = curveKnots
)

var (
	DefaultWorkloads = defaultBook.Workloads
	Goodness         = goodness
)

// BookConfig configures a Book; zero fields have the defaults.
type BookConfig = bookConfig

// NewBookOf returns an empty book with this configuration.
func NewBookOf(c BookConfig) *Book {
	return newBook(bookConfig{
		HalfLife: cmp.Or(c.HalfLife, defaultBook.HalfLife), MinAge: cmp.Or(c.MinAge, defaultBook.MinAge),
		Absence: cmp.Or(c.Absence, defaultBook.Absence), Workloads: cmp.Or(c.Workloads, defaultBook.Workloads),
	})
}
