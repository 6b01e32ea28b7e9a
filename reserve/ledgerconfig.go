package reserve

import "time"

// LedgerConfig holds the two time limits of a Ledger. The zero value of a
// field means its default.
type LedgerConfig struct {
	// TTL is how long an assumed pod may wait for its bind; default 15 min, more
	// than the 10 min a volume may take to bind. A bound pod has no limit: pulling
	// its image may take any time.
	TTL time.Duration
	// Linger is how long a pod that a report listed but the API has not shown is
	// remembered after it was last listed; default 1 min, more than a watch lags.
	Linger time.Duration
}

const (
	defaultTTL    = 15 * time.Minute
	defaultLinger = time.Minute
)

// Validate returns a *FieldError for a negative limit.
func (c LedgerConfig) Validate() error {
	if c.TTL < 0 {
		return &FieldError{Field: "TTL", Value: c.TTL.Seconds(), Want: "≥ 0 s (0 is the default)"}
	}
	if c.Linger < 0 {
		return &FieldError{Field: "Linger", Value: c.Linger.Seconds(), Want: "≥ 0 s (0 is the default)"}
	}
	return nil
}
