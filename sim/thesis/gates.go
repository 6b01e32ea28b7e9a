package thesis

import (
	"math"

	"github.com/spazio-scheduler/spazio/kalman"
)

// The constants of package kalman's gates, whose reasons stand there.
const (
	noiseGain      = 0.05
	noiseRange     = 16.0
	nearFull       = 0.05
	contended      = 0.5
	contradictions = 60
	alikeReadings  = 4
)

// channel is the filter of one channel behind the gates of package kalman.
type channel struct {
	algebra
	config   kalman.Config // with its defaults
	priorVar float64       // of the cost
	floor    float64       // of the cost
	state    kalman.State
}

// step takes channel i of a valid observation, and leaves in tested what the gate of
// outliers has seen.
func (c *channel) step(o *kalman.Observation, i int, tested *kalman.Innovation) kalman.Verdict {
	read, z, n := o.Headroom[i], o.Headroom[i], o.Pods
	if o.Known != nil { // the headroom that there would be without the known pods
		z = min(z+o.Known[i], 1)
	}
	if o.Load != nil {
		n = o.Load[i]
	}
	s := &c.state
	if !s.Started {
		return c.begin(read, z, n, o)
	}
	r := min(max(s.DiffVar/2, c.config.Noise/noiseRange), c.config.Noise*noiseRange)
	if o.Churn {
		r += c.churnNoise(s.Cost, n, o.Transitioning)
	}
	if c.bounds(read, z, n, r, o.Churn) {
		return kalman.Censored
	}
	differ := 0.
	if !o.Churn {
		differ = c.drift(n, r)
	}
	nu, variance, cost := c.innovation(s, z, n, r)
	*tested = kalman.Innovation{Value: nu, Variance: variance}
	changed := nu*nu > c.config.Gate*variance
	switch {
	case changed && o.Churn:
		return kalman.Outlier
	case changed:
		s.Outliers++
		if s.Outliers < c.config.Patience {
			s.LevelVar -= differ // the next step adds the same pods again
			return kalman.Outlier
		}
		c.inflate(nu*nu, variance, cost)
		nu, variance, _ = c.innovation(s, z, n, r)
	}
	c.update(s, z, n, nu, variance, r, c.floor)
	if o.Churn { // what belongs to pods that stay is left alone
		return kalman.Taken
	}
	if n == s.LastPods && !changed {
		diff := z - s.LastSignal
		s.DiffVar += noiseGain * (diff*diff - s.DiffVar)
	}
	s.LastSignal, s.LastPods, s.Outliers = z, n, 0
	return kalman.Taken
}

// begin takes the first measurement: C = z + c·n is as uncertain as c makes it.
func (c *channel) begin(read, z, n float64, o *kalman.Observation) kalman.Verdict {
	if read <= 1-c.config.Saturation {
		return kalman.Censored
	}
	prior := c.config.Prior
	c.state = kalman.State{
		Level: z + prior*n, LevelVar: c.config.Noise + n*n*c.priorVar,
		Cost: prior, CostVar: c.priorVar,
		DiffVar: 2 * c.config.Noise, LastSignal: z, LastPods: n,
		Started: true,
	}
	if _, ok := c.algebra.(joint); ok {
		c.state.Cov = n * c.priorVar
	}
	if o.Churn {
		c.state.LevelVar += c.churnNoise(prior, n, o.Transitioning)
	}
	return kalman.Taken
}

// churnNoise is what churn adds to the variance of a reading at n pods, of which so
// many have just come or gone.
func (c *channel) churnNoise(cost, n, moving float64) float64 {
	return cost * cost * (1 + n + alikeReadings*(c.config.Spread*c.config.Spread)*n + moving*moving)
}

// bounds reports whether the measurement is a bound that the estimate meets, and so
// teaches nothing.
func (c *channel) bounds(read, z, n, r float64, churn bool) bool {
	s := &c.state
	full, near := 1-c.config.Saturation, 1-c.config.Saturation+nearFull
	if read <= full || read >= contended {
		s.Contended = 0
	}
	nu, variance, _ := c.innovation(s, z, n, r)
	if nu <= 0 { // less room than expected
		return false
	}
	if read <= near {
		return true
	}
	expected := read - nu
	if churn { // by guesses: by a cost that is a standard deviation lower, too
		expected += math.Sqrt(variance - r)
	}
	byPods := s.Level > near // not by load beside them
	if read >= contended || expected > near || !byPods || s.Contended >= contradictions {
		return false
	}
	s.Contended++
	return true
}

// drift adds what may have changed since the last measurement, and returns the part
// of it that is due to pods that differ.
func (c *channel) drift(n, r float64) (differ float64) {
	s := &c.state
	differ = c.config.Spread * c.config.Spread * s.Cost * s.Cost * math.Abs(n-s.LastPods)
	s.LevelVar += c.config.LevelDrift*r + differ
	if n != s.LastPods {
		c.doubtCost(c.config.CostDrift * r)
	}
	return differ
}

// doubtCost adds q to P_c, at most up to its prior.
func (c *channel) doubtCost(q float64) {
	c.state.CostVar += max(min(q, c.priorVar-c.state.CostVar), 0)
}

// inflate opens the state to a change that was taken for outliers, until ν²/S is 1.
// The cost shares in the doubt as far as it shares in the innovation.
func (c *channel) inflate(squared, variance, cost float64) {
	if squared <= variance { // a Gate below 1
		return
	}
	share := cost / variance
	c.state.LevelVar += (squared - variance) * (1 - share)
	c.doubtCost(c.state.CostVar * (squared/variance - 1) * share)
}
