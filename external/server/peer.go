package server

import (
	"context"
	"errors"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// protocol is the protocol of a connection. Its methods except rights are called by one
// goroutine each; what they return ends the connection.
type protocol interface {
	// read takes in a message of the client's.
	read(ctx context.Context, data []byte) error
	// write sends what there is to send until ctx ends.
	write(ctx context.Context) error
	// rights are what the caller needs to go on.
	rights() []Access
	// close gives back what the protocol holds, after both others have returned.
	close()
}

// peer is a connection to a client. The goroutine of its request owns it: it starts those
// that read, write and ping, and waits for them.
type peer struct {
	watches *watches
	conn    *websocket.Conn
	// io lasts until the connection has been closed, longer than the conversation: cancelling it
	// cuts the connection before the client gets the reason.
	io context.Context
	// pinging are the pings that have not been answered, or given up.
	pinging sync.WaitGroup

	who atomic.Pointer[identity]
}

// identity is a client's caller and token; there is no token before STOMP's
// first frame.
type identity struct {
	caller Caller
	token  string
}

// serve turns a request into a connection and sees it to its end.
func (w *watches) serve(c *call, subprotocols []string, token string, speak func(*peer) protocol) error {
	full, err := w.enter(c.caller)
	if err != nil {
		return err
	}
	p := &peer{watches: w}
	p.who.Store(&identity{c.caller, token})
	defer func() { w.leave(p.is()) }()
	conn, err := websocket.Accept(c.w, c.r, &websocket.AcceptOptions{
		Subprotocols:       subprotocols,
		InsecureSkipVerify: true, // pages from elsewhere were refused with all requests of theirs
	})
	if err != nil {
		return nil // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(mostMessage)
	if full != nil {
		_ = conn.Close(full.code, full.reason)
		return nil
	}
	p.conn = conn
	p.converse(speak(p))
	return nil
}

// converse reads and writes until one of both, the guard or the server ends it.
func (p *peer) converse(speech protocol) {
	ctx, end := context.WithCancelCause(p.watches.ctx)
	io, cut := context.WithCancel(context.Background())
	defer cut()
	p.io = io
	var both sync.WaitGroup
	both.Go(func() { end(p.listen(ctx, speech)) })
	both.Go(func() { end(speech.write(ctx)) })
	end(p.guard(ctx, speech))
	var why *ending
	if errors.As(context.Cause(ctx), &why) {
		_ = p.conn.Close(why.code, why.reason)
	}
	cut()
	both.Wait()
	p.pinging.Wait()
	speech.close()
}

func (p *peer) listen(ctx context.Context, speech protocol) error {
	for {
		_, data, err := p.conn.Read(p.io)
		if err != nil {
			return err
		}
		if err := speech.read(ctx, data); err != nil {
			return err
		}
	}
}

// guard returns when the client no longer reads, its token has ended or a right is lost.
func (p *peer) guard(ctx context.Context, speech protocol) error {
	c := &p.watches.server.config.Watch
	ping, recheck := time.NewTicker(c.Ping), time.NewTicker(c.Recheck)
	defer ping.Stop()
	defer recheck.Stop()
	unknown := 0
	for {
		expired, stop := p.expiry()
		var err error
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-expired:
			err = &ending{wire.CloseUnauthorized, "the token has ended"}
		case <-ping.C:
			err = p.ping(ctx, c.Slow, expired)
		case <-recheck.C:
			if unknown, err = p.recheck(ctx, speech, unknown); unknown >= 5 {
				err = &ending{websocket.StatusTryAgainLater, "the rights cannot be checked"}
			}
		}
		if stop(); err != nil {
			return err
		}
	}
}

// expiry is when the token ends, if that is known.
func (p *peer) expiry() (<-chan time.Time, func() bool) {
	timer := time.NewTimer(math.MaxInt64)
	if ends := p.is().Expires; !ends.IsZero() {
		timer.Reset(time.Until(ends))
	}
	return timer.C, timer.Stop
}

// ping returns an ending if the client has not answered for so long, or the token ends
// while it doesn't. The ping itself goes on until the connection has been closed: given up
// while it is written, it would cut the connection.
func (p *peer) ping(ctx context.Context, slow time.Duration, expired <-chan time.Time) error {
	pong := make(chan error, 1)
	p.pinging.Go(func() { pong <- p.pong() })
	late := time.NewTimer(slow)
	defer late.Stop()
	select {
	case err := <-pong:
		return err
	case <-late.C:
		return &ending{wire.CloseSlow, "nothing has been read for too long"}
	case <-expired:
		return &ending{wire.CloseUnauthorized, "the token has ended"}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pong returns nil once the client has answered a ping. Behind a long message that is on
// its way a ping is given up by itself.
func (p *peer) pong() error {
	for {
		err := p.conn.Ping(p.io)
		if err == nil {
			return nil
		}
		select {
		case <-p.io.Done():
			return p.io.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// recheck checks again who the caller is and whether it may see what it watches. unknown counts
// how often in a row neither could be checked.
func (p *peer) recheck(ctx context.Context, speech protocol, unknown int) (int, error) {
	who := p.who.Load()
	if who.token == "" {
		return 0, nil // not authenticated yet
	}
	s := p.watches.server
	ctx, cancel := context.WithTimeout(ctx, s.config.Limits.Timeout)
	defer cancel()
	_, err := s.authenticate(ctx, who.token)
	for _, access := range speech.rights() {
		if err == nil {
			err = s.authorize(ctx, who.caller, access)
		}
	}
	if err == nil {
		return 0, nil
	}
	switch {
	case wire.IsStatus(err, http.StatusUnauthorized):
		return 0, &ending{wire.CloseUnauthorized, "the token has ended"}
	case wire.IsStatus(err, http.StatusForbidden):
		return 0, &ending{wire.CloseForbidden, "the right to what is watched was lost"}
	}
	return unknown + 1, nil
}

// identify is for protocols that show the token themselves.
func (p *peer) identify(ctx context.Context, token string) error {
	caller, err := p.watches.server.authenticate(ctx, token)
	if err != nil {
		return err
	}
	if full := p.watches.rename(p.is(), caller); full != nil {
		return full
	}
	p.who.Store(&identity{caller, token})
	return nil
}

func (p *peer) is() Caller { return p.who.Load().caller }

// send writes a message. A client that does not take it in is the guard's to find.
func (p *peer) send(data []byte) error {
	return p.conn.Write(p.io, websocket.MessageText, data)
}
