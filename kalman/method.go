package kalman

import "math"

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
	// Recursive is recursive least squares on (C, c) with forgetting.
	Recursive
)

var methods = [...]string{"centred", "naive", "delta", "joint", "recursive"}

func (m Method) String() string {
	if int(m) < len(methods) {
		return methods[m]
	}
	return "unknown"
}

// Methods lists all methods, for tables.
func Methods() []Method { return []Method{Centred, Naive, Delta, Joint, Recursive} }

func (m Method) correlated() bool { return m == Joint || m == Recursive }

// drift adds what may have changed since the last measurement. The cost drifts
// only while the pods move: at constant n nothing would take the doubt away
// again, and by morning the node would offer nothing.
func (s *State) drift(n, r, prior float64, c *Config) {
	moved := n != s.LastPods
	if c.Method == Recursive {
		s.LevelVar /= c.Forgetting
		if moved {
			s.Cov /= c.Forgetting
			s.setCostVar(s.CostVar/c.Forgetting, prior)
		}
		return
	}
	s.LevelVar += c.LevelDrift * r
	if moved {
		s.setCostVar(s.CostVar+c.CostDrift*r, prior)
	}
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
	case Joint, Recursive:
		cost = n*n*s.CostVar - 2*n*s.Cov
		return z + s.Cost*n - s.Level, s.LevelVar + cost + r, math.Max(cost, 0)
	}
	x := n - s.MeanPods
	cost = x * x * s.CostVar
	return z - s.Level + s.Cost*x, s.LevelVar + cost + r, cost
}

// update is the correction by innovation nu of the given variance.
func (s *State) update(z, n, nu, variance, r float64, c *Config) {
	switch c.Method {
	case Naive:
		s.updateNaive(z, n, nu, variance, r, c)
	case Delta:
		s.updateDelta(z, n, nu, variance, r, c)
	case Joint, Recursive:
		s.updateJoint(n, nu, variance, c)
	default:
		s.updateCentred(n, nu, variance, c)
	}
}

// updateCentred corrects level and cost, each by its own share, and moves the
// centre.
func (s *State) updateCentred(n, nu, variance float64, c *Config) {
	x := n - s.MeanPods
	level, cost := s.LevelVar/variance, -x*s.CostVar/variance
	s.Level += level * nu
	s.LevelVar *= 1 - level
	s.correctCost(n, cost*nu, 1+cost*x, c)
	move := c.MeanGain * (n - s.MeanPods)
	s.MeanPods += move
	s.Level -= s.Cost * move
}

// correctCost moves the cost within its bounds. At zero pods there is none to
// see.
func (s *State) correctCost(n, by, shrink float64, c *Config) {
	if n > 0 {
		s.Cost = math.Max(s.Cost+by, c.Floor*c.Prior)
		s.CostVar *= shrink
	}
}

func (s *State) updateNaive(z, n, nu, variance, r float64, c *Config) {
	level := s.LevelVar / variance
	s.Level = math.Max(s.Level+level*nu, 0)
	s.LevelVar *= 1 - level
	gain := s.CostVar * n / (n*n*s.CostVar + r)
	s.correctCost(n, gain*(s.Level-z-n*s.Cost), 1-gain*n, c)
}

func (s *State) updateDelta(z, n, nu, variance, r float64, c *Config) {
	x := n - s.LastPods
	gain := -x * s.CostVar / variance
	s.correctCost(math.Abs(x), gain*nu, 1+gain*x, c)
	level := s.LevelVar / (s.LevelVar + r)
	s.Level = math.Max(s.Level+level*(z+s.Cost*n-s.Level), 0)
	s.LevelVar *= 1 - level
}

// updateJoint is the two-dimensional filter with H = (1, −n).
func (s *State) updateJoint(n, nu, variance float64, c *Config) {
	ph0, ph1 := s.LevelVar-n*s.Cov, s.Cov-n*s.CostVar // P·Hᵀ
	level, cost := ph0/variance, ph1/variance
	s.Level = math.Max(s.Level+level*nu, 0)
	s.Cost = math.Max(s.Cost+cost*nu, c.Floor*c.Prior)
	s.LevelVar = math.Max(s.LevelVar-level*ph0, 0)
	s.CostVar = math.Max(s.CostVar-cost*ph1, 0)
	s.Cov -= level * ph1
}
