package publish

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is an exponential backoff with jitter: the wait before retry i = 0,
// 1, ... is between half of and all of min(Max, Min·2^i), so that the agents
// of a fleet don't return to a restarted peer in step.
type Backoff struct {
	// Min is the first wait, default 100 ms; Max the longest, default 5 s.
	Min, Max time.Duration
}

// Validate refuses negative waits and a Min above Max.
func (b Backoff) Validate() error {
	if b.Min < 0 {
		return refuse("Backoff.Min", b.Min, "negative")
	}
	if d := b.withDefaults(); d.Max < d.Min {
		return refuse("Backoff.Max", b.Max, "less than Min")
	}
	return nil
}

func (b Backoff) withDefaults() Backoff {
	b.Min = cmp.Or(b.Min, 100*time.Millisecond)
	b.Max = cmp.Or(b.Max, max(b.Min, 5*time.Second))
	return b
}

// Delay is the wait before retry i; random is in [0,1).
func (b Backoff) Delay(i int, random float64) time.Duration {
	b = b.withDefaults()
	d := b.Max
	if i < 62 && b.Min<<i>>i == b.Min {
		d = min(d, b.Min<<i)
	}
	return d/2 + time.Duration(random*float64(d-d/2))
}

// retries counts failures in a row.
type retries struct {
	backoff  Backoff
	failures int
}

func (r *retries) next() time.Duration {
	d := r.backoff.Delay(r.failures, rand.Float64())
	r.failures++
	return d
}

func (r *retries) reset() { r.failures = 0 }

// reconnect runs sessions, with waits between them, until ctx ends. It hands lost
// the error of each, and whether it is the first of an outage.
func reconnect(ctx context.Context, b Backoff, session func(context.Context) error, lost func(err error, first bool)) {
	retry := retries{backoff: b}
	for {
		began := time.Now()
		err := session(ctx)
		if ctx.Err() != nil {
			return
		}
		// A session that outlived the longest wait worked: what ended it is new.
		if time.Since(began) > b.Max {
			retry.reset()
		}
		lost(err, retry.failures == 0)
		if !sleep(ctx, retry.next()) {
			return
		}
	}
}

// sleep waits for d and reports whether ctx still runs.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
