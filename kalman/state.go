package kalman

import "math"

const (
	noiseGain  = 0.05 // of the running variance of Δz at constant n
	noiseRange = 16.0 // R stays within this factor of Config.Noise
	inflation  = 16.0 // of P when an outlier turns out to be a change
)

// State is what an estimator of one channel has learnt, a plain value: a copy is
// a snapshot, and safe for concurrent use as any value is. The zero value has
// seen nothing.
type State struct {
	// Level is the headroom at MeanPods pods, and LevelVar its variance: μ and
	// P_μ of the centred filter, C and P_C of the others, whose MeanPods is 0.
	Level, LevelVar float64
	// Cost is c and CostVar its variance P_c.
	Cost, CostVar float64
	// Cov is the covariance of Level and Cost (Joint and Recursive).
	Cov float64
	// MeanPods is n̄ (Centred).
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

// Step takes the headroom z ∈ [0, 1] at n ≥ 0 pods and returns the next state
// and what it did with the measurement. One out of range is a *FieldError and
// leaves the state as it was.
func Step(s State, z, n float64, c Config) (State, Verdict, error) {
	if err := check(z, n); err != nil {
		return s, Outlier, err
	}
	c = c.withDefaults()
	v := s.step(z, n, &c)
	return s, v, nil
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

// step is Step in place, on valid arguments and a complete Config: the gates
// that all methods share around the method's own update.
func (s *State) step(z, n float64, c *Config) Verdict {
	if z <= 1-c.Saturation {
		return Censored
	}
	if !s.Started {
		*s = start(z, n, c)
		return Taken
	}
	r := s.noise(c)
	prior := c.priorVar()
	s.drift(n, r, prior, c)
	nu, variance, cost := s.innovation(z, n, r, c.Method)
	if nu*nu > c.Gate*variance {
		s.Outliers++
		if s.Outliers < c.Patience {
			return Outlier
		}
		s.inflate(cost/variance, prior)
		nu, variance, _ = s.innovation(z, n, r, c.Method)
	}
	s.update(z, n, nu, variance, r, c)
	if n == s.LastPods {
		diff := z - s.LastSignal
		s.DiffVar += noiseGain * (diff*diff - s.DiffVar)
	}
	s.LastSignal, s.LastPods, s.Outliers = z, n, 0
	return Taken
}

func start(z, n float64, c *Config) State {
	s := State{
		Level: z, LevelVar: c.Noise,
		Cost: c.Prior, CostVar: c.priorVar(),
		MeanPods: n, DiffVar: 2 * c.Noise,
		LastSignal: z, LastPods: n,
		Started: true,
	}
	if c.Method != Centred { // C = z + c·n is as uncertain as c makes it
		s.Level, s.MeanPods = z+c.Prior*n, 0
		s.LevelVar += n * n * s.CostVar
		if c.Method.correlated() {
			s.Cov = n * s.CostVar
		}
	}
	return s
}

// inflate opens the state to a change that was taken for outliers. The cost
// shares in the doubt as far as it shares in the innovation: at constant n the
// change is one of level.
func (s *State) inflate(cost, prior float64) {
	s.LevelVar *= inflation
	s.setCostVar(s.CostVar*(1+(inflation-1)*cost), prior)
}

// setCostVar sets P_c, at most its prior, and keeps the correlation.
func (s *State) setCostVar(v, prior float64) {
	v = math.Min(v, prior)
	if s.Cov != 0 {
		limit := math.Sqrt(v * s.LevelVar)
		s.Cov = math.Max(-limit, math.Min(limit, s.Cov))
	}
	s.CostVar = v
}

// noise is R as measured, kept near the configured one.
func (s *State) noise(c *Config) float64 {
	return math.Min(math.Max(s.DiffVar/2, c.Noise/noiseRange), c.Noise*noiseRange)
}

func (c *Config) priorVar() float64 {
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

// Estimate returns what s knows; before the first measurement the prior alone.
func (s State) Estimate(c Config) Estimate {
	c = c.withDefaults()
	return s.estimate(&c)
}

func (s *State) estimate(c *Config) Estimate {
	if !s.Started {
		return Estimate{Cost: c.Prior}
	}
	e := Estimate{Level: s.Level, MeanPods: s.MeanPods, Cost: s.Cost, Started: true}
	if s.CostVar <= c.Known*c.priorVar() {
		e.CostSD, e.Known = math.Sqrt(s.CostVar), true
		return e
	}
	// Without a cost of its own the node keeps what it has measured: the level
	// at the last pod count.
	e.Level, e.MeanPods = s.Level+s.Cost*(s.MeanPods-s.LastPods), s.LastPods
	e.Cost = c.Prior
	return e
}
