package profile

import (
	"math"
	"slices"
	"time"
)

// Share is what a pod is expected to take of a resource: the amount, in cores or
// bytes, its standard deviation between pods, and the confidence λ ∈ [0, 1] in
// both, which is 0 for a pod that no one knows. It is a plain value, safe for
// concurrent reading.
type Share struct{ Amount, SD, Confidence float64 }

// Demand is what a pod is expected to take: cores and bytes. It is a plain value,
// safe for concurrent reading.
type Demand struct{ CPU, Memory Share }

// defaultCredibility is K where none is given: in the simulator it was better than ½ and 4.
const defaultCredibility = 1

// Blend is Bühlmann's credibility estimate (Experience Rating and Credibility,
// 1967): with the n pods of the workload's own evidence, and a prior of amount a₀
// and confidence λ₀ that counts as k·λ₀ pods,
//
//	a = (n·x̄ + kλ₀a₀)/(n + kλ₀),  λ = (n + kλ₀)/(n + k)
//
// and the variance that of the two together. Without a prior one pod gives λ = ½,
// nine .9. A k not above 0 counts as 1, a prior that is no share as none.
func Blend(own Evidence, prior Share, k float64) Share {
	if !(k > 0) || math.IsInf(k, 1) {
		k = defaultCredibility
	}
	if prior.check("prior") != nil {
		prior = Share{}
	}
	n, believed := max(own.Pods, 0), k*prior.Confidence
	if n+believed == 0 {
		return Share{}
	}
	both := Evidence{Pods: n, Mean: own.Mean, Var: own.Var}
	both.pool(believed, prior.Amount, prior.SD*prior.SD)
	return Share{Amount: both.Mean, SD: math.Sqrt(max(both.Var, 0)), Confidence: min((n+believed)/(n+k), 1)}
}

// Prior is what a pod of a workload will take that no one knows yet, from what the
// pods of others have shown that are alike, as by their template: none of these
// counts for more than four times the median one. It is itself believed like K pods
// at most (Blend).
func (c Config) Prior(cpu, memory []Evidence) Demand {
	c = c.withDefaults()
	return Demand{CPU: c.prior(cpu), Memory: c.prior(memory)}
}

func (c *Config) prior(others []Evidence) Share {
	var all []Evidence
	var sum Evidence
	for _, e := range others {
		if e.Pods > 0 {
			all = append(all, e)
		}
		if e.At.After(sum.At) {
			sum.At = e.At
		}
	}
	sum.poolLimited(all, sum.At, c.podHalfLife)
	return Blend(sum, Share{}, defaultCredibility)
}

func (s Share) check(field string) error {
	switch {
	case !(s.Amount >= 0) || s.Amount > maxValue:
		return refuse(field+".Amount", s.Amount, "finite and not negative")
	case !(s.SD >= 0) || s.SD > maxValue:
		return refuse(field+".SD", s.SD, "finite and not negative")
	case !(s.Confidence >= 0) || s.Confidence > 1:
		return refuse(field+".Confidence", s.Confidence, "in [0, 1]")
	}
	return nil
}

// Validate refuses what is no amount, deviation or confidence.
func (d Demand) Validate() error {
	if err := d.CPU.check("CPU"); err != nil {
		return err
	}
	return d.Memory.check("Memory")
}

const (
	// amountSteps an octave: at most 9 % above the amount.
	amountSteps = 8
	// confidenceSteps from 0 to 1: 31 pods are sure.
	confidenceSteps = 16
)

// Published is the demand as it is published: amounts rounded up and confidence
// rounded to few values, so that like workloads are alike and an object in the API
// server is seldom written.
func (d Demand) Published() Demand {
	return Demand{CPU: d.CPU.published(), Memory: d.Memory.published()}
}

func (s Share) published() Share {
	s.Amount, s.SD = roundUp(s.Amount), roundUp(s.SD)
	s.Confidence = math.Round(s.Confidence*confidenceSteps) / confidenceSteps
	return s
}

// Midpoint undoes the rounding of Published on average: amounts are half a step lower, so that they are
// off by half a step at most, in either direction.
func (d Demand) Midpoint() Demand {
	half := math.Exp2(-.5 / amountSteps)
	d.CPU.Amount *= half
	d.Memory.Amount *= half
	return d
}

func roundUp(v float64) float64 {
	if v == 0 {
		return 0
	}
	// A value on a step stays there, whatever its logarithm is rounded to.
	return math.Exp2(math.Ceil(amountSteps*math.Log2(v)-1e-9) / amountSteps)
}

// demands are those of a profile by slot of the day.
type demands struct {
	slots    []Demand // nil: each is largest
	largest  Demand
	lifespan time.Duration // how long most pods live, 0 if for longer than a slot
}

func (p *demands) slot(i int) Demand {
	if p.slots == nil {
		return p.largest
	}
	return p.slots[i]
}

// Demand returns what a pod that starts at a time is expected to take: the largest
// demand of the slots of the day it lives in. With lives 0 that is what most pods
// of the workload have lived (P90), or the whole day if they are restarted for
// ever, half of them outlive a slot, or none has ended.
func (p *Profile) Demand(at time.Time, lives time.Duration) Demand {
	if p.dirty {
		p.updateDemands()
	}
	if lives <= 0 {
		lives = p.demands.lifespan
	}
	length := day / time.Duration(len(p.slots))
	if lives <= 0 || lives >= day-length || checkTime(at) != nil {
		return p.demands.largest
	}
	slot, _ := slotOf(at, p.config.Zone, len(p.slots))
	last, _ := slotOf(at.Add(lives), p.config.Zone, len(p.slots))
	d := p.demands.slot(slot)
	for slot != last {
		slot = (slot + 1) % len(p.slots)
		d = larger(d, p.demands.slot(slot))
	}
	return d
}

func (p *Profile) updateDemands() {
	p.dirty = false
	whole := p.demand(p.day)
	p.demands.slots, p.demands.largest = nil, whole
	if slices.ContainsFunc(p.slots, p.counts) {
		p.updateSlots(whole)
	}
	p.demands.lifespan = 0
	slot := day.Seconds() / float64(len(p.slots))
	if !p.always && p.lives.quantile(.5) <= slot {
		p.demands.lifespan = p.Lifetime(.9)
	}
}

// counts reports whether a slot of the day counts for itself.
func (p *Profile) counts(s *scope) bool {
	return s != nil && s.seen >= p.config.slotPods && s.days >= p.config.slotDays
}

// updateSlots computes the demands by slot where a slot counts for itself.
func (p *Profile) updateSlots(whole Demand) {
	p.demands.slots = make([]Demand, len(p.slots))
	for i, s := range p.slots {
		d := whole
		if p.counts(s) {
			d = p.demand(s)
		}
		p.demands.slots[i] = d
		if i == 0 {
			p.demands.largest = d
		}
		p.demands.largest = larger(p.demands.largest, d)
	}
}

// Slots are the demands of pods that live within one slot of the day, from midnight
// on.
func (p *Profile) Slots() []Demand {
	if p.dirty {
		p.updateDemands()
	}
	all := make([]Demand, len(p.slots))
	for i := range all {
		all[i] = p.demands.slot(i)
	}
	return all
}

// halfConfident is all that usage without waiting is worth.
const halfConfident = .5

func (p *Profile) demand(of *scope) Demand {
	d := Demand{
		CPU:    Blend(of.evidence(0), p.prior.CPU, defaultCredibility),
		Memory: Blend(of.evidence(1), p.prior.Memory, defaultCredibility),
	}
	d.Memory.Confidence = min(d.Memory.Confidence, max(p.memoryMaturity(), p.prior.Memory.Confidence))
	if p.unstalled {
		d.CPU.Confidence = min(d.CPU.Confidence, halfConfident)
	}
	return d
}

// memoryMaturity is how far the pods of a new workload show what memory one takes in the end, in [0, 1].
// While most of them still run and none has for ten seconds, those that have ended are the shortest, and
// the others have yet to take their memory: a mean of both is too low, and full nodes would kill. What an
// older revision has shown counts at once.
func (p *Profile) memoryMaturity() float64 {
	var newest int64
	longest := p.lives.quantile(1)
	for i := range p.live {
		l := &p.live[i]
		newest = max(newest, l.ns)
		if l.day.seconds > 0 {
			longest = max(longest, l.day.seconds)
		} else { // its CPU is not measured
			longest = max(longest, l.day.weight[memoryOf]*leastFull.Seconds())
		}
	}
	if p.revised || p.lives.weight(time.Unix(0, newest)) >= float64(len(p.live)) {
		return 1
	}
	return min(longest/leastFull.Seconds(), 1)
}

// larger takes the larger amount of each resource.
func larger(a, b Demand) Demand {
	if b.CPU.Amount > a.CPU.Amount {
		a.CPU = b.CPU
	}
	if b.Memory.Amount > a.Memory.Amount {
		a.Memory = b.Memory
	}
	return a
}
