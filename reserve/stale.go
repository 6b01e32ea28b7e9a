package reserve

import (
	"fmt"
	"strings"
)

// StalePolicy says what becomes of a node whose report is missing or too old.
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
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("StalePolicy(%d)", uint8(p))
}

// ParseStalePolicy reads Neutral, Reject or Allow; empty is Neutral. The error
// is an ErrInvalid.
func ParseStalePolicy(name string) (StalePolicy, error) {
	if name == "" {
		return Neutral, nil
	}
	for i, known := range policyNames {
		if name == known {
			return StalePolicy(i), nil
		}
	}
	return Neutral, refusePolicy(name)
}

func refusePolicy(value any) error {
	return refuse("Policy", value, strings.Join(policyNames[:], ", ")+", or empty for "+policyNames[Neutral])
}
