package reserve

import (
	"fmt"
	"time"
)

// DefaultMaxAge is how long after its newest sample a report counts: twice what
// passes between two of an agent's messages.
const DefaultMaxAge = 5 * time.Second

// Freshness says for how long a node's report counts, and what holds without
// one. Times are since any start common to all calls, at least 0. The zero value
// of a field means its default.
type Freshness struct {
	// MaxAge is how long after its newest sample a report counts; 0 means
	// DefaultMaxAge.
	MaxAge time.Duration
	// Grace is how long a node that has not reported yet is waited for, from its
	// first appearance; 0 means MaxAge.
	Grace time.Duration
	// Policy is for a node whose report is missing or too old; see [StalePolicy].
	Policy StalePolicy
}

// AgeError names a field of Freshness whose value is negative.
type AgeError struct {
	Field string
	Value time.Duration
}

func (e *AgeError) Error() string {
	return fmt.Sprintf("reserve: %s is %v, want at least 0 (0 is the default)", e.Field, e.Value)
}

// Validate returns an *AgeError for a negative time and a *PolicyError for a
// policy that does not exist.
func (f Freshness) Validate() error {
	switch {
	case f.MaxAge < 0:
		return &AgeError{"MaxAge", f.MaxAge}
	case f.Grace < 0:
		return &AgeError{"Grace", f.Grace}
	case int(f.Policy) >= len(policyNames):
		return &PolicyError{Name: f.Policy.String()}
	}
	return nil
}

// WithDefaults returns f with its zero fields replaced.
func (f Freshness) WithDefaults() Freshness {
	if f.MaxAge == 0 {
		f.MaxAge = DefaultMaxAge
	}
	if f.Grace == 0 {
		f.Grace = f.MaxAge
	}
	return f
}

// Validity is until when what is known of a node holds. It is a plain value, one
// number, so that an atomic can hold it.
type Validity int64

// Awaited is the validity of a node that appeared at since and has not reported.
func (f *Freshness) Awaited(since time.Duration) Validity { return Validity(-1 - (since + f.Grace)) }

// Reported is the validity of a node whose newest report rests on a sample taken
// at sampled: its arrival less the sample's age at sending, and so the one time
// here that may lie before the start.
func (f *Freshness) Reported(sampled time.Duration) Validity {
	return Validity(max(sampled+f.MaxAge, 0))
}

// Fresh says whether decisions at now rest on the report.
func (v Validity) Fresh(now time.Duration) bool { return time.Duration(v) >= now }

// Missing says that the node has not reported.
func (v Validity) Missing() bool { return v < 0 }

// awaited says whether a node's first report is still waited for.
func (v Validity) awaited(now time.Duration) bool { return v < 0 && now < time.Duration(-1-v) }

// Admit is the verdict on a node at now. While its report is fresh that is the
// one given, [Admit]'s; after that it is the policy's. A node is waited for
// before its first report, unless the policy allows whatever comes.
func (f *Freshness) Admit(v Validity, now time.Duration, fresh Reason) Reason {
	if v.Fresh(now) {
		return fresh
	}
	if v.awaited(now) && f.Policy != Allow {
		return Stale
	}
	return f.Policy.Admit()
}

// Ranked says whether a node is ranked by its report rather than in the middle of
// the others.
func (f *Freshness) Ranked(v Validity, now time.Duration) bool {
	return v.Fresh(now) || f.Policy == Allow && !v.Missing()
}

// Slots counts the pods that Admit lets in: [Slots] of the report while that is
// fresh, none or MaxSlots after.
func (f *Freshness) Slots(v Validity, now time.Duration, s Signal, inflight, demand float64, r Rules) int {
	if v.Fresh(now) {
		return Slots(s, inflight, demand, r)
	}
	if f.Admit(v, now, Stale) == Admitted {
		return MaxSlots
	}
	return 0
}
