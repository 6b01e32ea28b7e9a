package reserve

import (
	"cmp"
	"time"
)

// LedgerConfig holds the time limits of a Ledger. The zero value of a field
// means its default.
type LedgerConfig struct {
	// TTL is how long an assumed pod may wait for its bind; default 15 min, more
	// than the 10 min a volume may take to bind. A bound pod has no limit: pulling
	// its image may take any time.
	TTL time.Duration
	// Linger is how long a pod that a report listed but the API has not shown is
	// remembered after it was last listed; default 1 min, more than a watch lags.
	Linger time.Duration
	// Patience is how long a pod may be in flight before it no longer holds up
	// those behind it on slow start's line (see [Flight].Late); default 2 min,
	// after which kubelet gives up a request to the container runtime and starts
	// over.
	Patience time.Duration
}

const (
	defaultTTL      = 15 * time.Minute
	defaultLinger   = time.Minute
	defaultPatience = 2 * time.Minute
)

// Validate returns an ErrInvalid for a negative limit.
func (c LedgerConfig) Validate() error {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"TTL", c.TTL}, {"Linger", c.Linger}, {"Patience", c.Patience}} {
		if f.value < 0 {
			return refuse(f.name, f.value, "above 0, or 0 for the default")
		}
	}
	return nil
}

// withDefaults returns c with its zero fields replaced.
func (c LedgerConfig) withDefaults() LedgerConfig {
	return LedgerConfig{
		TTL: cmp.Or(c.TTL, defaultTTL), Linger: cmp.Or(c.Linger, defaultLinger), Patience: cmp.Or(c.Patience, defaultPatience),
	}
}
