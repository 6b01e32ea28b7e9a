package reserve

import (
	"fmt"
	"math"
	"sort"
)

// Signal is what decisions need of a node's newest report.
type Signal struct {
	// Avail is a lower bound of the pods that still fit beyond the Pods already
	// counted; it may be negative.
	Avail float64
	// Ahead is the part of Avail that is granted ahead of confirmation, ≥ 0, for pods that are
	// seen to end: it lets pods in, and hardly counts where nodes are ranked ([RankFor]).
	Ahead float64
	// Allowance is the number of unconfirmed pods that the node accepts, ≥ 0.
	Allowance float64
	// Pods is n, the pods that the report counts. Both it and Allowance raise
	// slow start's line, so they should pass [Account.Cap] first.
	Pods int
	// K is the capacity in typical loads, ≥ 0.
	K float64
	// Saturated says that a channel is full.
	Saturated bool
	// MemoryRoom is how many pods beyond the Pods memory alone would hold; it may
	// be negative. Only [Trickle] asks for it.
	MemoryRoom float64
	// Cores are the node's, 0 where nobody says, which is as good as a few: slow
	// start's first step grows with them.
	Cores float64
	// Rooms are those of the resources in which pods of known workloads are counted,
	// Rest the scarcest of the channels in which all pods are typical. Avail follows
	// from them and from what else the node knows.
	Rooms [Resources]Room
	Rest  Room
	// Floored says that no channel is half full, and Avail was raised to one pod for
	// that alone.
	Floored bool
	// Usual is how many cores a pod takes where pods live so short that starting them is
	// much of what they take, and take alike; 0 elsewhere. A pod that takes about so many
	// is a typical one to the CPU: see [Usual].
	Usual float64
}

// Flight is what a node's pods in flight ask for, and what is held there.
type Flight struct {
	// Demand is that of all of them in pods. Free takes it off.
	Demand float64
	// Held is the room in pods that is kept free for pods to come ([Ledger.Hold]): Free
	// takes it off, too, and slow start leaves it out, for it is in nobody's way.
	Held float64
	// Stalled is the part of the pods that wait for something other than the
	// node; see [Stalled]. Overdue is the part, of the others, that has been in
	// flight for longer than the ledger's Patience. Slow start leaves Stalled out,
	// and Overdue as long as reports come, for a report that does not list a pod
	// after that time says that it does not run.
	Stalled, Overdue float64
	// Silent is by how much slow start counts more while no report comes, or less where it
	// is negative: it goes by what the API shows of the pods then. One leaves the line that
	// has run for ten seconds; one that can't be started, or has crashed, is in it for the
	// first ten ([Ledger.Stands]).
	Silent float64
	// Known is what those ask for whose workloads are known; Demand counts them too.
	Known Known
	// Cores is the sum of [Demand.Cores].
	Cores float64
}

// taken is what no further pod may have.
func (f *Flight) taken() float64 { return f.Demand + f.Held }

// starting is what slow start counts while reports come, unseen what it counts
// when they don't.
func (f Flight) starting() float64 { return f.Demand - f.Stalled - f.Overdue }
func (f Flight) unseen() float64   { return f.Demand - f.Stalled + f.Silent }

// Rules are the constants of Fits. The zero value of a field means its
// default.
type Rules struct {
	// Epsilon is the room that must be left for any pod, in pods: default 1,
	// range (0, ∞). A pod that demands more needs its demand.
	Epsilon float64
	// Burst and Growth are slow start's line: at most max(Burst·max(1, cores/2) +
	// Growth·n, allowance) pods in flight. Defaults 2 and ½, so that the first step
	// is a pod a core, which is what an agent takes a pod for that knows of none.
	// Without the line one wrong signal put 86 pods on a 4-core node in a fluid
	// simulation, and with a first step of 2 it put 12; steeper lines let them
	// through. Ranges (0, ∞).
	Burst, Growth float64
	// Spread is φ, how much what a known pod takes is taken to differ from what is
	// known, relative to it: default ½, range (0, ∞). It is for those who make a
	// Demand.
	Spread float64
	// Caution is g, the standard deviations by which pods may take more than
	// expected of a resource without give: default 1, range (0, ∞).
	Caution float64
	// CPUFill is how many cores' worth of demand a core is filled to by pods that
	// are known, range (0, 2]. The default keeps all cores busy and few pods waiting:
	// 1 + max(1.35, .65·√cores)/cores, which is 1.34 on 4 cores and 1.08 on 64. Where
	// the node does not see who waits it is 1, whatever is set.
	CPUFill float64
}

const (
	defaultEpsilon = 1
	defaultBurst   = 2
	defaultGrowth  = .5
	// burstCores are the cores for which Burst is meant; larger nodes have as much
	// of it a core.
	burstCores     = 2
	defaultSpread  = .5
	defaultCaution = 1
)

const (
	// MaxCPUFill keeps nothing free for known pods.
	MaxCPUFill = fullCores
	// leastWaiting and waitingRoot: see Rules.CPUFill.
	leastWaiting = 1.35
	waitingRoot  = .65
)

// Validate returns an ErrInvalid for a field that is negative or not finite.
func (r Rules) Validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"Epsilon", r.Epsilon}, {"Burst", r.Burst}, {"Growth", r.Growth},
		{"Spread", r.Spread}, {"Caution", r.Caution}, {"CPUFill", r.CPUFill},
	} {
		if !(f.value >= 0) || math.IsInf(f.value, 1) {
			return refuse(f.name, f.value, "a finite number above 0, or 0 for the default")
		}
	}
	if r.CPUFill > fullCores {
		return refuse("CPUFill", r.CPUFill, "at most 2")
	}
	return nil
}

// WithDefaults returns r with its zero fields replaced.
func (r Rules) WithDefaults() Rules {
	if r.Epsilon == 0 {
		r.Epsilon = defaultEpsilon
	}
	if r.Burst == 0 {
		r.Burst = defaultBurst
	}
	if r.Growth == 0 {
		r.Growth = defaultGrowth
	}
	if r.Spread == 0 {
		r.Spread = defaultSpread
	}
	if r.Caution == 0 {
		r.Caution = defaultCaution
	}
	return r
}

// Reason says why a node cannot take a pod; the zero value admits it.
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
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Full says that the node has no room for the pod: what nothing but pods that end
// can mend.
func (r Reason) Full() bool {
	return r == Saturated || r == NoRoom || r == NoCPU || r == NoMemory
}

// Free returns avail − inflight − held: the pods that still fit. It may be negative.
func Free(avail float64, f Flight) float64 { return avail - f.taken() }

// Limit returns slow start's bound on the pods in flight: max(Burst·max(1,
// cores/2) + Growth·n, allowance).
func Limit(s Signal, r Rules) float64 {
	r = r.WithDefaults()
	return math.Max(r.Burst*math.Max(s.Cores/burstCores, 1)+r.Growth*float64(s.Pods), s.Allowance)
}

// Fits decides whether a node with signal s and the flight f may take one more
// pod of the given demand. Typical pods, among typical ones in flight, are held
// against Avail; where the node can, others are against each resource's [Room], but
// those that take what is usual there against Avail and the memory's Room. A number that
// is NaN never admits. Whether s is fresh enough to be asked is the caller's to know; see
// [Freshness].
func Fits(s Signal, f Flight, d Demand, r Rules) Reason {
	r = r.WithDefaults()
	if s.Saturated {
		return Saturated
	}
	switch {
	case counted(&s, &f, &d):
		if reason := fits(&s, &f, &d, &r); reason != Admitted {
			return reason
		}
	case !(Free(s.Avail, f) >= r.least(&d)):
		return NoRoom
	}
	if !(f.starting() < Limit(s, r)) {
		return SlowStart
	}
	return Admitted
}

// Verdict is what the rules say of a node as long as its report counts and when
// it no longer does.
type Verdict struct {
	// Reported is what Fits says.
	Reported Reason
	// Unseen is slow start's alone, Admitted or SlowStart.
	Unseen Reason
}

// Judge decides for a node both ways.
func Judge(s Signal, f Flight, d Demand, r Rules) Verdict {
	v := Verdict{Reported: Fits(s, f, d, r)}
	if !(f.unseen() < Limit(s, r)) {
		v.Unseen = SlowStart
	}
	return v
}

// MaxSlots caps Slots: more pods than any node holds.
const MaxSlots = 1 << 20

// Slots returns how many pods of the given demand Fits lets in one after the
// other, each in flight when the next is asked, 0 to MaxSlots.
func Slots(s Signal, f Flight, d Demand, r Rules) int {
	r = r.WithDefaults()
	return slots(f, d, func(f Flight) bool { return Fits(s, f, d, r) == Admitted })
}

// slots counts the pods after which admits first refuses. What is admitted with
// more in flight is admitted with less, so it doubles its steps and then halves
// the last: a division would round.
func slots(f Flight, d Demand, admits func(Flight) bool) int {
	refuses := func(earlier int) bool { return !admits(f.With(float64(earlier), d)) }
	if pods := d.Pods(); !(pods > 0 && pods <= math.MaxFloat64) || refuses(0) {
		return 0
	}
	low, high := 0, 1 // low is admitted
	for high < MaxSlots && !refuses(high) {
		low, high = high, 2*high
	}
	return low + 1 + sort.Search(high-low-1, func(i int) bool { return refuses(low + 1 + i) })
}
