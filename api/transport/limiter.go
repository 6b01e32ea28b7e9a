package transport

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	"github.com/spazio-scheduler/spazio/field"
)

// Limits bound what callers can make a server hold. The zero value of a field is its
// default. A plain value.
type Limits struct {
	// Connections bounds the connections, default 32,768: twice 15,000 nodes, because an
	// agent may come again before its former connection is known to have ended, and some
	// for others.
	Connections int
	// Unauthenticated bounds the connections of one address for which Admit was not called,
	// default 128; of all addresses together, 1,024 or half of Connections. When they are used up,
	// a connection that has sent nothing gives way; else the new one waits for a place, at most as
	// long as Handshake, with 1,024 others, or a quarter of Connections. So agents behind one
	// address, as of a NAT or a proxy, come in one after the other.
	Unauthenticated int
	// Calls bounds the calls in progress on the connections that were admitted, default
	// those of one call a connection; CallsOfOne those of one address, default Calls. A
	// connection that begins one too many is closed.
	Calls, CallsOfOne int
	// Handshake is what a caller may take until its connection stands, default
	// 10 s.
	Handshake time.Duration
	// CallTime is what a call may take, its request included; by default there
	// is no bound, for streams that last.
	CallTime time.Duration
	// Age is how long a connection lasts, about, so that an authority which is
	// trusted no longer ends with it; calls in progress get CallTime, or 10 s, to
	// end. By default there is no bound, for streams that end otherwise.
	Age time.Duration
	// Message bounds a request in bytes, default 256 KiB.
	Message int
}

// Validate returns a *field.Error for the first field that is negative.
func (l Limits) Validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"Connections", l.Connections}, {"Unauthenticated", l.Unauthenticated},
		{"Calls", l.Calls}, {"CallsOfOne", l.CallsOfOne}, {"Message", l.Message},
	} {
		if f.value < 0 || f.value > maxLimit {
			return &field.Error{Package: "transport", Field: f.name, Value: f.value, Err: errRange}
		}
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"Handshake", l.Handshake}, {"CallTime", l.CallTime}, {"Age", l.Age}} {
		if f.value < 0 {
			return &field.Error{Package: "transport", Field: f.name, Value: f.value, Err: errRange}
		}
	}
	return nil
}

var errRange = fmt.Errorf("%w: negative or too many", ErrInvalid)

// DefaultConnections is how many connections a server has at most if its Limits do not say so.
const DefaultConnections = 32_768

// maxLimit bounds each of the limits.
const maxLimit = 1 << 30

// withDefaults returns l with its zero fields replaced.
func (l Limits) withDefaults() Limits {
	l.Connections = cmp.Or(l.Connections, DefaultConnections)
	l.Unauthenticated = cmp.Or(l.Unauthenticated, 128)
	l.Calls = cmp.Or(l.Calls, l.Connections)
	l.CallsOfOne = cmp.Or(l.CallsOfOne, l.Calls)
	l.Message = cmp.Or(l.Message, maxMessage)
	l.Handshake = cmp.Or(l.Handshake, 10*time.Second)
	return l
}

// ConnLimiter holds a server's callers to Limits: the server listens on what Listen returns and,
// if it is one of gRPC, is made with ServerOptions. One ConnLimiter is for one server. Connections
// that have not been admitted have few places, shared out by address; further ones wait in line.
// When there is no place left, one that has sent nothing gives way. It is safe for concurrent use.
type ConnLimiter struct {
	limits              Limits
	calls               *Quota
	refused, overcalled atomic.Uint64
	most, mostInLine    int           // unauthenticated connections that are served, and in line
	freed               chan struct{} // has a token if next may have a connection

	mu     sync.Mutex
	all    int       // connections
	served []*caller // unauthenticated, oldest first
	// callsUnauthenticated are the calls in progress of served.
	callsUnauthenticated int
	line                 []*caller // those that wait, oldest first
	ready                []*caller // of the line, to be returned by next
	// has is how many are served of an address, waits how many are in line.
	has, waits map[netip.Addr]int
	// known addresses have had a connection that was admitted.
	known map[netip.Addr]bool
	ended bool
}

// NewConnLimiter returns a ConnLimiter, or a *field.Error.
func NewConnLimiter(limits Limits) (*ConnLimiter, error) {
	if err := limits.Validate(); err != nil {
		return nil, err
	}
	limits = limits.withDefaults()
	return &ConnLimiter{
		limits: limits, calls: NewQuota(limits.Calls, limits.CallsOfOne), freed: make(chan struct{}, 1),
		// A quarter at least is for those that were admitted.
		most: min((limits.Connections+1)/2, maxServed), mostInLine: min((limits.Connections+3)/4, maxInLine),
		has: map[netip.Addr]int{}, waits: map[netip.Addr]int{}, known: map[netip.Addr]bool{},
	}, nil
}

// enter returns a connection that has a place; others wait or are closed.
func (l *ConnLimiter) enter(conn net.Conn) net.Conn {
	c := &caller{Addr: conn.RemoteAddr(), ip: callerOf(conn.RemoteAddr()), limiter: l, conn: conn}
	served, closed := l.place(c)
	for _, one := range closed {
		l.refuse(one)
	}
	if served == nil {
		return nil
	}
	return &limitedConn{conn, served}
}

// refuse closes a connection that is one too many.
func (l *ConnLimiter) refuse(c *caller) {
	l.refused.Add(1)
	_ = c.conn.Close() // it is of no further use either way
}

// Admit marks the connection of a call or request as authenticated, because what was sent over it
// has been accepted. Requests need ConnContext.
func Admit(ctx context.Context) {
	if c := callerIn(ctx); c != nil {
		c.limiter.admit(c)
	}
}

type connKey struct{}

// ConnContext is for http.Server: Admit and CallerAddr know whose connection it is.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn.RemoteAddr())
}

// addrIn is the remote address of a call or a request, or nil.
func addrIn(ctx context.Context) net.Addr {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr
	}
	addr, _ := ctx.Value(connKey{}).(net.Addr)
	return addr
}

// callerIn is the limited connection of a call or a request, or nil.
func callerIn(ctx context.Context) *caller {
	c, _ := addrIn(ctx).(*caller)
	return c
}

// ConnStats counts what a ConnLimiter has refused, and what is open.
type ConnStats struct {
	// Refused connections were one too many, or gave way to another; Overcalled ones were
	// closed because they began one call too many.
	Refused, Overcalled uint64
	// Connections are open, Unauthenticated of them not admitted and Waiting ones not yet
	// served; Calls are in progress on those that were admitted.
	Connections, Unauthenticated, Waiting, Calls int
}

// Stats returns the counts.
func (l *ConnLimiter) Stats() ConnStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return ConnStats{
		Refused: l.refused.Load(), Overcalled: l.overcalled.Load(),
		Connections: l.all, Unauthenticated: len(l.served), Waiting: len(l.line), Calls: l.calls.Held(),
	}
}

// tap counts a call from its first frame on, long before there is a request for
// an interceptor to see. Of a call that is one too many it closes the
// connection: gRPC keeps the timer of one that is refused until the deadline
// that the caller named.
func (l *ConnLimiter) tap(ctx context.Context, _ *tap.Info) (context.Context, error) {
	c := callerIn(ctx)
	if c == nil {
		return ctx, nil
	}
	end := l.begin(c)
	if end == nil {
		l.closeOvercalled(c)
		return ctx, nil
	}
	call, cancel := ctx, context.CancelFunc(func() {})
	if l.limits.CallTime > 0 {
		call, cancel = context.WithTimeout(ctx, l.limits.CallTime)
	}
	context.AfterFunc(ctx, func() {
		cancel()
		end()
	})
	return call, nil
}

// closeOvercalled closes a connection that has begun a call too many.
func (l *ConnLimiter) closeOvercalled(c *caller) {
	if c.overcalled.CompareAndSwap(false, true) {
		l.overcalled.Add(1)
		go c.conn.Close() // the transport's lock or the limiter's is held here
	}
}

// begin counts a call until end; nil is one too many. Unauthenticated calls count by connection, so
// that they use up nothing which others need.
func (l *ConnLimiter) begin(c *caller) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.unauthenticated {
		if !l.calls.Acquire(c.ip) {
			return nil
		}
		return func() { l.calls.Release(c.ip) }
	}
	if c.calls >= callsUnauthenticated && l.callsUnauthenticated >= manyCalls {
		return nil
	}
	c.calls++
	l.callsUnauthenticated++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case c.unauthenticated:
			c.calls--
			l.callsUnauthenticated--
		case c.carried > 0:
			c.carried--
			l.calls.Release(c.ip)
		}
	}
}

// A connection that was not admitted may have callsUnauthenticated calls in progress once such
// connections have manyCalls together.
const callsUnauthenticated, manyCalls = 4, 1024
