package kalman

import "math"

// Estimate is what is known of one channel. Its level and its cost are
// uncorrelated: MeanPods is the pod count at which they are.
type Estimate struct {
	// Level is the headroom at MeanPods pods, and LevelSD its standard
	// deviation.
	Level, LevelSD, MeanPods float64
	// Cost is the headroom one pod takes, > 0, and CostSD its standard
	// deviation. An unknown cost is the prior, which is cautious by itself, so
	// its CostSD is 0.
	Cost, CostSD float64
	// Known is false until the pod count has moved enough.
	Known bool
	// Started is false until a measurement was taken; Level means nothing then.
	Started bool
}

// Capacity is C, the headroom at zero pods that Level and Cost imply, ≥ 0.
func (e Estimate) Capacity() float64 { return max(e.Level+e.Cost*e.MeanPods, 0) }

// AvailSD is the standard deviation of avail = C/c − n in pods, AvailSD of its
// level and cost; +Inf where the cost is not positive.
func (e Estimate) AvailSD() float64 { return AvailSD(e.Level, e.LevelSD, e.Cost, e.CostSD) }

// AvailSD returns the standard deviation, in pods, of a room level/cost whose
// level and cost are independent, to first order:
//
//	avail = μ/c + n̄ − n,  ∂avail/∂μ = 1/c,  ∂avail/∂c = −μ/c²
//	sd(avail) = √( sd(μ)² + (μ/c)²·sd(c)² ) / c
//
// For the measured room h/c + n₀ − n pass h and the standard deviation of the
// noise. The next term of the expansion is some 4·sd(c)²/c²: the result is 4 %
// too low at sd(c)/c = .1 and 20 % at .2, beyond which 1/c has hardly a standard
// deviation. It is +Inf where the cost is not positive, a standard deviation is
// negative or an argument is NaN; it is never NaN.
func AvailSD(level, levelSD, cost, costSD float64) float64 {
	if !(cost > 0 && levelSD >= 0 && costSD >= 0) {
		return math.Inf(1)
	}
	sd := math.Hypot(levelSD/cost, level/cost*(costSD/cost))
	if math.IsNaN(sd) {
		return math.Inf(1)
	}
	return sd
}

// Estimate returns what s knows; before the first measurement the prior alone.
func (s State) Estimate(c Config) Estimate {
	t := c.tuning()
	return s.estimate(&t)
}

func (s *State) estimate(t *tuning) Estimate {
	if !s.Started {
		return Estimate{Cost: t.Prior}
	}
	e := Estimate{Level: s.Level, MeanPods: s.MeanPods, Cost: s.Cost, Started: true}
	variance := s.LevelVar
	if s.Cov != 0 && s.CostVar > 0 { // to where level and cost are uncorrelated
		e.MeanPods = s.Cov / s.CostVar
		e.Level -= e.Cost * e.MeanPods
		variance = max(variance-s.Cov*e.MeanPods, 0)
	}
	e.LevelSD = math.Sqrt(variance)
	if s.CostVar <= t.knownVar {
		e.CostSD, e.Known = math.Sqrt(s.CostVar), true
		return e
	}
	// Without a cost of its own the node keeps what it has measured: the level
	// at the last pod count.
	e.Level, e.MeanPods = e.Level+e.Cost*(e.MeanPods-s.LastPods), s.LastPods
	e.Cost = t.Prior
	return e
}
