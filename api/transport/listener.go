package transport

import (
	"context"
	"net"
	"sync"
)

// Listen is the function Listen without the connections that are too many: they are closed
// at once, so that whoever is refused knows.
func (g *Guard) Listen(ctx context.Context, addr string, c Config) (net.Listener, error) {
	l, err := Listen(ctx, addr, c)
	if err != nil {
		return nil, err
	}
	return g.Limit(l), nil
}

// Limit returns a listener of l's connections that holds them to the Guard's limits. It
// closes l when it is closed.
func (g *Guard) Limit(l net.Listener) net.Listener {
	d := &limitedListener{Listener: l, guard: g, arrivals: make(chan arrival), closed: make(chan struct{})}
	d.waits.Add(1)
	go d.accept()
	return d
}

// limitedListener is a listener whose connections are guarded.
type limitedListener struct {
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
		if c := d.guard.next(); c != nil {
			return c, nil
		}
		select {
		case <-d.closed:
			return nil, net.ErrClosed
		case <-d.guard.freed:
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
func (d *limitedListener) Close() error {
	err := d.Listener.Close()
	d.close.Do(func() { close(d.closed) })
	d.waits.Wait()
	d.guard.end()
	return err
}
