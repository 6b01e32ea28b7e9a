package reserve

import "math"

// Brief is what Fits and RankFor ask of a node that counts CPU and memory and nothing
// else, so short that those of thousands of nodes can be read in a row. What it can't
// be sure of, for its numbers are rounded, is for Fits itself to say. What Fits counts in shares of
// a node is counted in typical pods here. A plain value.
type Brief struct {
	Flags BriefFlags
	// Typical is RankFor of a typical pod, and Avail, with BriefUsual alone, what Fits holds one
	// against: Free.
	Typical, Avail float32
	Ample          Ample
	Rank           Rank
	Scarce         Scarce
	// Numbers are what else is weighed: see the constants.
	Numbers [BriefNumbers]float32
}

// Ample is how many cores and bytes a pod may take that fits by far, whatever else there is to
// say of it: most pods of which much is left, and no more than two comparisons. What it doesn't
// hold may fit yet.
type Ample struct{ Cores, Bytes float32 }

// Holds says that Fits admits the pod.
func (a Ample) Holds(q *Question) bool {
	return q.most[CPU] < float64(a.Cores) && q.most[Memory] < float64(a.Bytes)
}

// Rank is what a pod is ranked by: of the CPU and of memory what the pods in flight and held room
// leave, and a core or a byte, in typical pods.
type Rank struct{ CPU, Core, Memory, Byte float32 }

// For is RankFor of the node and the pod, but for rounding, where nothing else decides how it is
// ranked: no flag of [BriefRanked] is set.
func (r Rank) For(q *Question) float64 {
	d := &q.demand
	return 1 + min(
		float64(r.CPU)-float64(r.Core)*d.Amount[CPU]-d.Typical[CPU],
		float64(r.Memory)-float64(r.Byte)*d.Amount[Memory]-d.Typical[Memory],
	)
}

// Scarce is what of a node's CPU pods that are known leave free, and Most of the Room, in typical
// pods.
type Scarce struct{ Kept, Most float32 }

// Refuses says that Fits refuses the pod for want of CPU on a node of that rank, where nothing else
// is asked before: no flag of [BriefAsked] is set.
func (s Scarce) Refuses(r Rank, q *Question) bool {
	net, most, kept := float64(r.CPU), float64(s.Most), q.confidence*float64(s.Kept)
	needs := q.demand.Typical[CPU] + float64(r.Core)*q.demand.Amount[CPU]
	// Who is nearly alone needs less; if nobody knows how much it is for Fits to say.
	short := kept + min(needs, nearlyAlone*(most-kept)) - net
	return short > roundings*(math.Abs(net)+kept+needs+most)
}

// BriefFlags are a Brief's.
type BriefFlags uint8

// Flags of a Brief: it says nothing; the node is saturated; it is floored and nothing
// is in flight or held; slow start's line is reached; it lets pods in ahead of confirmation, and
// so is ranked by its room for typical ones for any of them; it is so for those that take what is
// usual there.
const (
	BriefUnsure BriefFlags = 1 << iota
	BriefSaturated
	BriefFloored
	BriefSlow
	BriefAhead
	BriefUsual
	// BriefRanked are those that have a say in how a node is ranked, BriefAsked those by which
	// something else is asked before the CPU.
	BriefRanked = BriefUnsure | BriefAhead | BriefUsual
	BriefAsked  = BriefUnsure | BriefSaturated | BriefFloored | BriefUsual
)

// The Numbers, in squares of typical pods Caution² times memory's SD² and times the variance of
// what is in flight and held; Most of memory's Room in typical pods, and Usual in cores. What takes
// a root or a case is worked out here, once a report, rather than at each of thousands of visits.
const (
	memoryVar = iota
	memoryFlight
	memoryMost
	cpuUsual
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
	b := Brief{Typical: float32(RankFor(s, f, TypicalPod()))}
	cpu, memory := &s.Rooms[CPU], &s.Rooms[Memory]
	if !(cpu.Unit > 0 && memory.Unit > 0 && cpu.Cost > 0 && memory.Cost > 0) || s.Rest != (Room{}) {
		b.Flags = BriefUnsure
		return b
	}
	b.Flags = briefFlags(&s, &f, &r)
	caution, kept := r.Caution*r.Caution, r.kept(&s, CPU)
	flight := caution * memory.variance(f.typical(Memory), f.Known.Var[Memory])
	for i, x := range [BriefNumbers]float64{
		cpuUsual:     s.Usual,
		memoryVar:    caution * memory.SD * memory.SD / (memory.Cost * memory.Cost),
		memoryFlight: flight / (memory.Cost * memory.Cost), memoryMost: memory.Most / memory.Cost,
	} {
		b.Numbers[i] = float32(x)
	}
	b.Rank = rankOf(&s, &f)
	b.Scarce = Scarce{Kept: float32(kept / cpu.Cost), Most: float32(cpu.Most / cpu.Cost)}
	if b.Flags&BriefUsual != 0 {
		b.Avail = float32(Free(s.Avail, f))
	}
	if b.Flags&(BriefSaturated|BriefSlow|BriefUsual) == 0 {
		b.Ample = ampleOf(&s, &f, &r, kept, math.Sqrt(flight))
	}
	return b
}

// rankOf makes a Rank; both resources have a cost.
func rankOf(s *Signal, f *Flight) Rank {
	var net, one [Resources]float32
	for i := range Resource(Resources) {
		room := &s.Rooms[i]
		net[i] = float32((room.total() - room.mean(f.typical(i), f.Known.Amount[i])) / room.Cost)
		one[i] = float32(room.Unit / room.Cost)
	}
	return Rank{CPU: net[CPU], Core: one[CPU], Memory: net[Memory], Byte: one[Memory]}
}

// ampleOf makes an Ample. A pod takes no more than the larger of what it is known to take and a
// typical one. Of memory it may be their sum, for what is kept for its and others' variance, too, is
// a sum of roots here; flight is that of those in flight.
func ampleOf(s *Signal, f *Flight, r *Rules, kept, flight float64) Ample {
	left := func(i Resource) float64 {
		room := &s.Rooms[i]
		flying := room.mean(f.typical(i), f.Known.Amount[i])
		return (room.total()-flying)/plenty - roundings*(math.Abs(room.total())+flying)
	}
	cpu, memory := &s.Rooms[CPU], &s.Rooms[Memory]
	cores, bytes := left(CPU), left(Memory)-flight-r.Caution*memory.SD-memory.Cost
	if cores > cpu.Cost {
		cores -= kept
	} else {
		cores = 0
	}
	return Ample{
		Cores: float32(math.Max(cores, 0) / (plenty * cpu.Unit)),
		Bytes: float32(math.Max(bytes, 0) / (plenty * memory.Unit)),
	}
}

// briefFlags are those of a brief that says something.
func briefFlags(s *Signal, f *Flight, r *Rules) (flags BriefFlags) {
	if s.Saturated {
		flags |= BriefSaturated
	}
	if s.Floored && f.taken() == 0 {
		flags |= BriefFloored
	}
	if !(f.starting() < Limit(*s, *r)) {
		flags |= BriefSlow
	}
	if s.ahead() {
		flags |= BriefAhead
	}
	if s.Usual > 0 {
		flags |= BriefUsual
	}
	return flags
}

// Question is a pod as a Brief is asked for it. A plain value.
type Question struct {
	demand Demand
	// confidence is that in what is known of its CPU, cores what that is, least what is left
	// for it at least in typical pods; variance is that of its memory times Caution².
	confidence, cores, least, variance float64
	// most is what [Ample] must exceed.
	most [Resources]float64
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
		if q.known[i] = d.confidence(i) > 0; q.known[i] {
			q.most[i] = d.Amount[i] / d.confidence(i)
		}
		if d.Typical[i] > 1 || !q.known[i] && d.Amount[i] > 0 { // it makes no sense
			q.most[i] = math.Inf(1)
		}
	}
	if q.known[CPU] {
		q.cores = q.most[CPU]
	}
	q.most[Memory] += math.Sqrt(q.variance)
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

// room decides by the resources. Most nodes that have the CPU have plenty of memory, so that is asked
// first, and without a root.
func (b *Brief) room(q *Question) (Reason, bool) {
	n := &b.Numbers
	if b.Flags&BriefUsual != 0 {
		if reason, sure := b.usualRoom(q); !sure || reason != Admitted {
			return reason, sure
		}
	} else if reason, sure := b.cpuRoom(q); !sure || reason != Admitted {
		return reason, sure
	}
	net, unit := float64(b.Rank.Memory), float64(b.Rank.Byte)
	mean := q.demand.Typical[Memory] + unit*q.demand.Amount[Memory]
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
	net, kept := float64(b.Rank.CPU), q.confidence*float64(b.Scarce.Kept)
	needs := q.demand.Typical[CPU] + float64(b.Rank.Core)*q.demand.Amount[CPU]
	if left := sign(net, kept, needs, 0, float64(b.Scarce.Most), q.known[CPU]); left <= 0 {
		return NoCPU, left < 0
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
	free := float64(b.Avail)
	bound := roundings * (math.Abs(free) + q.least)
	if left := free - q.least; !(left > bound) {
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

// RankFor is that of the node and the pod, but for rounding; sure is false where the
// brief can't be sure of how it is ranked.
func (b *Brief) RankFor(q *Question) (rank float64, sure bool) {
	if b.Flags&BriefUnsure != 0 {
		return 0, false
	}
	if b.Flags&BriefAhead != 0 {
		return float64(b.Typical), true
	}
	if usual := b.usual(q); usual >= 0 {
		return float64(b.Typical), usual > 0
	}
	return b.Rank.For(q), true
}
