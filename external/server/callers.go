package server

import (
	"context"
	"fmt"
	"maps"
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
	turns chan struct{} // of work

	mu     sync.Mutex
	limits map[string]*rate.Limiter
	busy   tally // requests in progress
}

// tally counts something of all callers, and of each by name.
type tally struct {
	all int
	of  map[string]int
}

func (t *tally) add(name string, n int) {
	if t.of == nil {
		t.of = make(map[string]int)
	}
	t.all += n
	if t.of[name] += n; t.of[name] == 0 {
		delete(t.of, name)
	}
}

const (
	// mostBusy bounds the requests in progress, and mostBusyOfOne those of one caller: each
	// may hold a body, and an answer that is not read.
	mostBusy, mostBusyOfOne = 128, 32
	// mostTurns bounds the bodies that are worked on: one takes up to 30 times its bytes.
	mostTurns = 4
)

// begin counts a request in progress until end, or refuses it.
func (c *callers) begin(caller Caller) (end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy.all >= mostBusy || c.busy.of[caller.Name] >= mostBusyOfOne {
		return nil, RefuseForNow(http.StatusTooManyRequests, 1, fmt.Sprintf(
			"Too many requests at once: a caller may have %d in progress, and all callers %d.", mostBusyOfOne, mostBusy))
	}
	c.busy.add(caller.Name, 1)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.busy.add(caller.Name, -1)
	}, nil
}

// turn does the work when fewer than mostTurns others are at theirs.
func (c *callers) turn(ctx context.Context, work func() error) error {
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
		return work()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxCallers is how many callers are remembered before those without recent requests are forgotten.
const maxCallers = 10_000

func newCallers(l Limits) *callers {
	return &callers{rate: rate.Limit(l.Rate), burst: l.Burst, limits: map[string]*rate.Limiter{}, turns: make(chan struct{}, mostTurns)}
}

// enter counts a request of the caller, or refuses it with the time until the next may come.
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
	if len(c.limits) >= maxCallers && c.limits[name] == nil {
		c.forget(now)
	}
	if c.limits[name] == nil {
		c.limits[name] = rate.NewLimiter(c.rate, c.burst)
	}
	return c.limits[name]
}

// forget drops the callers that may use all of their burst again, for whom it makes no difference.
// If there are none, it drops all rather than grow.
func (c *callers) forget(now time.Time) {
	maps.DeleteFunc(c.limits, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= float64(c.burst) })
	if len(c.limits) >= maxCallers {
		clear(c.limits)
	}
}
