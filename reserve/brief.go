package reserve

import "math"

// Brief is what Fits and FreeFor ask of a node that counts CPU and memory and nothing
// else, so short that those of thousands of nodes can be read in a row. What it can't
// be sure of, for its numbers are rounded, is for Fits itself to say. A plain value.
type Brief struct {
	Flags BriefFlags
	// Numbers are shares of a node but for the units: see the constants.
	Numbers [BriefNumbers]float32
}

// BriefFlags are a Brief's.
type BriefFlags uint8

// Flags of a Brief: it says nothing; the node is saturated; it is floored and nothing
// is in flight or held; slow start's line is reached; it does not see who waits for a core;
// it lets pods in ahead of confirmation, and so is ranked by Free for any of them; it has
// a usual pod, so that Fits and FreeFor say.
const (
	BriefUnsure BriefFlags = 1 << iota
	BriefSaturated
	BriefFloored
	BriefSlow
	BriefBlind
	BriefAhead
	BriefUsual
)

// The Numbers: what the pods in flight and held room leave, the variance of these (of memory alone),
// and Unit, Cost, SD² (of memory alone) and Most of the Room.
const (
	cpuNet = iota
	cpuUnit
	cpuCost
	cpuMost
	memoryNet
	memoryFlight
	memoryUnit
	memoryCost
	memoryVar
	memoryMost
	// BriefNumbers is how many there are.
	BriefNumbers
)

// roundings bounds what rounding to 24 bits can do to a sum, as a part of its terms.
const roundings = 1e-6

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
	if s.blind() {
		b.Flags |= BriefBlind
	}
	if s.Usual > 0 {
		b.Flags |= BriefUsual
	}
	if s.ahead() {
		b.Flags |= BriefAhead
	}
	for i, x := range [BriefNumbers]float64{
		cpuNet:  cpu.total() - cpu.mean(f.typical(CPU), f.Known.Amount[CPU]),
		cpuUnit: cpu.Unit, cpuCost: cpu.Cost, cpuMost: cpu.Most,
		memoryNet:    memory.total() - memory.mean(f.typical(Memory), f.Known.Amount[Memory]),
		memoryFlight: memory.variance(f.typical(Memory), f.Known.Var[Memory]),
		memoryUnit:   memory.Unit, memoryCost: memory.Cost, memoryVar: memory.SD * memory.SD, memoryMost: memory.Most,
	} {
		b.Numbers[i] = float32(x)
	}
	return b
}

// Question is a pod as a Brief is asked for it. A plain value.
type Question struct {
	demand Demand
	rules  Rules
	// confidence is that in what is known of its CPU.
	confidence float64
	// known says that the confidence in a resource is above 0, little that it is below
	// a half in both.
	known  [Resources]bool
	little bool
}

// Ask returns the question for a pod of a known workload; ok is false for a typical
// one.
func Ask(d Demand, r Rules) (q Question, ok bool) {
	r = r.WithDefaults()
	q = Question{demand: d, rules: r, confidence: d.confidence(CPU), little: d.confidence(CPU) < .5 && d.confidence(Memory) < .5}
	for i := range Resource(Resources) {
		q.known[i] = d.confidence(i) > 0
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
	case b.Flags&BriefUsual != 0:
		return NoRoom, false
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

// room decides by the resources.
func (b *Brief) room(q *Question) (Reason, bool) {
	n := &b.Numbers
	net, most := float64(n[cpuNet]), float64(n[cpuMost])
	kept := 0.
	if b.Flags&BriefBlind == 0 {
		kept = q.confidence * q.rules.unfilled(float64(n[cpuUnit]))
	}
	needs := float64(n[cpuCost])*q.demand.Typical[CPU] + float64(n[cpuUnit])*q.demand.Amount[CPU]
	if !plenty(net, kept+needs) {
		if left := sign(net, kept, needs, 0, most, q.known[CPU]); left <= 0 {
			return NoCPU, left < 0
		}
	}
	net, most = float64(n[memoryNet]), float64(n[memoryMost])
	unit, flight := float64(n[memoryUnit]), float64(n[memoryFlight])
	variance := float64(n[memoryVar])*q.demand.Typical[Memory] + unit*unit*q.demand.Var[Memory]
	needs = float64(n[memoryCost])*q.demand.Typical[Memory] + unit*q.demand.Amount[Memory] + q.rules.Caution*math.Sqrt(flight+variance)
	if !plenty(net, needs) {
		if left := sign(net, 0, needs, q.rules.Caution*math.Sqrt(flight), most, q.known[Memory]); left <= 0 {
			return NoMemory, left < 0
		}
	}
	return Admitted, true
}

// plenty says that so much of a resource is left even beside a pod that gets no
// discount for being alone, as most nodes have or there is no hurry.
func plenty(net, needs float64) bool { return net-needs > roundings*(math.Abs(net)+needs) }

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
// brief says nothing, and under BriefAhead and BriefUsual.
func (b *Brief) Free(q *Question) (free float64, sure bool) {
	if b.Flags&(BriefUnsure|BriefUsual|BriefAhead) != 0 {
		return 0, false
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
