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
// A pod is one observation, however often it was read: an estimate that counts readings
// believes itself. It is a plain value, safe for concurrent reading; the zero value knows
// nothing.
type Evidence struct {
	Pods, Mean, Var float64
	// At is the time of the newest observation.
	At time.Time
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
	// maxValue keeps squares and their sums finite.
	maxValue = 1e150
	// podHalfLife is the default: a working week and its weekend.
	podHalfLife = 7 * day
)

// Add returns the evidence with the value of one more pod, whose weight is in (0, 1]. What
// is no value leaves it as it was. A half-life below 1 s counts as 7 days.
func (e Evidence) Add(at time.Time, x, weight float64, halfLife time.Duration) (sum Evidence, added bool) {
	if !(x >= 0) || x > maxValue || !(weight > 0) || weight > 1+unitSlack || checkTime(at) != nil {
		return e, false
	}
	e.add(at, x, weight, validHalfLife(halfLife))
	return e, true
}

// validHalfLife is the half-life that counts in the place of one below 1 s.
func validHalfLife(h time.Duration) time.Duration {
	if h < time.Second {
		return podHalfLife
	}
	return h
}

// isOutlier reports whether the value of one more pod is outside the band. Too low a
// value contradicts at full weight only: services warm up.
func (e *Evidence) isOutlier(x, weight, floor float64) bool {
	off := x - e.Mean
	if e.Pods == 0 || off < 0 && weight < 1-unitSlack {
		return false
	}
	off = math.Abs(off)
	return off > bandSigmas*bandShare*min(x, e.Mean) && off > bandSigmas*floor && off*off > bandSigmas*bandSigmas*e.Var
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

// merge returns the evidence of both, as of the later. A half-life below 1 s counts as 7 days.
func (e Evidence) merge(o Evidence, halfLife time.Duration) Evidence {
	if o.At.After(e.At) {
		e, o = o, e
	}
	if o.Pods > 0 {
		e.pool(o.Pods*halved(e.At.Sub(o.At), validHalfLife(halfLife)), o.Mean, o.Var)
	}
	return e
}
