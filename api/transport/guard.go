package transport

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"
)

// Limits bound what callers can make a gRPC server hold. The zero value of a
// field is its default. A plain value.
type Limits struct {
	// Connections bounds the connections, default 12,288: twice the 5,000 nodes
	// of the largest clusters, for an agent may come again before its former
	// connection is known to have ended, and some for others.
	Connections int
	// Strangers bounds the connections of one address for which Admit was not
	// called, default 256; half of Connections may wait for such a place, which
	// costs a socket each. So agents behind one address, as of a NAT or a proxy,
	// come in one after the other.
	Strangers int
	// Streams bounds the calls in progress on one connection, default 100.
	Streams int
	// Calls bounds the calls in progress on all connections, default those of
	// one call a connection; CallsOfOne those of one address, default Calls. A
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

// Validate returns a *FieldError for the first field that is negative.
func (l Limits) Validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"Connections", l.Connections}, {"Strangers", l.Strangers}, {"Streams", l.Streams},
		{"Calls", l.Calls}, {"CallsOfOne", l.CallsOfOne}, {"Message", l.Message},
	} {
		if f.value < 0 || f.value > maxLimit {
			return &FieldError{Field: f.name, Value: f.value, Err: errRange}
		}
	}
	switch {
	case l.Handshake < 0:
		return &FieldError{Field: "Handshake", Value: l.Handshake, Err: errRange}
	case l.CallTime < 0:
		return &FieldError{Field: "CallTime", Value: l.CallTime, Err: errRange}
	case l.Age < 0:
		return &FieldError{Field: "Age", Value: l.Age, Err: errRange}
	}
	return nil
}

var errRange = fmt.Errorf("%w: negative or too many", ErrInvalid)

// maxLimit is within what HTTP/2 can state of a number of streams.
const maxLimit = 1 << 30

// WithDefaults returns l with its zero fields replaced.
func (l Limits) WithDefaults() Limits {
	or := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	or(&l.Connections, 12_288)
	or(&l.Strangers, 256)
	or(&l.Streams, 100)
	or(&l.Calls, l.Connections)
	or(&l.CallsOfOne, l.Calls)
	or(&l.Message, maxMessage)
	if l.Handshake == 0 {
		l.Handshake = 10 * time.Second
	}
	return l
}

// Guard holds a gRPC server's callers to Limits: the server listens on what
// Listen returns and is made with ServerOptions. One Guard is for one server.
// Safe for concurrent use.
type Guard struct {
	limits                        Limits
	connections, strangers, calls *Quota
	waiting                       waiting
	refused, overcalled           atomic.Uint64
}

// NewGuard returns a Guard, or a *FieldError.
func NewGuard(l Limits) (*Guard, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	l = l.WithDefaults()
	return &Guard{
		limits:      l,
		connections: NewQuota(l.Connections, l.Connections),
		waiting:     newWaiting((l.Connections + 1) / 2),
		strangers:   NewQuota(l.Connections, l.Strangers),
		calls:       NewQuota(l.Calls, l.CallsOfOne),
	}, nil
}

// GuardStats is what a Guard has refused, and what is there.
type GuardStats struct {
	// Refused connections were one too many; Overcalled ones were closed because
	// they began one call too many.
	Refused, Overcalled uint64
	// Connections are open, Strangers of them not admitted and Waiting ones not
	// yet served; Calls are in progress.
	Connections, Strangers, Waiting, Calls int
}

// Stats returns the counts; they are read one after the other.
func (g *Guard) Stats() GuardStats {
	return GuardStats{
		Refused: g.refused.Load(), Overcalled: g.overcalled.Load(),
		Connections: g.connections.Held(), Strangers: g.strangers.Held(), Waiting: g.waiting.quota.Held(), Calls: g.calls.Held(),
	}
}

// tap counts a call from its first frame on, long before there is a request for
// an interceptor to see. Of a call that is one too many it closes the
// connection: gRPC keeps the timer of one that is refused until the deadline
// that the caller named.
func (g *Guard) tap(ctx context.Context, _ *tap.Info) (context.Context, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ctx, nil
	}
	c, ok := p.Addr.(*caller)
	if !ok {
		return ctx, nil
	}
	if !g.calls.Acquire(c.ip) {
		g.overcalled.Add(1)
		go c.conn.Close() // the transport's lock is held here
		return ctx, nil
	}
	call, cancel := ctx, context.CancelFunc(func() {})
	if g.limits.CallTime > 0 {
		call, cancel = context.WithTimeout(ctx, g.limits.CallTime)
	}
	context.AfterFunc(ctx, func() {
		cancel()
		g.calls.Release(c.ip)
	})
	return call, nil
}
