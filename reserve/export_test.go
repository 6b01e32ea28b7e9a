package reserve

import "time"

// InFlight returns the demand of the pods in flight to a node. It makes no account.
func (l *Ledger) InFlight(node string) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[node]
	if a == nil {
		return 0
	}
	return a.Flight().Demand
}

// NewLimitedLedger returns an empty Ledger with time limits of its own; 0 means the default.
func NewLimitedLedger(ttl, linger, patience time.Duration) *Ledger {
	return &Ledger{ttl: ttl, linger: linger, patience: patience}
}
