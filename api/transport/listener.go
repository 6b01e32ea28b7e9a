package transport

import (
	"context"
	"net"
	"sync"
)

// Listen is the function Listen without the connections over the limit: they are closed
// at once, so that refused clients notice.
func (l *ConnLimiter) Listen(ctx context.Context, addr string, c Config) (net.Listener, error) {
	listener, err := Listen(ctx, addr, c)
	if err != nil {
		return nil, err
	}
	return l.Limit(listener), nil
}

// Limit returns a listener that holds the connections of another to the limits. It closes the
// other when it is closed.
func (l *ConnLimiter) Limit(listener net.Listener) net.Listener {
	d := &limitedListener{Listener: listener, limiter: l, arrivals: make(chan arrival), closed: make(chan struct{})}
	d.waits.Add(1)
	go d.accept()
	return d
}

// limitedListener is a listener whose connections are limited.
type limitedListener struct {
	net.Listener
	limiter  *ConnLimiter
	arrivals chan arrival
	close    sync.Once
	closed   chan struct{}
	waits    sync.WaitGroup
}

type arrival struct {
	conn net.Conn
	err  error
}

func (d *limitedListener) accept() {
	defer d.waits.Done()
	for {
		conn, err := d.Listener.Accept()
		select {
		case d.arrivals <- arrival{conn, err}:
		case <-d.closed:
			if err == nil {
				_ = conn.Close() // it will not be served
			}
			return
		}
	}
}

// Accept returns the next connection that has a place.
func (d *limitedListener) Accept() (net.Conn, error) {
	for {
		if c := d.limiter.next(); c != nil {
			return c, nil
		}
		select {
		case <-d.closed:
			return nil, net.ErrClosed
		case <-d.limiter.freed:
		case a := <-d.arrivals:
			if a.err != nil {
				return nil, a.err
			}
			if c := d.limiter.enter(a.conn); c != nil {
				return c, nil
			}
		}
	}
}

// Close stops listening and ends the connections that wait.
func (d *limitedListener) Close() error {
	err := d.Listener.Close()
	d.close.Do(func() { close(d.closed) })
	d.waits.Wait()
	d.limiter.end()
	return err
}
