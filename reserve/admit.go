package reserve

import (
	"fmt"
	"math"
)

// Signal is what decisions need of a node's newest report.
type Signal struct {
	// Avail is a lower bound of the pods that still fit beyond the Pods already
	// counted; it may be negative.
	Avail float64
	// Allowance is the number of unconfirmed pods that the node accepts, ≥ 0.
	Allowance float64
	// Pods is n, the pods that the report counts.
	Pods int
	// K is the capacity in typical loads, ≥ 0.
	K float64
	// Saturated says that a channel is full.
	Saturated bool
}

// Rules are the constants of Admit. The zero value of a field means its
// default.
type Rules struct {
	// Epsilon is the room that must be left for any pod, in pods: default 1,
	// range (0, ∞). A pod that demands more needs its demand.
	Epsilon float64
	// Burst and Growth are slow start's line: at most max(Burst + Growth·n,
	// allowance) pods in flight. Defaults 2 and ½: without the line one wrong
	// signal put 86 pods on a 4-core node in a fluid simulation, with it 12,
	// and steeper lines let them through. Ranges (0, ∞) and [0, ∞).
	Burst, Growth float64
}

const (
	defaultEpsilon = 1
	defaultBurst   = 2
	defaultGrowth  = .5
)

// FieldError names a field whose value is out of its range.
type FieldError struct {
	Field string
	Value float64
	Want  string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("reserve: %s is %v, want %s", e.Field, e.Value, e.Want)
}

// Validate returns a *FieldError for a field that is negative or not finite.
func (r Rules) Validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"Epsilon", r.Epsilon}, {"Burst", r.Burst}, {"Growth", r.Growth}} {
		if !(f.value >= 0) || math.IsInf(f.value, 1) {
			return &FieldError{Field: f.name, Value: f.value, Want: "a finite number ≥ 0 (0 is the default)"}
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
	// Stale: the node's signal is missing or too old, and the policy refuses.
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

// Limit returns slow start's bound on the pods in flight: max(Burst +
// Growth·n, allowance).
func Limit(s Signal, r Rules) float64 {
	r = r.WithDefaults()
	return math.Max(r.Burst+r.Growth*float64(s.Pods), s.Allowance)
}

// Admit decides whether a node with signal s and inflight pods in flight may
// take one more pod of the given demand. A number that is NaN never admits.
// Whether s is fresh enough to be asked is the caller's to know; see
// [Freshness].
func Admit(s Signal, inflight, demand float64, r Rules) Reason {
	r = r.WithDefaults()
	switch {
	case s.Saturated:
		return Saturated
	case !(Free(s.Avail, inflight) >= math.Max(demand, r.Epsilon)):
		return NoRoom
	case !(inflight < Limit(s, r)):
		return SlowStart
	}
	return Admitted
}

// MaxSlots caps Slots: more pods than any node holds.
const MaxSlots = 1 << 20

// Slots returns how many pods of the given demand Admit lets in one after the
// other, each in flight when the next is asked, 0 to MaxSlots.
func Slots(s Signal, inflight, demand float64, r Rules) int {
	r = r.WithDefaults()
	if !(demand > 0) || Admit(s, inflight, demand, r) != Admitted {
		return 0
	}
	room := math.Floor((Free(s.Avail, inflight)-math.Max(demand, r.Epsilon))/demand) + 1
	unconfirmed := math.Ceil((Limit(s, r) - inflight) / demand)
	slots := int(math.Min(math.Min(room, unconfirmed), MaxSlots))
	admits := func(earlier int) bool {
		return Admit(s, inflight+float64(earlier)*demand, demand, r) == Admitted
	}
	// The division rounds; Admit has the last word.
	for slots > 1 && !admits(slots-1) {
		slots--
	}
	for slots < MaxSlots && admits(slots) {
		slots++
	}
	return max(slots, 1)
}
