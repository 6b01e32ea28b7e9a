package profile

import (
	"math"
	"time"
)

// Evidence is what the pods of a workload have shown of one resource: their number
// in weights that halve every half-life, the mean of their values x and its
// variance between pods,
//
//	n = Σ w·2^(−(At−at)/halfLife),  x̄ = Σ wx/n,  s² = Σ w(x−x̄)²/n
//
// and the last values that contradicted it. A pod is one observation, however
// often it was read: an estimate that counts readings believes itself. It is a
// plain value, safe for concurrent reading; the zero value knows nothing.
type Evidence struct {
	Pods, Mean, Var float64
	// doubts are the first Doubt values in a row that lie outside what was
	// expected. They are not in Pods, Mean and Var yet.
	doubts [3]float64
	Doubt  int
	// At is the time of the newest observation.
	At time.Time
}

// EvidenceConfig says how evidence ages and what contradicts it. It is a plain
// value, safe for concurrent reading.
type EvidenceConfig struct {
	// HalfLife is how long an observation takes to weigh half; 0 means 7 days,
	// a working week and its weekend.
	HalfLife time.Duration
	// Floor is the least deviation from the mean, in the resource's unit, that can
	// contradict; 0 means none. Profile uses 10 millicores and 10 MB: below,
	// measurements are noise.
	Floor float64
	// Steady never doubts: every value is taken.
	Steady bool
}

// halfLife is the one that counts.
func (c *EvidenceConfig) halfLife() time.Duration {
	if c.HalfLife < time.Second {
		return 7 * 24 * time.Hour
	}
	return c.HalfLife
}

// Validate refuses what is out of range.
func (c EvidenceConfig) Validate() error {
	if c.HalfLife < 0 || c.HalfLife > 0 && c.HalfLife < time.Second {
		return refuse("EvidenceConfig.HalfLife", c.HalfLife, "at least 1s, or 0 for the default")
	}
	if !(c.Floor >= 0) || math.IsInf(c.Floor, 1) {
		return refuse("EvidenceConfig.Floor", c.Floor, "finite and not negative")
	}
	return nil
}

// Verdict is what became of a value.
type Verdict uint8

// Verdicts.
const (
	// Taken: the value is in the evidence.
	Taken Verdict = iota
	// Doubted: it contradicts the evidence and is kept apart.
	Doubted
	// Restarted: it was the third in a row to do so; the evidence begins anew
	// from these three.
	Restarted
	// Refused: it is no value; the evidence is as before.
	Refused
)

// String implements fmt.Stringer.
func (v Verdict) String() string {
	switch v {
	case Taken:
		return "taken"
	case Doubted:
		return "doubted"
	case Restarted:
		return "restarted"
	}
	return "refused"
}

const (
	// bandSigmas and bandShare make the band around the mean that contradicts
	// nothing: 3·max(s, min(x, x̄)/4, floor). Three deviations are the usual limit
	// of a control chart (Shewhart, 1931); a quarter stands in while few pods say
	// little about s. It is of the less of the two, so that a mean three times too
	// large is contradicted as one three times too small is.
	bandSigmas, bandShare = 3, .25
	// unitSlack forgives the rounding of a weight of one.
	unitSlack = 1e-9
)

// Take returns the evidence with the value of one more pod, whose weight is in
// (0, 1], and what became of it. Too low a value contradicts at full weight only:
// services warm up. An invalid configuration counts as the default.
func (e Evidence) Take(at time.Time, x, weight float64, c EvidenceConfig) (Evidence, Verdict) {
	verdict := e.take(at, x, weight, &c)
	return e, verdict
}

func (e *Evidence) take(at time.Time, x, weight float64, c *EvidenceConfig) Verdict {
	if !(x >= 0) || x > maxValue || !(weight > 0) || weight > 1+unitSlack || checkTime(at) != nil {
		return Refused
	}
	halfLife := c.halfLife()
	if c.Steady || !e.contradicted(x, weight, c.Floor) {
		if e.Doubt > 0 { // a tail, not a change
			e.accept(e.At, halfLife)
		}
		e.add(at, x, weight, halfLife)
		return Taken
	}
	e.doubts[e.Doubt] = x
	e.Doubt++
	if e.Doubt < len(e.doubts) {
		if age := between(e.At, at); age > 0 {
			e.age(at, age, halfLife)
		}
		return Doubted
	}
	e.Pods, e.Mean, e.Var = 0, 0, 0
	e.accept(at, halfLife)
	return Restarted
}

// maxValue keeps squares and their sums finite.
const maxValue = 1e150

// contradicted says whether the value is outside the band.
func (e *Evidence) contradicted(x, weight, floor float64) bool {
	off := x - e.Mean
	if e.Pods == 0 || off < 0 && weight < 1-unitSlack {
		return false
	}
	off = math.Abs(off)
	return off > bandSigmas*bandShare*min(x, e.Mean) && off > bandSigmas*floor && off*off > bandSigmas*bandSigmas*e.Var
}

// accept adds the doubts as pods of a time.
func (e *Evidence) accept(at time.Time, halfLife time.Duration) {
	for _, x := range e.doubts[:e.Doubt] {
		e.add(at, x, 1, halfLife)
	}
	e.Doubt, e.doubts = 0, [3]float64{}
}

// add adds a value with its weight at a time.
func (e *Evidence) add(at time.Time, x, weight float64, halfLife time.Duration) {
	if e.Pods == 0 {
		e.Pods, e.Mean, e.Var, e.At = weight, x, 0, at
		return
	}
	if age := between(e.At, at); age > 0 {
		e.age(at, age, halfLife)
	} else if age < 0 {
		weight *= halved(-age, halfLife)
	}
	e.pool(weight, x, 0)
}

// age moves the time on.
func (e *Evidence) age(at time.Time, age, halfLife time.Duration) {
	e.Pods *= halved(age, halfLife)
	e.At = at
}

// pool adds n pods of a mean and a variance, of the evidence's own time.
func (e *Evidence) pool(n, mean, variance float64) {
	sum := e.Pods + n
	if sum == 0 {
		return
	}
	share, off := n/sum, mean-e.Mean
	e.Var += share * (variance - e.Var + (1-share)*off*off)
	e.Mean += share * off
	e.Pods = sum
}

// between is the time from one to another, both of those that checkTime accepts: Sub, which
// takes any, costs more than all else that is done with a value.
func between(from, to time.Time) time.Duration { return time.Duration(to.UnixNano() - from.UnixNano()) }

// halved is 2^(−age/halfLife).
func halved(age, halfLife time.Duration) float64 {
	u := math.Ln2 * float64(age) / float64(halfLife)
	if u < 1e-3 { // observations mostly follow at once: four terms are exact to 1e-17
		return 1 - u*(1-u*(1./2-u*(1./6-u*(1./24))))
	}
	return math.Exp(-u)
}

// Merge returns the evidence of both, as of the later. Doubts are of an order that
// two streams don't have: those of the later stay doubts and those of the other
// are taken, of equal times the more.
func (e Evidence) Merge(o Evidence, c EvidenceConfig) Evidence {
	halfLife := c.halfLife()
	if o.At.After(e.At) || o.At.Equal(e.At) && o.Doubt > e.Doubt {
		e, o = o, e
	}
	if o.Pods > 0 {
		e.pool(o.Pods*halved(e.At.Sub(o.At), halfLife), o.Mean, o.Var)
	}
	for i := range o.Doubt {
		e.add(o.At, o.doubts[i], 1, halfLife)
	}
	return e
}

// few returns the evidence with the weight of at most n pods, which is how much a
// new revision believes the one before it.
func (e Evidence) few(n float64) Evidence {
	e.Pods = min(e.Pods, max(n, 0))
	e.Doubt, e.doubts = 0, [3]float64{}
	return e
}
