package follow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Retry runs session until ctx ends, waiting ever longer after each failure. A
// session calls up when it has the whole picture. health follows. From the first failure on, one
// line is logged until a session lasted for MaxBackoff.
func Retry(ctx context.Context, c Config, what string, health *Health, session func(ctx context.Context, up func()) error) {
	backoff, said, down := c.MinBackoff, false, false
	health.set(fmt.Errorf("%s: %w", what, errNoAnswer))
	for {
		var since time.Time
		err := session(ctx, func() {
			since = time.Now()
			health.set(nil)
			if down {
				c.Logger.Info("follows again: "+what, "endpoint", c.Endpoint)
			}
			down = false
		})
		if ctx.Err() != nil {
			return
		}
		if !since.IsZero() && time.Since(since) >= c.MaxBackoff {
			backoff, said = c.MinBackoff, false
		}
		down = down || since.IsZero()
		if err != nil {
			health.set(fmt.Errorf("%s: %w", what, err))
		}
		if err != nil && !said {
			c.Logger.Warn("connection lost; the pods seen last count until it is back: "+what, "endpoint", c.Endpoint, "err", err)
			said = true
		}
		if !Pause(ctx, time.Duration(float64(backoff)*(1+rand.Float64())/2)) {
			return
		}
		backoff = min(2*backoff, c.MaxBackoff)
	}
}

// Pause waits and reports whether it was not cut short by the end of ctx.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
