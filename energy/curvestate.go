package energy

import "strconv"

// CurveState is what a Curve has learnt, a plain value: at each knot the power, the
// weight of the readings there and the variance of a reading about it; and the mean
// utilisation and power of the readings that the knot without load has learnt of, 0 W for
// none.
type CurveState struct {
	Watts, Weight, Variance [Knots]float64
	IdleAt, IdleWatts       float64
}

// Validate returns a *field.Error for the first field that no Curve can have made.
func (s CurveState) Validate() error {
	for _, f := range [...]struct {
		name   string
		values *[Knots]float64
		most   float64
	}{
		{"Watts", &s.Watts, maxPower},
		{"Weight", &s.Weight, maxWeight},
		{"Variance", &s.Variance, maxPower * maxPower},
	} {
		for i, v := range f.values {
			if err := amount(f.name+"["+strconv.Itoa(i)+"]", v, f.most); err != nil {
				return err
			}
		}
	}
	if err := amount("IdleAt", s.IdleAt, 1); err != nil {
		return err
	}
	return amount("IdleWatts", s.IdleWatts, maxPower)
}

// State returns what the curve has learnt; a prior is no part of it.
func (k *Curve) State() CurveState { return k.state }

// SetState makes the curve go on from s. A state that is not valid is a *field.Error
// and changes nothing.
func (k *Curve) SetState(s CurveState) error {
	if err := s.Validate(); err != nil {
		return err
	}
	k.state, k.dirty = s, true
	return nil
}
