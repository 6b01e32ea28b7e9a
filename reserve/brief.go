package reserve

import "math"

// Brief is what Fits and FreeFor ask of a node that counts CPU and memory and nothing
// else, so short that those of thousands of nodes can be read in a row. What it can't
// be sure of, for its numbers are rounded, is for Fits itself to say. A plain value.
type Brief struct {
	Flags BriefFlags
	// Typical is FreeFor of a typical pod.
	Typical float32
	// Numbers are shares of a node but for the units: see the constants.
	Numbers [BriefNumbers]float32
}

// BriefFlags are a Brief's.
type BriefFlags uint8

// Flags of a Brief: it says nothing; the node is saturated; it is floored and nothing
// is in flight or held; slow start's line is reached; it lets pods in ahead of confirmation, and
// so is ranked by its room for typical ones for any of them.
const (
	BriefUnsure BriefFlags = 1 << iota
	BriefSaturated
	BriefFloored
	BriefSlow
	BriefAhead
)

// The Numbers: what the pods in flight and held room leave, and Unit, Cost and Most of the Room; of
// the CPU what pods that are known leave free, and Usual; of memory Caution² times SD² and times the
// variance of what is in flight and held. What takes a root or a case is worked out here, once a
// report, rather than at each of thousands of visits.
const (
	cpuNet = iota
	cpuUnit
	cpuCost
	cpuMost
	cpuKept
	cpuUsual
	memoryNet
	memoryUnit
	memoryCost
	memoryMost
	memoryVar
	memoryFlight
	// BriefNumbers is how many there are.
	BriefNumbers
)

// roundings bounds what rounding to 24 bits can do to a sum, as a part of its terms.
const roundings = 1e-6

// plenty: a resource of which this many times what a pod needs is left has room for it, whatever
// rounding did, even if it gets no discount for being alone.
const plenty = 1 + 4*roundings

// MakeBrief returns the brief of a node and its pods in flight.
func MakeBrief(s Signal, f Flight, r Rules) Brief {
	r = r.WithDefaults()
	var b Brief
	cpu, memory := &s.Rooms[CPU], &s.Rooms[Memory]
	if !(cpu.Unit > 0 && memory.Unit > 0) || s.Rest != (Room{}) {
		b.Flags = BriefUnsure
		return b
	}
	if s.Saturated {
		b.Flags |= BriefSaturated
	}
	if s.Floored && f.taken() == 0 {
		b.Flags |= BriefFloored
	}
	if !(f.starting() < Limit(s, r)) {
		b.Flags |= BriefSlow
	}
	if s.ahead() {
		b.Flags |= BriefAhead
	}
	b.Typical = float32(FreeFor(s, f, TypicalPod()))
	caution := r.Caution * r.Caution
	flight := caution * memory.variance(f.typical(Memory), f.Known.Var[Memory])
	for i, x := range [BriefNumbers]float64{
		cpuNet:  cpu.total() - cpu.mean(f.typical(CPU), f.Known.Amount[CPU]),
		cpuUnit: cpu.Unit, cpuCost: cpu.Cost, cpuMost: cpu.Most, cpuKept: r.kept(&s, CPU), cpuUsual: s.Usual,
		memoryNet:  memory.total() - memory.mean(f.typical(Memory), f.Known.Amount[Memory]),
		memoryUnit: memory.Unit, memoryCost: memory.Cost, memoryMost: memory.Most,
		memoryVar: caution * memory.SD * memory.SD, memoryFlight: flight,
	} {
		b.Numbers[i] = float32(x)
	}
	return b
}

// Question is a pod as a Brief is asked for it. A plain value.
type Question struct {
	demand Demand
	// confidence is that in what is known of its CPU, cores what that is, least what is left
	// for it at least in typical pods; variance is that of its memory times Caution².
	confidence, cores, least, variance float64
	// known says that the confidence in a resource is above 0, little that it is below
	// a half in both.
	known  [Resources]bool
	little bool
}

// Ask returns the question for a pod of a known workload; ok is false for a typical
// one.
func Ask(d Demand, r Rules) (q Question, ok bool) {
	r = r.WithDefaults()
	q = Question{
		demand: d, confidence: d.confidence(CPU), least: r.least(&d), variance: r.Caution * r.Caution * d.Var[Memory],
		little: d.confidence(CPU) < .5 && d.confidence(Memory) < .5,
	}
	for i := range Resource(Resources) {
		q.known[i] = d.confidence(i) > 0
	}
	if q.known[CPU] {
		q.cores = d.Amount[CPU] / q.confidence
	}
	return q, d.known()
}

// Fits is Fits of the node and the pod, where that is sure.
func (b *Brief) Fits(q *Question) (reason Reason, sure bool) {
	switch {
	case b.Flags&BriefUnsure != 0:
		return NoRoom, false
	case b.Flags&BriefSaturated != 0:
		return Saturated, true
	case b.Flags&BriefFloored == 0 || !q.little:
		if reason, sure = b.room(q); !sure || reason != Admitted {
			return reason, sure
		}
	}
	if b.Flags&BriefSlow != 0 {
		return SlowStart, true
	}
	return Admitted, true
}

// room decides by the resources. Most nodes have plenty of both or there is no hurry, so that is
// asked first, and without a root.
func (b *Brief) room(q *Question) (Reason, bool) {
	n := &b.Numbers
	if n[cpuUsual] > 0 {
		if reason, sure := b.usualRoom(q); !sure || reason != Admitted {
			return reason, sure
		}
	} else if reason, sure := b.cpuRoom(q); !sure || reason != Admitted {
		return reason, sure
	}
	net, unit := float64(n[memoryNet]), float64(n[memoryUnit])
	mean := float64(n[memoryCost])*q.demand.Typical[Memory] + unit*q.demand.Amount[Memory]
	variance := float64(n[memoryFlight]) + float64(n[memoryVar])*q.demand.Typical[Memory] + unit*unit*q.variance
	if left := net - plenty*mean; !(left > 0 && left*left > plenty*plenty*variance) {
		needs, flight := mean+math.Sqrt(variance), math.Sqrt(float64(n[memoryFlight]))
		if left := sign(net, 0, needs, flight, float64(n[memoryMost]), q.known[Memory]); left <= 0 {
			return NoMemory, left < 0
		}
	}
	return Admitted, true
}

// cpuRoom decides by the CPU, counted in cores.
func (b *Brief) cpuRoom(q *Question) (Reason, bool) {
	n := &b.Numbers
	net, kept := float64(n[cpuNet]), q.confidence*float64(n[cpuKept])
	needs := float64(n[cpuCost])*q.demand.Typical[CPU] + float64(n[cpuUnit])*q.demand.Amount[CPU]
	if !(net > plenty*(kept+needs)) {
		if left := sign(net, kept, needs, 0, float64(n[cpuMost]), q.known[CPU]); left <= 0 {
			return NoCPU, left < 0
		}
	}
	return Admitted, true
}

// usualRoom decides by the CPU of a node on which some pods are typical ones to it.
func (b *Brief) usualRoom(q *Question) (Reason, bool) {
	switch b.usual(q) {
	case -1:
		return b.cpuRoom(q)
	case 0:
		return NoRoom, false
	}
	typical := float64(b.Typical)
	bound := roundings * (math.Abs(typical) + q.least)
	if left := typical - q.least; !(left > bound) {
		return NoRoom, left < -bound
	}
	return Admitted, true
}

// usual is 1 where the pod takes what is usual, −1 where it doesn't, 0 if that isn't sure.
func (b *Brief) usual(q *Question) int {
	usual := float64(b.Numbers[cpuUsual])
	if !(usual > 0) {
		return -1
	}
	off, bound := math.Abs(q.cores-usual)-Unusual*usual, roundings*(q.cores+usual)
	switch {
	case !q.known[CPU], off < -bound:
		return 1
	case off > bound:
		return -1
	}
	return 0
}

// sign is that of what is left where a pod needs so much, 0 if it isn't sure; flight is
// what it may need beyond a node of its own. See slack for the formula.
func sign(net, kept, needs, flight, most float64, known bool) int {
	bound := roundings * (math.Abs(net) + kept + needs + flight + most)
	if known {
		empty := most - kept
		if math.Abs(empty) <= bound {
			return 0
		}
		if alone := flight + nearlyAlone*empty; empty > 0 && needs > alone {
			needs = alone
		}
	}
	switch left := net - kept - needs; {
	case left > bound:
		return 1
	case left < -bound:
		return -1
	}
	return 0
}

// Free is FreeFor of the node and the pod, but for rounding; sure is false where the
// brief can't be sure of how it is ranked.
func (b *Brief) Free(q *Question) (free float64, sure bool) {
	if b.Flags&BriefUnsure != 0 {
		return 0, false
	}
	if b.Flags&BriefAhead != 0 {
		return float64(b.Typical), true
	}
	if usual := b.usual(q); usual >= 0 {
		return float64(b.Typical), usual > 0
	}
	n := &b.Numbers
	return min(
		free1(n[cpuNet], n[cpuCost], n[cpuUnit], q.demand.Typical[CPU], q.demand.Amount[CPU]),
		free1(n[memoryNet], n[memoryCost], n[memoryUnit], q.demand.Typical[Memory], q.demand.Amount[Memory]),
	), true
}

// free1 is what is free of one resource, in typical pods.
func free1(net, cost, unit float32, typical, amount float64) float64 {
	if !(cost > 0) {
		return math.Inf(1)
	}
	return (float64(net)-float64(unit)*amount)/float64(cost) - typical + 1
}
