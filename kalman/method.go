package kalman

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Method is the way level and cost share an innovation.
type Method uint8

const (
	// Centred is the dual filter on the centred pod count (default).
	Centred Method = iota
	// Naive is the dual filter of the thesis: two scalar filters that each take
	// the whole innovation, so that the pair rings. For comparison.
	Naive
	// Delta learns the cost from Δz = −c·Δn alone, the thesis's first approach.
	Delta
	// Joint is the two-dimensional filter on (C, c), the thesis's second.
	Joint
)

var methods = [...]string{"centred", "naive", "delta", "joint"}

func (m Method) String() string {
	if int(m) < len(methods) {
		return methods[m]
	}
	return "unknown"
}

// MarshalText writes the method's name; one that does not exist is a
// *FieldError.
func (m Method) MarshalText() ([]byte, error) {
	if int(m) >= len(methods) {
		return nil, refuse("Method", m, "is not a method")
	}
	return []byte(methods[m]), nil
}

// UnmarshalText reads the name of a method. Any other text is an error that
// lists the names.
func (m *Method) UnmarshalText(text []byte) error {
	i, err := indexOf(methods[:], string(text), "method")
	if err == nil {
		*m = Method(i)
	}
	return err
}

func indexOf(names []string, name, kind string) (int, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return 0, fmt.Errorf("kalman: %q is not a %s: %s", name, kind, strings.Join(names, ", "))
	}
	return i, nil
}

// Methods lists all methods, for tables.
func Methods() []Method { return []Method{Centred, Naive, Delta, Joint} }

// drift adds what may have changed since the last measurement. The cost drifts
// only while the pods move: at constant n nothing would take the doubt away
// again, and by morning the node would offer nothing.
//
// It returns the part of it that is due to pods that differ: each that came or
// went differs from the mean by sd κ·c, which stays in the level as long as the
// pod does.
func (s *State) drift(n, r float64, t *tuning) (differ float64) {
	differ = t.spreadVar * s.Cost * s.Cost * math.Abs(n-s.LastPods)
	s.LevelVar += t.LevelDrift*r + differ
	if n != s.LastPods {
		s.doubtCost(t.CostDrift*r, t)
	}
	return differ
}

// doubtCost adds q to P_c, at most up to its prior. A cost that changes leaves
// the capacity alone. Seen from n̄ it moves the level too, and the pod count at
// which level and cost are uncorrelated moves towards zero.
func (s *State) doubtCost(q float64, t *tuning) {
	q = max(min(q, t.priorVar-s.CostVar), 0)
	if t.Method != Centred {
		s.CostVar += q
		return
	}
	if q == 0 {
		return
	}
	sum := s.CostVar + q
	back := q / sum * s.MeanPods
	s.LevelVar += back * s.MeanPods * s.CostVar
	s.Level += s.Cost * back
	s.MeanPods -= back
	s.CostVar = sum
}

// innovation returns ν, its variance S and the part of S that the cost makes.
func (s *State) innovation(z, n, r float64, m Method) (nu, variance, cost float64) {
	switch m {
	case Naive:
		return z + s.Cost*n - s.Level, s.LevelVar + r, 0
	case Delta:
		x := n - s.LastPods
		cost = x * x * s.CostVar
		return z - s.LastSignal + s.Cost*x, cost + 2*r, cost
	case Joint:
		if s.CostVar > 0 { // about the pod count at which it is uncorrelated
			x := n - s.Cov/s.CostVar
			cost = x * x * s.CostVar
		}
		return z + s.Cost*n - s.Level, max(s.LevelVar+n*n*s.CostVar-2*n*s.Cov, cost) + r, cost
	}
	x := n - s.MeanPods
	cost = x * x * s.CostVar
	return z - s.Level + s.Cost*x, s.LevelVar + cost + r, cost
}

// update is the correction by innovation nu of the given variance.
func (s *State) update(z, n, nu, variance, r float64, t *tuning) {
	switch t.Method {
	case Naive:
		s.updateNaive(z, n, nu, variance, r, t)
	case Delta:
		s.updateDelta(z, n, nu, variance, r, t)
	case Joint:
		s.updateJoint(n, nu, variance, t)
	default:
		s.updateCentred(z, n, nu, variance, r, t)
	}
}

// updateCentred corrects level and cost, each by its own share. The level and
// the centre move by one gain, so they are running means of z and n over the
// same measurements, and the line through them is uncorrelated with its slope.
func (s *State) updateCentred(z, n, nu, variance, r float64, t *tuning) {
	x := n - s.MeanPods
	without := s.LevelVar + r // S without the doubt in the cost
	gain, scale := s.LevelVar/without, 1/variance
	s.Cost = max(s.Cost-x*s.CostVar*scale*nu, t.floor)
	s.CostVar *= without * scale
	s.Level += gain * (z - s.Level)
	s.LevelVar = gain * r
	s.MeanPods += gain * x
}

// correctCost moves the cost within its bounds.
func (s *State) correctCost(by, shrink float64, t *tuning) {
	s.Cost = max(s.Cost+by, t.floor)
	s.CostVar *= max(shrink, 0)
}

func (s *State) updateNaive(z, n, nu, variance, r float64, t *tuning) {
	level := s.LevelVar / variance
	s.Level = max(s.Level+level*nu, 0)
	s.LevelVar *= 1 - level
	gain := s.CostVar * n / (n*n*s.CostVar + r)
	s.correctCost(gain*(s.Level-z-n*s.Cost), 1-gain*n, t)
}

func (s *State) updateDelta(z, n, nu, variance, r float64, t *tuning) {
	x := n - s.LastPods
	gain := -x * s.CostVar / variance
	s.correctCost(gain*nu, 1+gain*x, t)
	level := s.LevelVar / (s.LevelVar + r)
	s.Level = max(s.Level+level*(z+s.Cost*n-s.Level), 0)
	s.LevelVar *= 1 - level
}

// updateJoint is the two-dimensional filter with H = (1, −n).
func (s *State) updateJoint(n, nu, variance float64, t *tuning) {
	ph0, ph1 := s.LevelVar-n*s.Cov, s.Cov-n*s.CostVar // P·Hᵀ
	level, cost := ph0/variance, ph1/variance
	s.Level = max(s.Level+level*nu, 0)
	s.Cost = max(s.Cost+cost*nu, t.floor)
	s.LevelVar = max(s.LevelVar-level*ph0, 0)
	s.CostVar = max(s.CostVar-cost*ph1, 0)
	s.Cov -= level * ph1
	s.bindCov()
}

// bindCov keeps the covariance within what the variances allow, which rounding
// and the caps of the variances may leave.
func (s *State) bindCov() {
	limit := math.Sqrt(s.CostVar * s.LevelVar)
	s.Cov = max(-limit, min(limit, s.Cov))
}
