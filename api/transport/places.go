package transport

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// places are the connections of a Guard. Those which have not proved whose they are,
// strangers, have few places, shared out by address; further ones wait in line. Where there
// is none left, a silent one gives way, so that whoever speaks is heard. Safe for concurrent
// use.
type places struct {
	limits           Limits
	most, mostInLine int           // strangers served, and in line
	freed            chan struct{} // has a token if next may have a connection

	mu     sync.Mutex
	all    int       // connections
	served []*caller // strangers, oldest first
	line   []*caller // strangers that wait, oldest first
	ready  []*caller // of the line, to be returned by next
	// has is how many are served of an address, waits how many are in line.
	has, waits map[netip.Addr]int
	// known addresses have had a connection that was admitted.
	known map[netip.Addr]bool
	ended bool
}

// maxServed bounds the strangers that are served, each of which takes some 15 KiB, and 10 KiB
// a call; maxInLine those that wait, which cost a socket.
const maxServed, maxInLine = 1024, 1024

func (p *places) init(l Limits) {
	p.limits, p.freed = l, make(chan struct{}, 1)
	// A quarter at least is for those that were admitted.
	p.most, p.mostInLine = min((l.Connections+1)/2, maxServed), min((l.Connections+3)/4, maxInLine)
	p.has, p.waits, p.known = map[netip.Addr]int{}, map[netip.Addr]int{}, map[netip.Addr]bool{}
}

// enter returns c if it has a place. Else it waits, or is among those that are to be closed.
func (p *places) enter(c *caller) (served *caller, closed []*caller) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.all >= p.limits.Connections {
		return nil, []*caller{c}
	}
	if !p.room(c.ip) {
		if v := p.victim(c.ip); v != nil {
			p.drop(v)
			closed = append(closed, v)
		}
	}
	p.all++
	if p.room(c.ip) {
		p.serve(c)
		return c, closed
	}
	if len(p.line) >= p.mostInLine {
		v := p.oldest(p.line, func(o *caller) bool { return p.waits[o.ip] >= 2*(p.waits[c.ip]+1) })
		if v == nil {
			p.all--
			return nil, append(closed, c)
		}
		p.drop(v)
		closed = append(closed, v)
	}
	c.waiting, c.since = true, time.Now()
	p.line = append(p.line, c)
	p.waits[c.ip]++
	c.timer = time.AfterFunc(p.grace(), func() { c.guard.lookAgain(c) })
	return nil, closed
}

// grace is what a connection has for itself before it may have to give way to others.
func (p *places) grace() time.Duration { return p.limits.Handshake / 10 }

// room reports whether the address may have one more place.
func (p *places) room(ip netip.Addr) bool {
	return p.has[ip] < p.limits.Strangers && (len(p.served) < p.most || p.known[ip])
}

func (p *places) serve(c *caller) {
	c.stranger, c.since = true, time.Now()
	p.served = append(p.served, c)
	p.has[c.ip]++
}

// victim returns who gives way to a connection of the address. If that has all its places it
// is one of its own: which has sent nothing in its grace, or whose time to prove itself is
// over. Else it is one of the address with most, if that has twice as many, rather one that
// has sent nothing; or one of any address that has sent nothing in its grace.
func (p *places) victim(ip netip.Addr) *caller {
	now := time.Now()
	older := func(c *caller, than time.Duration) bool { return now.Sub(c.since) >= than }
	silent := func(c *caller) bool { return !c.spoke.Load() }
	of := func(ip netip.Addr, is func(*caller) bool) *caller {
		return p.oldest(p.served, func(c *caller) bool { return c.ip == ip && is(c) })
	}
	mute := func(c *caller) bool { return silent(c) && older(c, p.grace()) }
	if p.has[ip] >= p.limits.Strangers {
		if v := of(ip, mute); v != nil {
			return v
		}
		return of(ip, func(c *caller) bool { return older(c, p.limits.Handshake) })
	}
	most, greedy := 0, netip.Addr{}
	for one, n := range p.has {
		if n > most {
			most, greedy = n, one
		}
	}
	if most < 2*(p.has[ip]+1) { // no address has much more than its share
		return p.oldest(p.served, mute)
	}
	if v := of(greedy, silent); v != nil {
		return v
	}
	return of(greedy, func(*caller) bool { return true })
}

func (p *places) oldest(of []*caller, wanted func(*caller) bool) *caller {
	if i := slices.IndexFunc(of, wanted); i >= 0 {
		return of[i]
	}
	return nil
}

// drop takes back what a connection holds as a stranger, and the connection itself.
func (p *places) drop(c *caller) {
	p.prove(c)
	if c.waiting {
		c.waiting = false
		c.timer.Stop()
		p.line = without(p.line, c)
		less(p.waits, c.ip)
	}
	if !c.left {
		c.left = true
		p.all--
	}
}

// prove takes back a stranger's place.
func (p *places) prove(c *caller) {
	if !c.stranger {
		return
	}
	c.stranger = false
	p.served = without(p.served, c)
	less(p.has, c.ip)
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
// oldest are rather those of an attacker who waits for nothing.
func (p *places) promote() {
	for i := len(p.line) - 1; i >= 0; i-- {
		if c := p.line[i]; p.room(c.ip) {
			p.take(c)
		}
	}
}

// take serves one that is in line.
func (p *places) take(c *caller) {
	c.waiting = false
	c.timer.Stop()
	p.line = without(p.line, c)
	less(p.waits, c.ip)
	p.serve(c)
	p.ready = append(p.ready, c)
	select {
	case p.freed <- struct{}{}:
	default:
	}
}

// lookAgain is of one in line: another may have to give way by now. One that has waited for
// as long as others may take to prove themselves is sent away.
func (p *places) lookAgain(c *caller) {
	var closed []*caller
	p.mu.Lock()
	if c.waiting && !p.room(c.ip) {
		if v := p.victim(c.ip); v != nil {
			p.drop(v)
			closed = append(closed, v)
		}
	}
	p.promote()
	switch {
	case !c.waiting:
	case time.Since(c.since) >= p.limits.Handshake:
		p.drop(c)
		closed = append(closed, c)
	default:
		c.timer.Reset(p.grace())
	}
	p.mu.Unlock()
	for _, one := range closed {
		one.guard.refuse(one)
	}
}

// next returns one that has got a place after it had waited, or nil.
func (p *places) next() net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.ready) > 0 {
		c := p.ready[0]
		p.ready = p.ready[1:]
		if !c.left {
			return &guardedConn{c.conn, c}
		}
	}
	return nil
}

// maxKnown bounds the addresses that are remembered.
const maxKnown = 1 << 16

func (p *places) admit(c *caller) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !c.stranger {
		return
	}
	p.prove(c)
	if !p.known[c.ip] && len(p.known) >= maxKnown {
		for one := range p.known {
			delete(p.known, one)
			break
		}
	}
	p.known[c.ip] = true
	p.promote()
}

func (p *places) leave(c *caller) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(c)
	p.promote()
}

// end closes those that wait, and whoever comes from now on.
func (p *places) end() {
	p.mu.Lock()
	p.ended = true
	waiting := append(slices.Clone(p.line), p.ready...)
	p.ready = nil
	for _, c := range waiting {
		p.drop(c)
	}
	p.mu.Unlock()
	for _, c := range waiting {
		_ = c.conn.Close()
	}
}

// guardedConn gives back its place when it is closed.
type guardedConn struct {
	net.Conn
	caller *caller
}

// RemoteAddr leads from a call to its connection.
func (c *guardedConn) RemoteAddr() net.Addr { return c.caller }

// Read notes that the caller has spoken.
func (c *guardedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.caller.spoke.Load() {
		c.caller.spoke.Store(true)
	}
	return n, err
}

// Close closes the connection.
func (c *guardedConn) Close() error {
	c.caller.guard.leave(c.caller)
	return c.Conn.Close()
}

// caller is the remote address of a guarded connection.
type caller struct {
	net.Addr
	ip    netip.Addr
	guard *Guard
	conn  net.Conn
	// spoke is set once something was read, overcalled once a call was one too many; calls
	// are in progress.
	spoke, overcalled atomic.Bool
	calls             atomic.Int64

	// The others are the places' to read and write: it is a stranger that is served, or waits
	// in line, since then, or it has left. The timer looks again while it waits.
	stranger, waiting, left bool
	since                   time.Time
	timer                   *time.Timer
}
