package reserve

import "time"

// NewLimitedLedger returns an empty Ledger with time limits of its own; 0 means the default.
func NewLimitedLedger(ttl, linger, patience time.Duration) *Ledger {
	return &Ledger{limits: timeLimits{ttl, linger, patience}}
}
