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
}

// Flight is what a node's pods in flight ask for, in pods.
type Flight struct {
	// Demand is that of all of them: what Free takes off.
	Demand float64
	// Stalled is the part of the pods that wait for something other than the
	// node; see [Stalled]. Overdue is the part, of the others, that has been in
	// flight for longer than the ledger's Patience. Slow start leaves Stalled out,
	// and Overdue as long as reports come, for a report that does not list a pod
	// after that time says that it does not run.
	Stalled, Overdue float64
}

// starting is what slow start counts while reports come, unseen what it counts
// when they don't.
func (f Flight) starting() float64 { return f.Demand - f.Stalled - f.Overdue }
func (f Flight) unseen() float64   { return f.Demand - f.Stalled }

// Rules are the constants of Admit. The zero value of a field means its
// default.
type Rules struct {
	// Epsilon is the room that must be left for any pod, in pods: default 1,
	// range (0, ∞). A pod that demands more needs its demand.
	Epsilon float64
	// Burst and Growth are slow start's line: at most max(Burst·max(1, cores/4) +
	// Growth·n, allowance) pods in flight. Defaults 2 and ½, so that the first step
	// is half of the cores: without the line one wrong signal put 86 pods on a
	// 4-core node in a fluid simulation, with it 12, and steeper lines let them
	// through. Ranges (0, ∞).
	Burst, Growth float64
}

const (
	defaultEpsilon = 1
	defaultBurst   = 2
	defaultGrowth  = .5
	// burstCores are the cores for which Burst is meant; larger nodes have as much
	// of it a core.
	burstCores = 4
)

// Validate returns a *FieldError for a field that is negative or not finite.
func (r Rules) Validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"Epsilon", r.Epsilon}, {"Burst", r.Burst}, {"Growth", r.Growth}} {
		if !(f.value >= 0) || math.IsInf(f.value, 1) {
			return refuse(f.name, f.value, "a finite number above 0, or 0 for the default")
		}
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
	return r
}

// Reason says why a node cannot take a pod; the zero value admits it.
type Reason uint8

// The reasons, in the order in which Admit looks for them.
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
)

// Reasons lists the refusals, for callers that count by reason.
func Reasons() []Reason { return []Reason{Stale, Saturated, NoRoom, SlowStart} }

var reasonNames = [...]string{"admitted", "stale", "saturated", "no room", "slow start"}

// String returns a short lower-case name.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Free returns avail − inflight: the pods that still fit. It may be negative.
func Free(avail, inflight float64) float64 { return avail - inflight }

// Limit returns slow start's bound on the pods in flight: max(Burst·max(1,
// cores/4) + Growth·n, allowance).
func Limit(s Signal, r Rules) float64 {
	r = r.WithDefaults()
	return math.Max(r.Burst*math.Max(s.Cores/burstCores, 1)+r.Growth*float64(s.Pods), s.Allowance)
}

// Admit decides whether a node with signal s and the flight f may take one more
// pod of the given demand. A number that is NaN never admits. Whether s is fresh
// enough to be asked is the caller's to know; see [Freshness].
func Admit(s Signal, f Flight, demand float64, r Rules) Reason {
	r = r.WithDefaults()
	switch {
	case s.Saturated:
		return Saturated
	case !(Free(s.Avail, f.Demand) >= math.Max(demand, r.Epsilon)):
		return NoRoom
	case !(f.starting() < Limit(s, r)):
		return SlowStart
	}
	return Admitted
}

// Verdict is what the rules say of a node as long as its report counts and when
// it no longer does.
type Verdict struct {
	// Reported is Admit's answer.
	Reported Reason
	// Unseen is slow start's alone, Admitted or SlowStart.
	Unseen Reason
}

// Judge decides for a node both ways.
func Judge(s Signal, f Flight, demand float64, r Rules) Verdict {
	v := Verdict{Reported: Admit(s, f, demand, r)}
	if !(f.unseen() < Limit(s, r)) {
		v.Unseen = SlowStart
	}
	return v
}

// MaxSlots caps Slots: more pods than any node holds.
const MaxSlots = 1 << 20

// Slots returns how many pods of the given demand Admit lets in one after the
// other, each in flight when the next is asked, 0 to MaxSlots.
func Slots(s Signal, f Flight, demand float64, r Rules) int {
	r = r.WithDefaults()
	return slots(f, demand, func(f Flight) bool { return Admit(s, f, demand, r) == Admitted })
}

// slots counts the pods after which admits first refuses. What is admitted with
// more in flight is admitted with less, so it doubles its steps and then halves
// the last: a division would round.
func slots(f Flight, demand float64, admits func(Flight) bool) int {
	refuses := func(earlier int) bool {
		g := f
		g.Demand += float64(earlier) * demand
		return !admits(g)
	}
	if !(demand > 0 && demand <= math.MaxFloat64) || refuses(0) {
		return 0
	}
	low, high := 0, 1 // low is admitted
	for high < MaxSlots && !refuses(high) {
		low, high = high, 2*high
	}
	return low + 1 + sort.Search(high-low-1, func(i int) bool { return refuses(low + 1 + i) })
}
