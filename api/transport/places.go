package transport

import (
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
)

// maxServed bounds the unauthenticated connections that are served, each of which takes some 15 KiB,
// and 10 KiB a call; maxInLine bounds those that wait, which cost a socket.
const maxServed, maxInLine = 1024, 1024

// place returns c if it has a place. Else it waits, or is among those that are to be closed.
func (l *ConnLimiter) place(c *caller) (served *caller, closed []*caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || l.all >= l.limits.Connections {
		return nil, []*caller{c}
	}
	if !l.room(c.ip) {
		if v := l.victim(c.ip); v != nil {
			l.drop(v)
			closed = append(closed, v)
		}
	}
	l.all++
	if l.room(c.ip) {
		l.serve(c)
		return c, closed
	}
	if len(l.line) >= l.mostInLine {
		v := l.oldest(l.line, func(o *caller) bool { return l.waits[o.ip] >= 2*(l.waits[c.ip]+1) })
		if v == nil {
			l.all--
			return nil, append(closed, c)
		}
		l.drop(v)
		closed = append(closed, v)
	}
	c.waiting, c.since = true, time.Now()
	l.line = append(l.line, c)
	l.waits[c.ip]++
	c.timer = time.AfterFunc(l.grace(), func() { l.lookAgain(c) })
	return nil, closed
}

// grace is what a connection has for itself before it may have to give way to others.
func (l *ConnLimiter) grace() time.Duration { return l.limits.Handshake / 10 }

// room reports whether the address may have one more place.
func (l *ConnLimiter) room(ip netip.Addr) bool {
	return l.has[ip] < l.limits.Unauthenticated && (len(l.served) < l.most || l.known[ip])
}

func (l *ConnLimiter) serve(c *caller) {
	c.unauthenticated, c.since = true, time.Now()
	l.served = append(l.served, c)
	l.has[c.ip]++
}

// victim returns the connection that gives way to one of the address. If the address has all its
// places, it is one of its own that has sent nothing in its grace, or that is not admitted after
// the handshake's time. Else it is one of the address with most connections, if that has twice as
// many, preferably one that has sent nothing; or one of any address that has sent nothing in its
// grace.
func (l *ConnLimiter) victim(ip netip.Addr) *caller {
	now := time.Now()
	older := func(c *caller, than time.Duration) bool { return now.Sub(c.since) >= than }
	silent := func(c *caller) bool { return !c.spoke.Load() }
	of := func(ip netip.Addr, is func(*caller) bool) *caller {
		return l.oldest(l.served, func(c *caller) bool { return c.ip == ip && is(c) })
	}
	mute := func(c *caller) bool { return silent(c) && older(c, l.grace()) }
	if l.has[ip] >= l.limits.Unauthenticated {
		if v := of(ip, mute); v != nil {
			return v
		}
		return of(ip, func(c *caller) bool { return older(c, l.limits.Handshake) })
	}
	most, greedy := 0, netip.Addr{}
	for one, n := range l.has {
		if n > most {
			most, greedy = n, one
		}
	}
	if most < 2*(l.has[ip]+1) { // no address has much more than its share
		return l.oldest(l.served, mute)
	}
	if v := of(greedy, silent); v != nil {
		return v
	}
	return of(greedy, func(*caller) bool { return true })
}

func (l *ConnLimiter) oldest(of []*caller, wanted func(*caller) bool) *caller {
	if i := slices.IndexFunc(of, wanted); i >= 0 {
		return of[i]
	}
	return nil
}

// drop takes back what an unauthenticated connection holds, and the connection itself.
func (l *ConnLimiter) drop(c *caller) {
	l.unplace(c)
	if c.waiting {
		l.unqueue(c)
	}
	if !c.left {
		c.left = true
		l.all--
	}
}

// unqueue takes a connection out of the line.
func (l *ConnLimiter) unqueue(c *caller) {
	c.waiting = false
	c.timer.Stop()
	l.line = without(l.line, c)
	less(l.waits, c.ip)
}

// unplace takes back the place of an unauthenticated connection.
func (l *ConnLimiter) unplace(c *caller) {
	if !c.unauthenticated {
		return
	}
	c.unauthenticated = false
	l.callsUnauthenticated -= c.calls
	l.served = without(l.served, c)
	less(l.has, c.ip)
}

func without(all []*caller, c *caller) []*caller {
	if i := slices.Index(all, c); i >= 0 {
		return slices.Delete(all, i, i+1)
	}
	return all
}

func less(of map[netip.Addr]int, ip netip.Addr) {
	if of[ip]--; of[ip] <= 0 {
		delete(of, ip)
	}
}

// promote gives those in line the places that are free. The newest come first, since the
// oldest are more likely an attacker's.
func (l *ConnLimiter) promote() {
	for i := len(l.line) - 1; i >= 0; i-- {
		if c := l.line[i]; l.room(c.ip) {
			l.take(c)
		}
	}
}

// take serves one that is in line.
func (l *ConnLimiter) take(c *caller) {
	l.unqueue(c)
	l.serve(c)
	l.ready = append(l.ready, c)
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// lookAgain checks a connection in line again: another may have to give way by now. One that has
// waited for the handshake's time is closed.
func (l *ConnLimiter) lookAgain(c *caller) {
	var closed []*caller
	l.mu.Lock()
	if c.waiting && !l.room(c.ip) {
		if v := l.victim(c.ip); v != nil {
			l.drop(v)
			closed = append(closed, v)
		}
	}
	l.promote()
	switch {
	case !c.waiting:
	case time.Since(c.since) >= l.limits.Handshake:
		l.drop(c)
		closed = append(closed, c)
	default:
		c.timer.Reset(l.grace())
	}
	l.mu.Unlock()
	for _, one := range closed {
		l.refuse(one)
	}
}

// next returns a connection that got a place after it had waited, or nil.
func (l *ConnLimiter) next() net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.ready) > 0 {
		c := l.ready[0]
		l.ready = l.ready[1:]
		if !c.left {
			return &limitedConn{c.conn, c}
		}
	}
	return nil
}

// maxKnown bounds the addresses that are remembered as admitted.
const maxKnown = 1 << 16

func (l *ConnLimiter) admit(c *caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.unauthenticated {
		return
	}
	l.unplace(c)
	// The calls that it has begun count for those that were admitted from now on.
	for range c.calls {
		if !l.calls.Acquire(c.ip) {
			l.closeOvercalled(c)
			break
		}
		c.carried++
	}
	if !l.known[c.ip] && len(l.known) >= maxKnown {
		for one := range l.known {
			delete(l.known, one)
			break
		}
	}
	l.known[c.ip] = true
	l.promote()
}

func (l *ConnLimiter) leave(c *caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(c)
	l.promote()
}

// end closes those that wait, and all that come from now on.
func (l *ConnLimiter) end() {
	l.mu.Lock()
	l.ended = true
	waiting := append(slices.Clone(l.line), l.ready...)
	l.ready = nil
	for _, c := range waiting {
		l.drop(c)
	}
	l.mu.Unlock()
	for _, c := range waiting {
		_ = c.conn.Close()
	}
}

// limitedConn releases its place when it is closed.
type limitedConn struct {
	net.Conn
	caller *caller
}

// RemoteAddr leads from a call to its connection.
func (c *limitedConn) RemoteAddr() net.Addr { return c.caller }

// Read notes that the caller has sent something.
func (c *limitedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.caller.spoke.Load() {
		c.caller.spoke.Store(true)
	}
	return n, err
}

// Close closes the connection.
func (c *limitedConn) Close() error {
	c.caller.limiter.leave(c.caller)
	return c.Conn.Close()
}

// caller is the remote address of a limited connection.
type caller struct {
	net.Addr
	ip      netip.Addr
	limiter *ConnLimiter
	conn    net.Conn
	// spoke is set once something was read, overcalled once a call was one too many.
	spoke, overcalled atomic.Bool

	// The limiter's mutex guards the others: since that time it has been served unauthenticated,
	// or has waited in line, or it has left. The timer looks again while it waits. calls are the
	// calls in progress of an unauthenticated connection, carried those that it had begun when it
	// was admitted.
	calls, carried                 int
	unauthenticated, waiting, left bool
	since                          time.Time
	timer                          *time.Timer
}
