package server

import (
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// callers bounds the requests of each caller. It is safe for concurrent use.
type callers struct {
	rate  rate.Limit
	burst int

	mu     sync.Mutex
	limits map[string]*rate.Limiter
}

// maxCallers are told apart before those who have asked nothing lately are forgotten.
const maxCallers = 10_000

func newCallers(l Limits) *callers {
	return &callers{rate: rate.Limit(l.Rate), burst: l.Burst, limits: make(map[string]*rate.Limiter)}
}

// enter counts a request of the caller, or says when the next may come.
func (c *callers) enter(caller Caller) error {
	now := time.Now()
	limit := c.of(caller.Name, now)
	if limit.AllowN(now, 1) {
		return nil
	}
	wait := (1 - limit.TokensAt(now)) / float64(c.rate)
	return RefuseForNow(http.StatusTooManyRequests, max(1, int(math.Ceil(wait))), "Too many requests.")
}

func (c *callers) of(name string, now time.Time) *rate.Limiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.limits[name]
	if limit == nil {
		if len(c.limits) >= maxCallers {
			c.forget(now)
		}
		limit = rate.NewLimiter(c.rate, c.burst)
		c.limits[name] = limit
	}
	return limit
}

// forget drops those who may use all of their burst again: they lose nothing by it. If
// nobody may, it drops all rather than grow.
func (c *callers) forget(now time.Time) {
	for name, limit := range c.limits {
		if limit.TokensAt(now) >= float64(c.burst) {
			delete(c.limits, name)
		}
	}
	if len(c.limits) >= maxCallers {
		clear(c.limits)
	}
}
