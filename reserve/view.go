package reserve

import (
	"math"
	"sort"
)

// Reason is why a node cannot take a pod; the zero value admits it.
type Reason uint8

// The reasons. Fits looks for a full node first, then for room, then at slow
// start's line.
const (
	Admitted Reason = iota
	// Stale: the node's signal is missing or too old, and it is waited for or the
	// policy refuses.
	Stale
	// Saturated: a channel of the node is full.
	Saturated
	// NoRoom: free(n) < max(demand, ε).
	NoRoom
	// SlowStart: too many pods in flight that no report has confirmed.
	SlowStart
	// NoCPU and NoMemory: no room for what the pod, or one in flight, is known to
	// take.
	NoCPU
	NoMemory
)

// Reasons lists the refusals, for callers that count by reason.
func Reasons() []Reason { return []Reason{Stale, Saturated, NoRoom, SlowStart, NoCPU, NoMemory} }

var reasonNames = [...]string{"admitted", "stale", "saturated", "no room", "slow start", "no cpu", "no memory"}

// String returns a short lower-case name.
func (r Reason) String() string {
	return nameOf(reasonNames[:], uint8(r), "reason %d")
}

// Full reports whether the node has no room for the pod, which only pods that end
// can change.
func (r Reason) Full() bool {
	return r == Saturated || r == NoRoom || r == NoCPU || r == NoMemory
}

// View is a node as decisions see it: its signal, its pods in flight and, computed once for all
// pods that ask, the terms of the inequality that both make. A scheduler makes a View with each
// report and each change of the flight, and never changes it. It is a plain value.
type View struct {
	Signal Signal
	Flight Flight
	// terms are by resource.
	terms [resources]term
	// minFreePods and caution are those of the rules.
	minFreePods, caution float64
	// counts reports whether the node says what a core or a byte is to it, profiled whether
	// a pod in flight has a profile, idle whether the first pod needs no room.
	counts, profiled, idle bool
	// slow and slowUnseen report whether slow start's line is reached, with reports and
	// without.
	slow, slowUnseen bool
}

// The resources of a View beside CPU and Memory: Avail, the scarcest of the channels in which all
// pods are typical, and the memory that an overdue pod needs.
const (
	avail Resource = iota + Resources
	rest
	memoryRoom
	resources
)

// The resources that a pod is held against; see View.asked.
var (
	askedAvail      = []Resource{avail}
	askedTypicalCPU = []Resource{avail, Memory}
	askedAll        = []Resource{CPU, Memory, rest}
	askedOverdue    = []Resource{memoryRoom}
)

// short is the reason of a node that lacks a resource.
var short = [resources]Reason{NoCPU, NoMemory, NoRoom, NoRoom, NoRoom}

// term is a resource's part of the inequality; see View.fits.
type term struct {
	// left is what the pods that run and those in flight leave, start-up allowance included,
	// variance that of the pods in flight.
	left, variance float64
	// cost and unit are what a typical pod and a core or byte take, costVar and unitVar their
	// variances. A unit of 0 counts in typical pods alone.
	cost, unit, costVar, unitVar float64
	// most is what an empty node has, kept what pods with profiles leave free.
	most, kept float64
}

// NewView returns the view of a node by its newest signal and the pods in flight to it, for rules
// whose zero fields mean the defaults.
func NewView(s Signal, f Flight, r Rules) View {
	r = r.WithDefaults()
	limit := r.limit(&s)
	v := View{
		Signal: s, Flight: f, minFreePods: r.MinFreePods, caution: r.Caution, counts: s.Rooms[CPU].Unit > 0 || s.Rooms[Memory].Unit > 0,
		profiled: f.Known != Known{}, idle: s.Floored && f.taken() == 0,
		slow: !(f.starting() < limit), slowUnseen: !(f.unseen() < limit),
	}
	v.terms[avail] = term{left: Free(s.Avail, f), cost: 1}
	v.terms[memoryRoom] = term{left: Free(s.MemoryRoom, f), cost: 1}
	v.terms[rest] = termOf(&s.Rest, f.taken(), 0, 0)
	v.terms[rest].unit = 0
	for i, room := range s.Rooms {
		typical := f.typical(Resource(i))
		if room.Unit == 0 {
			typical = f.taken()
		}
		v.terms[i] = termOf(&room, typical, f.Known.Amount[i], f.Known.Var[i])
	}
	if cpu := &v.terms[CPU]; cpu.unit > 0 {
		// Exceeding the CPU's room only slows pods down, so what they vary by does not count.
		cpu.variance, cpu.costVar, cpu.unitVar, cpu.kept = 0, 0, 0, r.kept(&s)
	}
	return v
}

// termOf returns the term of a room beside pods in flight of a demand.
func termOf(r *Room, typical, amount, variance float64) term {
	if *r == (Room{}) {
		return term{left: math.Inf(1)}
	}
	return term{
		left: r.Left + r.StartupAllowance - r.mean(typical, amount), variance: r.variance(typical, variance),
		cost: r.Cost, unit: r.Unit, costVar: r.SD * r.SD, unitVar: r.Unit * r.Unit, most: r.Most,
	}
}

// asked returns the resources that a pod is held against: Avail among typical pods; CPU, memory and
// the scarcest other channel where the pod, or one in flight, has a profile; Avail and memory where
// such a pod takes typical CPU. A pod of which less than a half is known needs no room on a node
// that is nearly idle.
func (v *View) asked(d *Demand) []Resource {
	switch {
	case !v.counts || !v.profiled && !d.known():
		return askedAvail
	case v.idle && d.confidence(CPU) < .5 && d.confidence(Memory) < .5:
		return nil
	case v.Signal.takesTypicalCPU(d):
		return askedTypicalCPU
	}
	return askedAll
}

// Fits decides whether the node may take one more pod. A number that is NaN never admits. Whether
// the signal is fresh enough is the caller's to know; see [Freshness].
func (v *View) Fits(d Demand) Reason {
	if v.Signal.Saturated {
		return Saturated
	}
	return v.fits(&d, v.asked(&d))
}

// Fits decides whether a node may take one more pod; see [View.Fits].
func Fits(s Signal, f Flight, d Demand, r Rules) Reason {
	v := NewView(s, f, r)
	return v.Fits(d)
}

// nearlyAlone: a pod that is expected to take more than this part of an empty node
// is admitted by one that is as empty.
const nearlyAlone = .9

// fits is the inequality of all decisions. A pod that takes t typical pods and an amount a of
// variance w, with a confidence λ, has room if for each resource asked
//
//	left − λ·kept ≥ min(c·t + u·a + g·√(V + σ²t + u²w), g·√V + .9·(most − λ·kept))
//
// and slow start's line is not reached. The second bound admits a pod with a profile to a nearly
// empty node, whatever it takes.
func (v *View) fits(d *Demand, asked []Resource) Reason {
	known, least := d.known(), math.Max(d.Pods(), v.minFreePods)
	for _, i := range asked {
		r := &v.terms[i]
		typical, amount, variance, confidence := least, 0., 0., 0.
		if r.unit > 0 {
			amount, variance, confidence = d.Amount[i], d.Var[i], d.confidence(i)
			if known {
				typical = d.Typical[i]
			}
		}
		kept := confidence * r.kept
		needs := r.cost*typical + r.unit*amount + v.caution*math.Sqrt(r.variance+r.costVar*typical+r.unitVar*variance)
		if empty := r.most - kept; confidence > 0 && empty > 0 {
			needs = min(needs, v.caution*math.Sqrt(r.variance)+nearlyAlone*empty)
		}
		if !(r.left-kept-needs >= 0) {
			return short[i]
		}
	}
	if v.slow {
		return SlowStart
	}
	return Admitted
}

// Verdict is what the rules say of a node as long as its report counts and when
// it no longer does.
type Verdict struct {
	// Reported is what Fits returns.
	Reported Reason
	// Unseen is slow start's alone, Admitted or SlowStart.
	Unseen Reason
}

// Judge returns what Fits decides, for as long as the node's report counts, and what slow start
// alone decides, for when it no longer does. [Freshness.Admit] chooses between them.
func (v *View) Judge(d Demand) Verdict {
	verdict := Verdict{Reported: v.Fits(d)}
	if v.slowUnseen {
		verdict.Unseen = SlowStart
	}
	return verdict
}

// Rank returns the room that the node is ranked by for pods of a demand, in typical pods: what is
// left of Avail where they are held against that, else the least over the resources of
//
//	(left − c·t − u·a)/c + 1
//
// Where the node grants a start-up allowance, pods live so short that starting them takes more than
// any profile shows. Then it is the room that was measured, and its last pod is spread over the
// allowance, so that a node on which many pods end does not draw all of them:
//
//	max(free − allowance, free/(1 + allowance))
func (v *View) Rank(d Demand) float64 {
	free, ahead := v.terms[avail].left, v.Signal.StartupAllowance
	switch {
	case ahead > 0:
		return math.Max(free-ahead, free/(1+ahead))
	case !v.counts || !v.profiled && !d.known() || v.Signal.takesTypicalCPU(&d):
		return free
	}
	free = math.Inf(1)
	for _, i := range askedAll {
		free = math.Min(free, v.terms[i].beside(&d, i))
	}
	return free
}

// mean returns what a pod is expected to take of the resource.
func (r *term) mean(d *Demand, i Resource) float64 {
	if r.unit > 0 {
		return r.cost*d.Typical[i] + r.unit*d.Amount[i]
	}
	return r.cost * d.Pods()
}

// beside returns what is left of the resource beside a pod, and that pod, in typical pods.
func (r *term) beside(d *Demand, i Resource) float64 {
	if !(r.cost > 0) {
		return math.Inf(1)
	}
	return (r.left-r.mean(d, i))/r.cost + 1
}

// Shares returns what a pod takes of each resource of the node, in typical pods, and
// which resource has the least left beside it. A resource that the node can't count
// in has a share of 0; ok is false where that is so of both.
func (v *View) Shares(d Demand) (shares [Resources]float64, binding Resource, ok bool) {
	least := math.Inf(1)
	for i := range Resource(Resources) {
		r := &v.terms[i]
		if !(r.unit > 0 && r.cost > 0) {
			continue
		}
		shares[i] = r.mean(&d, i) / r.cost
		if free := r.beside(&d, i); !ok || free < least {
			least, binding, ok = free, i, true
		}
	}
	return shares, binding, ok
}

// Spare returns what the pods in flight and held room leave of a resource, in cores or bytes, 0 where
// the node does not count in these. It may be negative. The room of the CPU includes as many waiting
// tasks as the node has cores; Spare leaves that part out, and the start-up allowance, so that
// it never exceeds what the node has.
func (v *View) Spare(i Resource) float64 {
	room := &v.Signal.Rooms[i]
	if !(room.Unit > 0) {
		return 0
	}
	left := (room.Left - room.mean(v.Flight.typical(i), v.Flight.Known.Amount[i])) / room.Unit
	if i == CPU && v.Signal.Cores > 0 {
		left -= max(1/room.Unit-v.Signal.Cores, 0)
	}
	return left
}

// MaxSlots caps Slots: more pods than any node holds.
const MaxSlots = 1 << 20

// Slots returns how many pods of the given demand the node lets in one after the
// other, each in flight when the next is asked, 0 to MaxSlots.
func Slots(s Signal, f Flight, d Demand, r Rules) int {
	return slots(s, f, d, r, func(v View) bool { return v.Fits(d) == Admitted })
}

// slots counts the pods after which admits first refuses. What is admitted with
// more in flight is admitted with less, so it doubles its steps and then halves
// the last: a division would round.
func slots(s Signal, f Flight, d Demand, r Rules, admits func(View) bool) int {
	refuses := func(earlier int) bool { return !admits(NewView(s, f.With(float64(earlier), d), r)) }
	if pods := d.Pods(); !(pods > 0 && pods <= math.MaxFloat64) || refuses(0) {
		return 0
	}
	low, high := 0, 1 // low is admitted
	for high < MaxSlots && !refuses(high) {
		low, high = high, 2*high
	}
	return low + 1 + sort.Search(high-low-1, func(i int) bool { return refuses(low + 1 + i) })
}
