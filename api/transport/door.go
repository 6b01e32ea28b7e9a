package transport

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"google.golang.org/grpc/peer"
)

// Listen is the function Listen without the connections that are too many: they
// are closed at once, so that whoever is refused knows.
func (g *Guard) Listen(ctx context.Context, addr string, c Config) (net.Listener, error) {
	l, err := Listen(ctx, addr, c)
	if err != nil {
		return nil, err
	}
	d := &door{Listener: l, guard: g, arrivals: make(chan arrival), closed: make(chan struct{})}
	d.waits.Add(1)
	go d.accept()
	return d, nil
}

// door is a listener whose connections are guarded.
type door struct {
	net.Listener
	guard    *Guard
	arrivals chan arrival
	close    sync.Once
	closed   chan struct{}
	waits    sync.WaitGroup
}

type arrival struct {
	conn net.Conn
	err  error
}

func (d *door) accept() {
	defer d.waits.Done()
	for {
		conn, err := d.Listener.Accept()
		select {
		case d.arrivals <- arrival{conn, err}:
		case <-d.closed:
			if err == nil {
				_ = conn.Close() // nobody is left to serve it
			}
			return
		}
	}
}

// Accept returns the next connection that has a place.
func (d *door) Accept() (net.Conn, error) {
	for {
		if c := d.guard.waiting.next(d.guard.strangers); c != nil {
			return c, nil
		}
		select {
		case <-d.closed:
			return nil, net.ErrClosed
		case <-d.guard.waiting.freed:
		case a := <-d.arrivals:
			if a.err != nil {
				return nil, a.err
			}
			if c := d.guard.enter(a.conn); c != nil {
				return c, nil
			}
		}
	}
}

// Close stops listening and ends the connections that wait.
func (d *door) Close() error {
	err := d.Listener.Close()
	d.close.Do(func() { close(d.closed) })
	d.waits.Wait()
	d.guard.waiting.end()
	return err
}

// enter returns a connection that has a place; others wait or are closed.
func (g *Guard) enter(conn net.Conn) net.Conn {
	c := &guardedConn{Conn: conn, caller: &caller{Addr: conn.RemoteAddr(), ip: callerOf(conn.RemoteAddr()), guard: g, conn: conn}}
	switch {
	case !g.connections.Acquire(netip.Addr{}):
		g.refused.Add(1)
		_ = conn.Close() // it is of no further use either way
	case g.strangers.Acquire(c.caller.ip):
		c.caller.stranger = true
		return c
	case g.waiting.add(c):
		g.waiting.free(c.caller.ip) // if it has become so since
	default:
		g.refused.Add(1)
		_ = c.Close()
	}
	return nil
}

// waiting are connections for which their address has no place yet. Safe for
// concurrent use.
type waiting struct {
	quota *Quota
	freed chan struct{} // has a token if an address may have a place

	mu    sync.Mutex
	of    map[netip.Addr][]*guardedConn
	due   []netip.Addr // that may have one
	ended bool
}

func newWaiting(mostOfOne int) waiting {
	return waiting{quota: NewQuota(maxLimit, mostOfOne), freed: make(chan struct{}, 1), of: map[netip.Addr][]*guardedConn{}}
}

func (w *waiting) add(c *guardedConn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || !w.quota.Acquire(c.caller.ip) {
		return false
	}
	w.of[c.caller.ip] = append(w.of[c.caller.ip], c)
	return true
}

// free says that an address has a place.
func (w *waiting) free(ip netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.of[ip]) == 0 {
		return
	}
	w.due = append(w.due, ip)
	select {
	case w.freed <- struct{}{}:
	default:
	}
}

// next returns the connection that has waited longest for a place that was
// freed, nil if there is none.
func (w *waiting) next(places *Quota) *guardedConn {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.due) > 0 {
		ip := w.due[0]
		w.due = w.due[1:]
		line := w.of[ip]
		if len(line) == 0 || !places.Acquire(ip) {
			continue
		}
		c := line[0]
		c.caller.stranger = true
		w.quota.Release(ip)
		if w.of[ip] = line[1:]; len(line) == 1 {
			delete(w.of, ip)
		}
		return c
	}
	return nil
}

func (w *waiting) end() {
	w.mu.Lock()
	lines := w.of
	w.of, w.due, w.ended = nil, nil, true
	w.mu.Unlock()
	for ip, line := range lines {
		for _, c := range line {
			w.quota.Release(ip)
			_ = c.Close()
		}
	}
}

// guardedConn gives back its place when it is closed.
type guardedConn struct {
	net.Conn
	caller *caller
}

// RemoteAddr leads from a call to its connection.
func (c *guardedConn) RemoteAddr() net.Addr { return c.caller }

// Close closes the connection.
func (c *guardedConn) Close() error {
	c.caller.leave()
	return c.Conn.Close()
}

// caller is the remote address of a guarded connection.
type caller struct {
	net.Addr
	ip    netip.Addr
	guard *Guard
	conn  net.Conn

	mu sync.Mutex
	// stranger says that it holds one of its address's places, left that the
	// connection holds none.
	stranger, left bool
}

func (c *caller) admit() {
	c.mu.Lock()
	stranger := c.stranger
	c.stranger = false
	c.mu.Unlock()
	if stranger {
		c.guard.strangers.Release(c.ip)
		c.guard.waiting.free(c.ip)
	}
}

func (c *caller) leave() {
	c.admit()
	c.mu.Lock()
	left := c.left
	c.left = true
	c.mu.Unlock()
	if !left {
		c.guard.connections.Release(netip.Addr{})
	}
}

// Admit says that what was said over the connection of a call has been
// accepted: it no longer counts as a stranger's.
func Admit(ctx context.Context) {
	if p, ok := peer.FromContext(ctx); ok {
		if c, ok := p.Addr.(*caller); ok {
			c.admit()
		}
	}
}
