package profile

import (
	"slices"
	"time"
)

// prices are the demands by slot.
type prices struct {
	slots   []Demand
	dearest Demand
	reach   time.Duration // how long most pods live, 0 if for longer than a slot
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
	d := p.prices.slots[slot]
	for slot != last {
		slot = (slot + 1) % len(p.slots)
		d = dearer(d, p.prices.slots[slot])
	}
	return d
}

func (p *Profile) price() {
	p.dirty = false
	whole := p.demand(p.day)
	p.prices.slots = slices.Grow(p.prices.slots[:0], len(p.slots))
	for i, s := range p.slots {
		d := whole
		if s != nil && s.seen >= p.config.SlotPods && s.days >= p.config.SlotDays {
			d = p.demand(s)
		}
		p.prices.slots = append(p.prices.slots, d)
		if i == 0 {
			p.prices.dearest = d
		}
		p.prices.dearest = dearer(p.prices.dearest, d)
	}
	p.prices.reach = 0
	slot := day.Seconds() / float64(len(p.slots))
	if !p.always && p.lives.Quantile(.5) <= slot {
		p.prices.reach = p.Lifetime(.9)
	}
}

// Slots are the demands of pods that live within one slot of the day, from midnight
// on.
func (p *Profile) Slots() []Demand {
	if p.dirty {
		p.price()
	}
	return slices.Clone(p.prices.slots)
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
