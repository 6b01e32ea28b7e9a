package transport

import (
	"context"
	"fmt"
	"net"
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
	// Strangers bounds the connections of one address for which Admit was not called,
	// default 128, and 1,024 or half of Connections of all. Where they are used up, a connection that has sent
	// nothing gives way; else the new one waits for a place, at most as long as Handshake,
	// with 1,024 others, or a quarter of Connections. So agents behind one address, as of a NAT or a
	// proxy, come in one after the other.
	Strangers int
	// Streams bounds the calls in progress on one connection, default 100.
	Streams int
	// Calls bounds the calls in progress on the connections that were admitted, default
	// those of one call a connection; CallsOfOne those of one address, default Calls;
	// CallsOfStranger those of a connection that was not admitted once such connections have
	// 1,024 together, default 4. A connection that begins one too many is closed.
	Calls, CallsOfOne, CallsOfStranger int
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
		{"Connections", l.Connections}, {"Strangers", l.Strangers}, {"Streams", l.Streams},
		{"Calls", l.Calls}, {"CallsOfOne", l.CallsOfOne}, {"CallsOfStranger", l.CallsOfStranger}, {"Message", l.Message},
	} {
		if f.value < 0 || f.value > maxLimit {
			return &field.Error{Package: "transport", Field: f.name, Value: f.value, Err: errRange}
		}
	}
	switch {
	case l.Handshake < 0:
		return &field.Error{Package: "transport", Field: "Handshake", Value: l.Handshake, Err: errRange}
	case l.CallTime < 0:
		return &field.Error{Package: "transport", Field: "CallTime", Value: l.CallTime, Err: errRange}
	case l.Age < 0:
		return &field.Error{Package: "transport", Field: "Age", Value: l.Age, Err: errRange}
	}
	return nil
}

var errRange = fmt.Errorf("%w: negative or too many", ErrInvalid)

// maxLimit is within what HTTP/2 can state of a number of streams.
const maxLimit = 1 << 30

// withDefaults returns l with its zero fields replaced.
func (l Limits) withDefaults() Limits {
	or := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	or(&l.Connections, 32_768)
	or(&l.Strangers, 128)
	or(&l.Streams, 100)
	or(&l.Calls, l.Connections)
	or(&l.CallsOfOne, l.Calls)
	or(&l.CallsOfStranger, 4)
	or(&l.Message, maxMessage)
	if l.Handshake == 0 {
		l.Handshake = 10 * time.Second
	}
	return l
}

// Guard holds a server's callers to Limits: the server listens on what Listen returns and,
// if it is one of gRPC, is made with ServerOptions. One Guard is for one server. Safe for
// concurrent use.
type Guard struct {
	places
	calls               *Quota
	callsOfStrangers    atomic.Int64
	refused, overcalled atomic.Uint64
}

// NewGuard returns a Guard, or a *field.Error.
func NewGuard(l Limits) (*Guard, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	l = l.withDefaults()
	g := &Guard{calls: NewQuota(l.Calls, l.CallsOfOne)}
	g.init(l)
	return g, nil
}

// enter returns a connection that has a place; others wait or are closed.
func (g *Guard) enter(conn net.Conn) net.Conn {
	c := &caller{Addr: conn.RemoteAddr(), ip: callerOf(conn.RemoteAddr()), guard: g, conn: conn}
	served, closed := g.places.enter(c)
	for _, one := range closed {
		g.refuse(one)
	}
	if served == nil {
		return nil
	}
	return &guardedConn{conn, served}
}

// refuse closes a connection that is one too many.
func (g *Guard) refuse(c *caller) {
	g.refused.Add(1)
	_ = c.conn.Close() // it is of no further use either way
}

// Admit says that what was said over the connection of a call or request has been accepted:
// it no longer counts as a stranger's. Requests need ConnContext.
func Admit(ctx context.Context) {
	if c := callerIn(ctx); c != nil {
		c.guard.admit(c)
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

// callerIn is the guarded connection of a call or a request, or nil.
func callerIn(ctx context.Context) *caller {
	c, _ := addrIn(ctx).(*caller)
	return c
}

// GuardStats is what a Guard has refused, and what is there.
type GuardStats struct {
	// Refused connections were one too many, or gave way to another; Overcalled ones were
	// closed because they began one call too many.
	Refused, Overcalled uint64
	// Connections are open, Strangers of them not admitted and Waiting ones not yet
	// served; Calls are in progress on those that were admitted.
	Connections, Strangers, Waiting, Calls int
}

// Stats returns the counts.
func (g *Guard) Stats() GuardStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return GuardStats{
		Refused: g.refused.Load(), Overcalled: g.overcalled.Load(),
		Connections: g.all, Strangers: len(g.served), Waiting: len(g.line), Calls: g.calls.Held(),
	}
}

// tap counts a call from its first frame on, long before there is a request for
// an interceptor to see. Of a call that is one too many it closes the
// connection: gRPC keeps the timer of one that is refused until the deadline
// that the caller named.
func (g *Guard) tap(ctx context.Context, _ *tap.Info) (context.Context, error) {
	c := callerIn(ctx)
	if c == nil {
		return ctx, nil
	}
	end := g.begin(c)
	if end == nil {
		if c.overcalled.CompareAndSwap(false, true) {
			g.overcalled.Add(1)
			go c.conn.Close() // the transport's lock is held here
		}
		return ctx, nil
	}
	call, cancel := ctx, context.CancelFunc(func() {})
	if g.limits.CallTime > 0 {
		call, cancel = context.WithTimeout(ctx, g.limits.CallTime)
	}
	context.AfterFunc(ctx, func() {
		cancel()
		end()
	})
	return call, nil
}

// begin counts a call until end; nil is one too many. Those of strangers count by
// connection, so that they use up nothing which others need.
func (g *Guard) begin(c *caller) (end func()) {
	g.mu.Lock()
	stranger := c.stranger
	g.mu.Unlock()
	if !stranger {
		if !g.calls.Acquire(c.ip) {
			return nil
		}
		return func() { g.calls.Release(c.ip) }
	}
	end = func() {
		c.calls.Add(-1)
		g.callsOfStrangers.Add(-1)
	}
	own, all := c.calls.Add(1), g.callsOfStrangers.Add(1)
	if own > int64(g.limits.CallsOfStranger) && all > manyCalls {
		end()
		return nil
	}
	return end
}

// manyCalls is how many calls of strangers there have to be for each to be held to its own.
const manyCalls = 1024
