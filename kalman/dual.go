package kalman

import "math"

const (
	noiseGain  = 0.05 // of the running variance of Δz at constant n
	noiseRange = 16.0 // R stays within this factor of Config.Noise
	inflation  = 16.0 // of P when an outlier turns out to be a change
)

// Dual is the centred pair of scalar filters of one channel, a plain value: a
// copy is a snapshot. The zero value has seen nothing. Its methods are pure, so
// a Dual is safe for concurrent use as any value is.
type Dual struct {
	// Level is μ, the headroom at MeanPods, and LevelVar its variance P_μ.
	Level, LevelVar float64
	// Cost is c and CostVar its variance P_c.
	Cost, CostVar float64
	// MeanPods is n̄.
	MeanPods float64
	// DiffVar is the running variance of Δz at constant n, 2R.
	DiffVar float64
	// LastSignal and LastPods are the newest measurement taken.
	LastSignal, LastPods float64
	// Outliers counts the outliers in a row.
	Outliers int
	// Started says that a measurement was taken.
	Started bool
}

// Verdict says what a step did with its measurement.
type Verdict uint8

const (
	// Taken: the measurement moved the estimate.
	Taken Verdict = iota
	// Frozen: containers churn.
	Frozen
	// Censored: the channel is saturated.
	Censored
	// Outlier: the innovation was too large to believe yet.
	Outlier
)

var verdicts = [...]string{"taken", "frozen", "censored", "outlier"}

func (v Verdict) String() string {
	if int(v) < len(verdicts) {
		return verdicts[v]
	}
	return "unknown"
}

// Step takes the headroom z ∈ [0, 1] at n ≥ 0 pods and returns the next state.
// A measurement out of range is a *FieldError and leaves the state as it was.
func (d Dual) Step(z, n float64, c Config) (Dual, Verdict, error) {
	if err := check(z, n); err != nil {
		return d, Outlier, err
	}
	next, v := d.step(z, n, c.withDefaults())
	return next, v, nil
}

func check(z, n float64) error {
	if !(z >= 0 && z <= 1) {
		return &FieldError{"Headroom", z, "must be in [0, 1]"}
	}
	if !(n >= 0) || math.IsInf(n, 0) {
		return &FieldError{"Pods", n, "must be finite and not negative"}
	}
	return nil
}

// step is Step on valid arguments and a complete Config.
func (d Dual) step(z, n float64, c Config) (Dual, Verdict) {
	if z <= 1-c.Saturation {
		return d, Censored
	}
	if !d.Started {
		return start(z, n, c), Taken
	}
	r := d.noise(c)
	prior := c.priorVar()
	d.LevelVar += c.LevelDrift * r
	if n != d.LastPods {
		d.CostVar = math.Min(d.CostVar+c.CostDrift*r, prior)
	}
	x := n - d.MeanPods
	nu := z - d.Level + d.Cost*x
	s := d.LevelVar + x*x*d.CostVar + r
	if nu*nu > c.Gate*s {
		d.Outliers++
		if d.Outliers < c.Patience {
			return d, Outlier
		}
		d.LevelVar *= inflation
		// The cost shares in the doubt as far as it shares in the innovation:
		// at constant n the change is one of level.
		d.CostVar = math.Min(d.CostVar*(1+(inflation-1)*x*x*d.CostVar/s), prior)
		s = d.LevelVar + x*x*d.CostVar + r
	}
	return d.update(z, n, x, nu, s, c), Taken
}

func start(z, n float64, c Config) Dual {
	return Dual{
		Level: z, LevelVar: c.Noise,
		Cost: c.Prior, CostVar: c.priorVar(),
		MeanPods: n, DiffVar: 2 * c.Noise,
		LastSignal: z, LastPods: n,
		Started: true,
	}
}

// update is the correction by innovation nu of variance s, then the move of the
// centre.
func (d Dual) update(z, n, x, nu, s float64, c Config) Dual {
	level, cost := d.LevelVar/s, -x*d.CostVar/s
	d.Level += level * nu
	d.LevelVar *= 1 - level
	if n > 0 { // at zero pods there is no cost to see
		d.Cost = math.Max(d.Cost+cost*nu, c.Floor*c.Prior)
		d.CostVar *= 1 + cost*x
	}
	if n == d.LastPods {
		diff := z - d.LastSignal
		d.DiffVar += noiseGain * (diff*diff - d.DiffVar)
	}
	move := c.MeanGain * (n - d.MeanPods)
	d.MeanPods += move
	d.Level -= d.Cost * move
	d.LastSignal, d.LastPods, d.Outliers = z, n, 0
	return d
}

// noise is R as measured, kept near the configured one.
func (d Dual) noise(c Config) float64 {
	return math.Min(math.Max(d.DiffVar/2, c.Noise/noiseRange), c.Noise*noiseRange)
}

func (c Config) priorVar() float64 {
	sd := c.PriorSD * c.Prior
	return sd * sd
}

// Estimate is what is known of one channel.
type Estimate struct {
	// Level is the headroom at MeanPods pods.
	Level, MeanPods float64
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
func (e Estimate) Capacity() float64 { return math.Max(e.Level+e.Cost*e.MeanPods, 0) }

// Estimate returns what d knows; before the first measurement the prior alone.
func (d Dual) Estimate(c Config) Estimate {
	return d.estimate(c.withDefaults())
}

func (d Dual) estimate(c Config) Estimate {
	if !d.Started {
		return Estimate{Cost: c.Prior}
	}
	e := Estimate{Level: d.Level, MeanPods: d.MeanPods, Cost: c.Prior, Started: true}
	if d.CostVar <= c.Known*c.priorVar() {
		e.Cost, e.CostSD, e.Known = d.Cost, math.Sqrt(d.CostVar), true
	}
	return e
}
