package reserve

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	// DefaultMaxAge is how long after its newest sample a report counts: twice what
	// passes between two of an agent's messages.
	DefaultMaxAge = 5 * time.Second
	// refusalMemory is how long a node whose report has become too old stays full
	// if that report said so: longer than an agent takes to be replaced, or the
	// node would pass for an empty one meanwhile.
	refusalMemory = time.Minute
)

// Freshness is how long a node's report counts, and what holds without
// one. Times are measured from one start that the caller chooses for all calls, and at least 0. The zero value
// of a field means its default; all methods fill the defaults in.
type Freshness struct {
	// MaxAge is how long after its newest sample a report counts; 0 means
	// DefaultMaxAge.
	MaxAge time.Duration
	// Grace is how long a node that has not reported yet is waited for, from its
	// first appearance, and all silent nodes after a gap in the clock; 0 means
	// MaxAge.
	Grace time.Duration
	// Policy is for a node whose report is missing or too old; see [StalePolicy].
	Policy StalePolicy
}

// Validate returns an ErrInvalid for a negative time and for a policy that does
// not exist.
func (f Freshness) Validate() error {
	const want = "at least 0 (0 is the default)"
	switch {
	case f.MaxAge < 0:
		return refuse("MaxAge", f.MaxAge, want)
	case f.Grace < 0:
		return refuse("Grace", f.Grace, want)
	case int(f.Policy) >= len(policyNames):
		return refusePolicy(f.Policy)
	}
	return nil
}

// WithDefaults returns f with its zero fields replaced.
func (f Freshness) WithDefaults() Freshness {
	f.MaxAge = cmp.Or(f.MaxAge, DefaultMaxAge)
	f.Grace = cmp.Or(f.Grace, f.MaxAge)
	return f
}

// Moment is the time of a decision.
type Moment struct {
	Now time.Duration
	// Awaited is until when every node without a fresh report is waited for because
	// the deciding process did not run and so received none; 0 if that never happened.
	Awaited time.Duration
}

// Resume returns the moment at now of a clock that was last read at m. If more than
// MaxAge lies between, the process stood still, the machine slept, or no decision was
// asked for: every report is too old though its node may well report, and all nodes
// get the Grace of a start.
func (f Freshness) Resume(m Moment, now time.Duration) Moment {
	f = f.WithDefaults()
	if now-m.Now > f.MaxAge {
		m.Awaited = later(now, f.Grace)
	}
	m.Now = max(m.Now, now)
	return m
}

// later adds without overflow; span is at least 0.
func later(at, span time.Duration) time.Duration {
	if at > 0 && at > math.MaxInt64-span {
		return math.MaxInt64
	}
	return at + span
}

// Validity is until when what is known of a node holds. It is a plain value, one
// number, so that an atomic can hold it.
type Validity int64

// Awaited is the validity of a node that appeared at since and has not reported.
func (f Freshness) Awaited(since time.Duration) Validity {
	return Validity(-1 - later(since, f.WithDefaults().Grace))
}

// Reported is the validity of a node whose newest report rests on a sample taken
// at sampled: its arrival less the sample's age at sending, and so the one time
// here that may precede the start.
func (f Freshness) Reported(sampled time.Duration) Validity {
	return Validity(max(later(sampled, f.WithDefaults().MaxAge), 0))
}

// Fresh reports whether decisions at now rest on the report.
func (v Validity) Fresh(now time.Duration) bool { return time.Duration(v) >= now }

// Missing reports whether the node has never reported.
func (v Validity) Missing() bool { return v < 0 }

// awaited reports whether a node's first report is still waited for.
func (v Validity) awaited(now time.Duration) bool { return v < 0 && now < time.Duration(-1-v) }

// remembered reports whether a report that is too old may still say that the node
// is full.
func (v Validity) remembered(now time.Duration) bool {
	return v >= 0 && now <= later(time.Duration(v), refusalMemory)
}

// Admit turns the verdict on a node into the decision at a moment. While its
// report is fresh that is Reported. After that the policy decides; under Neutral
//
//	no pod is admitted while the node is waited for,
//	it stays full for a minute if its last report leaves no room, and
//	slow start's line holds for ever: Unseen.
//
// So a node that falls silent, or never reports, takes pods no faster than the API shows
// that those before them run.
func (f Freshness) Admit(v Validity, at Moment, verdict Verdict) Reason {
	if v.Fresh(at.Now) {
		return verdict.Reported
	}
	switch {
	case f.Policy == Allow:
		return Admitted
	case f.Policy != Neutral || v.awaited(at.Now) || at.Now < at.Awaited:
		return Stale
	case verdict.Reported.Full() && v.remembered(at.Now):
		return verdict.Reported
	}
	return verdict.Unseen
}

// Ranked reports whether a node is ranked by its report rather than in the middle of
// the others.
func (f Freshness) Ranked(v Validity, now time.Duration) bool {
	return v.Fresh(now) || f.Policy == Allow && !v.Missing()
}

// Slots returns how many pods Admit lets in one after the other, each in flight
// when the next is asked, 0 to MaxSlots.
func (f Freshness) Slots(v Validity, at Moment, s Signal, flight Flight, d Demand, r Rules) int {
	return slots(s, flight, d, r, func(view View) bool { return f.Admit(v, at, view.Judge(d)) == Admitted })
}

// StalePolicy is what becomes of a node whose report is missing or too old.
type StalePolicy uint8

const (
	// Neutral, the default, scores the node in the middle of the others and admits
	// pods up to slow start's line; see [Freshness.Admit]. Without any reports
	// placement is what it would be without this package, at slow start's pace.
	Neutral StalePolicy = iota
	// Reject refuses the node until it reports again.
	Reject
	// Allow admits whatever comes, without any bound, and scores the node by its
	// last signal, or like Neutral if there was none. A node that falls silent then
	// takes a whole backlog: it is for clusters where nodes without an agent are
	// meant to be filled by their requests.
	Allow
)

var policyNames = [...]string{"Neutral", "Reject", "Allow"}

// String returns the policy's name as ParseStalePolicy reads it.
func (p StalePolicy) String() string {
	return nameOf(policyNames[:], uint8(p), "StalePolicy(%d)")
}

// ParseStalePolicy reads Neutral, Reject or Allow; empty is Neutral. The error
// is an ErrInvalid.
func ParseStalePolicy(name string) (StalePolicy, error) {
	i := slices.Index(policyNames[:], cmp.Or(name, policyNames[Neutral]))
	if i < 0 {
		return Neutral, refusePolicy(name)
	}
	return StalePolicy(i), nil
}

func refusePolicy(value any) error {
	return refuse("Policy", value, strings.Join(policyNames[:], ", ")+", or empty for "+policyNames[Neutral])
}
