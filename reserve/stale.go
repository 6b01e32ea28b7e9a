package reserve

import "fmt"

// StalePolicy says what becomes of a node whose signal is missing or older
// than the caller's limit.
type StalePolicy uint8

const (
	// Neutral, the default, admits the pod and scores the node in the middle of
	// the others: without signals placement is what it would be without this
	// package.
	Neutral StalePolicy = iota
	// Reject refuses the node until it reports again.
	Reject
	// Allow admits the pod and scores the node by its last signal, or like
	// Neutral if there was none.
	Allow
)

var policyNames = [...]string{"Neutral", "Reject", "Allow"}

// String returns the policy's name as ParseStalePolicy reads it.
func (p StalePolicy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("StalePolicy(%d)", uint8(p))
}

// PolicyError is a StalePolicy's name that is not known.
type PolicyError struct{ Name string }

func (e *PolicyError) Error() string {
	return fmt.Sprintf("reserve: stale policy %q, want Neutral, Reject or Allow", e.Name)
}

// ParseStalePolicy reads Neutral, Reject or Allow; empty is Neutral. The error
// is a *PolicyError.
func ParseStalePolicy(name string) (StalePolicy, error) {
	if name == "" {
		return Neutral, nil
	}
	for i, known := range policyNames {
		if name == known {
			return StalePolicy(i), nil
		}
	}
	return Neutral, &PolicyError{Name: name}
}

// Admit decides for a node whose signal is missing or too old.
func (p StalePolicy) Admit() Reason {
	if p == Reject {
		return Stale
	}
	return Admitted
}
