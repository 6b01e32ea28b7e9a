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
	// Known is false until the pod count has moved enough, and while the cost is
	// at its floor or within two standard deviations of it.
	Known bool
	// Small reports that the pod count has moved enough, and that the cost is unknown
	// because it is so near its floor: the prior is more than a pod takes.
	Small bool
	// Started is false until a measurement was taken; Level means nothing then.
	Started bool
}

// Capacity is C, the headroom at zero pods that Level and Cost imply, ≥ 0. It
// exceeds 1 where pods that run take less than those that come and go.
func (e Estimate) Capacity() float64 { return max(e.Level+e.Cost*e.MeanPods, 0) }

// Estimate returns what s knows; before the first measurement the prior alone.
func (s State) Estimate(c Config) Estimate {
	t := c.tuning()
	var e Estimate
	s.estimateTo(&e, &t)
	return e
}

// known reports that the cost was learnt and is two standard deviations or more above
// its floor, small that it was learnt and is not.
func (s *State) known(t *tuning) (known, small bool) {
	above := s.Cost - t.floor
	learnt := s.CostVar <= t.knownVar
	apart := above > 0 && above*above >= 4*s.CostVar
	return learnt && apart, learnt && !apart
}

func (s *State) estimateTo(e *Estimate, t *tuning) {
	if !s.Started {
		*e = Estimate{Cost: t.Prior}
		return
	}
	level, variance, mean := s.Level, s.LevelVar, s.MeanPods
	if s.Cov != 0 && s.CostVar > 0 { // to where level and cost are uncorrelated
		mean = s.Cov / s.CostVar
		level -= s.Cost * mean
		variance = max(variance-s.Cov*mean, 0)
	}
	e.Started = true
	e.LevelSD = math.Sqrt(variance)
	if e.Known, e.Small = s.known(t); e.Known {
		e.Level, e.MeanPods, e.Cost, e.CostSD = level, mean, s.Cost, math.Sqrt(s.CostVar)
		return
	}
	// Without a cost of its own the node keeps what it has measured: the level
	// at the last pod count.
	e.Level, e.MeanPods = level+s.Cost*(mean-s.LastPods), s.LastPods
	e.Cost, e.CostSD = t.Prior, 0
}
