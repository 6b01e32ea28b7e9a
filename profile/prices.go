package profile

import (
	"slices"
	"time"
)

// prices are the demands by slot.
type prices struct {
	slots   []Demand // nil: each is the dearest
	dearest Demand
	reach   time.Duration // how long most pods live, 0 if for longer than a slot
}

func (p *prices) slot(i int) Demand {
	if p.slots == nil {
		return p.dearest
	}
	return p.slots[i]
}

// Demand is what a pod will take that starts at a time and lives for so long: the
// dearest of the slots of the day it lives in. With lives 0 that is what most pods
// of the workload have lived (P90), or the whole day if they are restarted for
// ever, half of them outlive a slot, or none has ended.
func (p *Profile) Demand(at time.Time, lives time.Duration) Demand {
	if p.dirty {
		p.price()
	}
	if lives <= 0 {
		lives = p.prices.reach
	}
	length := day / time.Duration(len(p.slots))
	if lives <= 0 || lives >= day-length || checkTime(at) != nil {
		return p.prices.dearest
	}
	slot, _ := slotOf(at, p.config.Zone, len(p.slots))
	last, _ := slotOf(at.Add(lives), p.config.Zone, len(p.slots))
	d := p.prices.slot(slot)
	for slot != last {
		slot = (slot + 1) % len(p.slots)
		d = dearer(d, p.prices.slot(slot))
	}
	return d
}

func (p *Profile) price() {
	p.dirty = false
	whole := p.demand(p.day)
	p.prices.slots, p.prices.dearest = nil, whole
	if slices.ContainsFunc(p.slots, p.counts) {
		p.priceSlots(whole)
	}
	p.prices.reach = 0
	slot := day.Seconds() / float64(len(p.slots))
	if !p.always && p.lives.Quantile(.5) <= slot {
		p.prices.reach = p.Lifetime(.9)
	}
}

// counts reports whether a slot of the day counts for itself.
func (p *Profile) counts(s *scope) bool {
	return s != nil && s.seen >= p.config.SlotPods && s.days >= p.config.SlotDays
}

// priceSlots is where one does.
func (p *Profile) priceSlots(whole Demand) {
	p.prices.slots = make([]Demand, len(p.slots))
	for i, s := range p.slots {
		d := whole
		if p.counts(s) {
			d = p.demand(s)
		}
		p.prices.slots[i] = d
		if i == 0 {
			p.prices.dearest = d
		}
		p.prices.dearest = dearer(p.prices.dearest, d)
	}
}

// Slots are the demands of pods that live within one slot of the day, from midnight
// on.
func (p *Profile) Slots() []Demand {
	if p.dirty {
		p.price()
	}
	all := make([]Demand, len(p.slots))
	for i := range all {
		all[i] = p.prices.slot(i)
	}
	return all
}

// halfConfident is all that usage without waiting is worth.
const halfConfident = .5

func (p *Profile) demand(of *scope) Demand {
	d := Demand{
		CPU:    Blend(of.evidence(0), p.prior.CPU, p.config.Credibility),
		Memory: Blend(of.evidence(1), p.prior.Memory, p.config.Credibility),
	}
	if p.unstalled {
		d.CPU.Confidence = min(d.CPU.Confidence, halfConfident)
	}
	return d
}

// dearer takes the larger amount of each resource.
func dearer(a, b Demand) Demand {
	if b.CPU.Amount > a.CPU.Amount {
		a.CPU = b.CPU
	}
	if b.Memory.Amount > a.Memory.Amount {
		a.Memory = b.Memory
	}
	return a
}
