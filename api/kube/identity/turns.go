package identity

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
)

// Whose token was never accepted can make the API server work for nothing: any
// text can claim to be an agent's token. What such callers cause is bounded by
// address, so that others' agents don't wait for it.
const (
	// atOnce bounds the reviews under way: after a restart all agents come at
	// once, and the API server has other work. A quarter is kept for tokens that
	// were accepted before.
	atOnce, keptForKnown = 64, 16
	// atOnceOfOne bounds those of one address: at 5 ms a review, 1,600 agents a
	// second may come from behind it.
	atOnceOfOne = 8
	// refusalBurst is how many refusals an address may cause at once, then one a
	// second: an agent whose token is about to be replaced comes some times.
	refusalBurst = 32
	// askAgain is how long the API server is left alone about an accepted token
	// after it could not be asked.
	askAgain = 10 * time.Second
	// refusedFor is how long a refusal is remembered.
	refusedFor = 10 * time.Second
	// forgetAfter is when an address's refusals no longer count; by then its
	// burst is there again.
	forgetAfter = time.Minute
	// knownFor is how long an accepted token counts as known: the kubelet
	// replaces tokens within a day.
	knownFor = 24 * time.Hour
	// Bounds of what is remembered: of tokens and addresses, some 200 bytes each.
	maxRefused, maxCallers, maxKnown = 4096, 4096, 32_768
)

type digest [sha256.Size]byte

// memory is what is remembered of tokens and callers. Safe for concurrent use.
type memory struct {
	refused *cache.LRUExpireCache // digest to error
	mu      sync.Mutex
	callers *cache.LRUExpireCache // netip.Addr to *caller
	known   *cache.LRUExpireCache // digest to Agent
	// reviewed are the tokens under review; a channel is closed at its end.
	reviewed map[digest]chan struct{}
}

// caller is an address that has shown a token.
type caller struct {
	refusals budget
	turns    chan struct{}
}

// budget is what is granted at once, and one a second from then on. Safe for
// concurrent use.
type budget struct {
	most float64

	mu   sync.Mutex
	used float64
	at   time.Time
}

// allow grants one, or not.
func (b *budget) allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.After(b.at) {
		b.used = max(0, b.used-now.Sub(b.at).Seconds())
		b.at = now
	}
	if b.used+1 > b.most {
		return false
	}
	b.used++
	return true
}

// refund returns a unit that was granted without need.
func (b *budget) refund() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = max(0, b.used-1)
}

type clock func() time.Time

// Now is the time.
func (c clock) Now() time.Time { return c() }

func newMemory(now clock) *memory {
	return &memory{
		refused: cache.NewLRUExpireCacheWithClock(maxRefused, now),
		callers: cache.NewLRUExpireCacheWithClock(maxCallers, now),
		known:   cache.NewLRUExpireCacheWithClock(maxKnown, now),

		reviewed: map[digest]chan struct{}{},
	}
}

func (m *memory) refusal(token digest) error {
	if err, ok := m.refused.Get(token); ok {
		return err.(error)
	}
	return nil
}

// accepted returns whose token it is, if it was accepted before, and whether the
// API server is due to be asked.
func (m *memory) accepted(token digest, now time.Time) (agent Agent, due bool) {
	a, ok := m.known.Get(token)
	if !ok {
		return Agent{}, true
	}
	agent = a.(Agent)
	return agent, !now.Before(agent.Review)
}

// knows reports whether the token was accepted before.
func (m *memory) knows(token digest) bool {
	_, ok := m.known.Get(token)
	return ok
}

// alone waits until no other caller has the token reviewed; then others wait for done.
func (m *memory) alone(ctx context.Context, token digest) (done func(), err error) {
	for {
		m.mu.Lock()
		other, busy := m.reviewed[token]
		if !busy {
			own := make(chan struct{})
			m.reviewed[token] = own
			m.mu.Unlock()
			return func() {
				m.mu.Lock()
				delete(m.reviewed, token)
				m.mu.Unlock()
				close(own)
			}, nil
		}
		m.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// caller returns the record of an address, and keeps it for longer.
func (m *memory) caller(addr netip.Addr) *caller {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.callers.Get(addr)
	if !ok {
		c = &caller{refusals: budget{most: refusalBurst}, turns: make(chan struct{}, atOnceOfOne)}
	}
	m.callers.Add(addr, c, forgetAfter)
	return c.(*caller)
}

// acquire waits for a place in both; release gives it back.
func acquire(ctx context.Context, own, all chan struct{}) error {
	for _, turns := range []chan struct{}{own, all} {
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			if turns == all {
				<-own
			}
			return context.Cause(ctx)
		}
	}
	if ctx.Err() != nil { // its end and the place came together
		release(own, all)
		return context.Cause(ctx)
	}
	return nil
}

func release(own, all chan struct{}) {
	<-all
	<-own
}
