package kalman

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	noiseGain  = 0.05 // of the running variance of Δz at constant n
	noiseRange = 16.0 // R stays within this factor of Config.Noise

	// nearFull is how far below full a reading may be a bound as well: a channel
	// that counts waiting tasks is read to ±.05.
	nearFull = 0.05
	// contended is the headroom below which the processors are busy and the rest
	// of a CPU's usage is waiting, which is harder to measure.
	contended = 0.5
	// contradictions is how many contended readings in a row it takes to accept
	// that a channel is not full which the estimate calls full: with 9 tasks on 2
	// processors the share of time in which some task waits alternated between ½
	// and 1, and was never below 1 for a minute.
	contradictions = 60
	// alikeReadings is how many readings of a node whose pods come and go show
	// nearly the same pods, and so no more than one of them. With 1 the cost of
	// pods that differ most, in memory, was accepted too early; with 4 pods that
	// live for seconds and for minutes both did well.
	alikeReadings = 4
)

// State is what an estimator of one channel has learnt, a plain value: a copy is
// a snapshot, and safe for concurrent use as any value is. The zero value has
// seen nothing.
type State struct {
	// Level is μ, the headroom at MeanPods pods, and LevelVar its variance P_μ.
	Level, LevelVar float64
	// Cost is c and CostVar its variance P_c.
	Cost, CostVar float64
	// Cov is the covariance of Level and Cost. It is 0 here: other filters, which do
	// not centre the pod count, keep theirs in a State, too.
	Cov float64
	// MeanPods is n̄.
	MeanPods float64
	// DiffVar is the running variance of Δz at constant n, 2R.
	DiffVar float64
	// LastSignal and LastPods are the headroom, [Observation].Known added, and the pods of the
	// first measurement, or of the newest one that was Taken outside churn.
	LastSignal, LastPods float64
	// Outliers counts the outliers in a row.
	Outliers int
	// Contended counts the contended readings in a row of a channel that is full
	// by the estimate.
	Contended int
	// Started reports that a measurement was taken.
	Started bool
}

// Validate reports the first field that no Step can have made, as
// an ErrInvalid: for a State that was stored or sent.
func (s State) Validate() error {
	for _, f := range [...]struct {
		name      string
		value     float64
		low, high float64
	}{
		{"Level", s.Level, -maxLevel, maxLevel},
		{"LevelVar", s.LevelVar, 0, maxVar},
		{"Cost", s.Cost, 0, maxLevel},
		{"CostVar", s.CostVar, 0, maxVar},
		{"Cov", s.Cov, -maxVar, maxVar},
		{"MeanPods", s.MeanPods, 0, MaxPods},
		{"DiffVar", s.DiffVar, 0, maxVar},
		{"LastSignal", s.LastSignal, 0, 1},
		{"LastPods", s.LastPods, 0, MaxPods},
		{"Outliers", float64(s.Outliers), 0, 100},
		{"Contended", float64(s.Contended), 0, contradictions},
	} {
		if !(f.value >= f.low && f.value <= f.high) {
			return refuse("State."+f.name, f.value, "is not a state")
		}
	}
	if s.Cov*s.Cov > s.LevelVar*s.CostVar*(1+1e-6) {
		return refuse("State.Cov", s.Cov, "is more than the variances allow")
	}
	return nil
}

// Bounds of a State that arguments and a Config in range cannot leave.
const (
	maxLevel = 1e60
	maxVar   = 1e120
)

// Verdict says what a step did with its measurement.
type Verdict uint8

const (
	// Taken: the measurement moved the estimate.
	Taken Verdict = iota
	// Frozen: there was nothing to learn from (Observation.Pause).
	Frozen
	// Censored: the channel is full or nearly so, and the bound that this sets
	// agrees with the estimate.
	Censored
	// Outlier: the innovation was too large to be accepted yet.
	Outlier
)

var verdicts = [...]string{"taken", "frozen", "censored", "outlier"}

func (v Verdict) String() string {
	if int(v) < len(verdicts) {
		return verdicts[v]
	}
	return "unknown"
}

// MarshalText writes the verdict's name; one that does not exist is
// an ErrInvalid.
func (v Verdict) MarshalText() ([]byte, error) {
	if int(v) >= len(verdicts) {
		return nil, refuse("Verdict", v, "is not a verdict")
	}
	return []byte(verdicts[v]), nil
}

// UnmarshalText reads the name of a verdict. Any other text is an error that
// lists the names.
func (v *Verdict) UnmarshalText(text []byte) error {
	i := slices.Index(verdicts[:], string(text))
	if i < 0 {
		return fmt.Errorf("kalman: %q is not a verdict: %s", text, strings.Join(verdicts[:], ", "))
	}
	*v = Verdict(i)
	return nil
}

// Step takes the headroom z ∈ [0, 1] at n ∈ [0, MaxPods] pods and returns the
// next state and what it did with the measurement. An argument out of range is
// an ErrInvalid and leaves the state as it was. Step is pure; PerChannel is the
// faster form, which checks its Config once.
func Step(s State, z, n float64, c Config) (State, Verdict, error) {
	if err := c.Validate(); err != nil {
		return s, Outlier, err
	}
	if err := s.Validate(); err != nil {
		return s, Outlier, err
	}
	if err := check(z, n, 0); err != nil {
		return s, Outlier, err
	}
	t := c.tuning()
	var tested Innovation
	v := s.step(reading{headroom: z}, n, &t, &tested)
	return s, v, nil
}

func check(z, n, known float64) error {
	if !(z >= 0 && z <= 1) {
		return refuse("Headroom", z, "must be in [0, 1]")
	}
	if !(n >= 0 && n <= MaxPods) {
		return refuse("Pods", n, "must be in [0, 1e6]")
	}
	if !(known >= 0) {
		return refuse("Known", known, "must not be negative")
	}
	return nil
}

// reading is a headroom, and the share that pods take of whom it is known.
type reading struct{ headroom, known float64 }

// without is the headroom that there would be without the known pods.
func (z reading) without() float64 { return min(z.headroom+z.known, 1) }

// Innovation is the test that a measurement underwent. It is zero where there
// was none: for a frozen or censored measurement and for the first.
type Innovation struct {
	// Value is ν, the headroom measured less the one expected, and Variance its
	// variance S. The measurement is an outlier where ν²/S exceeds Config.Gate.
	Value, Variance float64
}

// step is Step in place, on valid arguments: the gates around the update. It leaves
// in tested what the gate has seen.
func (s *State) step(read reading, n float64, t *tuning, tested *Innovation) Verdict {
	*tested = Innovation{}
	if !s.Started {
		return s.begin(read, n, 0, t)
	}
	r := s.noise(t)
	if s.bounds(read, n, r, false, t) {
		return Censored
	}
	z := read.without()
	differ := s.drift(n, r, t)
	nu, variance, cost := s.innovation(z, n, r)
	*tested = Innovation{nu, variance}
	changed := nu*nu > t.Gate*variance
	if changed {
		s.Outliers++
		if s.Outliers < t.Patience {
			s.LevelVar -= differ // the next step adds the same pods again
			return Outlier
		}
		s.inflate(nu*nu, variance, cost, t)
		nu, variance, _ = s.innovation(z, n, r)
	}
	s.update(z, n, nu, variance, r, t)
	if n == s.LastPods && !changed {
		diff := z - s.LastSignal
		s.DiffVar += noiseGain * (diff*diff - s.DiffVar)
	}
	s.LastSignal, s.LastPods, s.Outliers = z, n, 0
	return Taken
}

// churnNoise is what churn adds to the variance of a reading at n pods, of which
// so many have just come or gone (package doc, Churn).
func churnNoise(cost, n, moving float64, t *tuning) float64 {
	return cost * cost * (1 + n + alikeReadings*t.spreadVar*n + moving*moving)
}

// stepChurn is step while pods come and go. It leaves alone what belongs to pods
// that stay: what they differ by, and the noise.
func (s *State) stepChurn(read reading, n, moving float64, t *tuning, tested *Innovation) Verdict {
	*tested = Innovation{}
	if !s.Started {
		return s.begin(read, n, churnNoise(t.Prior, n, moving, t), t)
	}
	r := s.noise(t) + churnNoise(s.Cost, n, moving, t)
	if s.bounds(read, n, r, true, t) {
		return Censored
	}
	z := read.without()
	nu, variance, _ := s.innovation(z, n, r)
	*tested = Innovation{nu, variance}
	if nu*nu > t.Gate*variance {
		return Outlier
	}
	s.update(z, n, nu, variance, r, t)
	return Taken
}

// bounds reports whether the measurement is a bound which the estimate meets, so that
// nothing is learnt from it (package doc, Full channels).
func (s *State) bounds(read reading, n, r float64, churn bool, t *tuning) bool {
	z := read.headroom
	if z <= t.censored || z >= contended {
		s.Contended = 0
	}
	nu, variance, _ := s.innovation(read.without(), n, r)
	if nu <= 0 { // less room than expected
		return false
	}
	if z <= t.near {
		return true
	}
	expected := z - nu
	if churn { // by guesses: by a cost that is a standard deviation lower, too
		expected += math.Sqrt(variance - r)
	}
	byPods := s.Level+s.Cost*s.MeanPods > t.near // not by load beside them
	if z >= contended || expected > t.near || !byPods || s.Contended >= contradictions {
		return false
	}
	s.Contended++
	return true
}

// noise is R.
func (s *State) noise(t *tuning) float64 { return min(max(s.DiffVar/2, t.minNoise), t.maxNoise) }

// begin takes the first measurement, of Config.Noise and the given variance
// besides.
func (s *State) begin(read reading, n, variance float64, t *tuning) Verdict {
	if read.headroom <= t.censored {
		return Censored
	}
	z := read.without()
	*s = State{
		Level: z, LevelVar: t.Noise + variance,
		Cost: t.Prior, CostVar: t.priorVar,
		MeanPods: n, DiffVar: 2 * t.Noise,
		LastSignal: z, LastPods: n,
		Started: true,
	}
	return Taken
}

// inflate opens the state to a change that was taken for outliers, until ν²/S
// is 1. The cost gets its share of the increase by its share of the innovation: at
// constant n the change is one of level.
func (s *State) inflate(squared, variance, cost float64, t *tuning) {
	if squared <= variance { // a Gate below 1
		return
	}
	share := cost / variance
	s.LevelVar += (squared - variance) * (1 - share)
	s.raiseCostVar(s.CostVar*(squared/variance-1)*share, t)
}
