package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/spazio-scheduler/spazio/external/internal/hub"
	"github.com/spazio-scheduler/spazio/external/wire"
)

// conversation is the protocol of /external/v1/watch.
type conversation struct {
	*subscriptions
	peer    *peer
	answers chan wire.Message
}

func newConversation(p *peer) protocol {
	return &conversation{subscriptions: newSubscriptions(), peer: p, answers: make(chan wire.Message)}
}

// read takes in a request; what is wrong with it is an answer.
func (c *conversation) read(ctx context.Context, data []byte) error {
	request, err := parseRequest(data)
	if err == nil {
		err = c.peer.watches.server.callers.enter(c.peer.is())
	}
	if err == nil {
		switch request.Op {
		case wire.OpPing:
			return c.answer(ctx, wire.Message{Type: wire.Pong, ID: request.ID})
		case wire.OpUnsubscribe:
			if !c.remove(request.ID) {
				err = Refuse(http.StatusNotFound, "There is no subscription of this ID.")
			}
		case wire.OpSubscribe:
			err = c.subscribe(ctx, request)
		}
	}
	if err != nil {
		return c.answer(ctx, wire.Message{Type: wire.ErrorMessage, ID: request.ID, Problem: problemOf(err)})
	}
	return nil
}

func (c *conversation) answer(ctx context.Context, m wire.Message) error {
	select {
	case c.answers <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *conversation) subscribe(ctx context.Context, r wire.Request) error {
	s := c.peer.watches.server
	switch {
	case c.has(r.ID):
		return Refuse(http.StatusConflict, "There is a subscription of this ID.")
	case len(c.current()) >= s.config.Limits.Subscriptions:
		return Refuse(http.StatusTooManyRequests, "Too many subscriptions on this connection.")
	}
	next := &subscription{id: r.ID}
	for _, kind := range r.Kinds {
		access := Access{Verb: Watch, Kind: kind, Namespace: r.Namespace}
		if err := s.authorize(ctx, c.peer.is(), access); err != nil {
			return err
		}
		next.takes = append(next.takes, access)
	}
	f, err := hub.NewFilter(r.Kinds, r.Namespace, r.Names)
	if err != nil {
		return err
	}
	if next.hub, err = c.peer.watches.hub.Subscribe(f, r.Cursor, c.stir); err != nil {
		return err
	}
	c.add(next)
	return nil
}

// write tells what is new, all of an instant together.
func (c *conversation) write(ctx context.Context) error {
	intervals := &c.peer.watches.server.config.Watch
	bookmark := time.NewTicker(intervals.Bookmark)
	defer bookmark.Stop()
	gathered := time.NewTimer(0)
	defer gathered.Stop()
	var wake <-chan struct{} // nil while more is gathered
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-c.answers:
			if err := c.send(m); err != nil {
				return err
			}
		case <-gathered.C:
			wake = c.wake
		case <-bookmark.C:
			if err := c.tell(ctx, true); err != nil {
				return err
			}
		case <-wake:
			if err := c.tell(ctx, false); err != nil {
				return err
			}
			wake = nil
			gathered.Reset(intervals.Gather)
		}
	}
}

// tell sends what there is, a message of each subscription in turn, and answers between.
func (c *conversation) tell(ctx context.Context, bookmark bool) error {
	for more := true; more; {
		var err error
		if more, err = c.turn(func(s *subscription, m wire.Message) error {
			m.ID = s.id
			return c.send(m)
		}); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-c.answers:
			if err := c.send(m); err != nil {
				return err
			}
		default:
		}
	}
	if !bookmark {
		return nil
	}
	for _, s := range c.current() {
		m := s.hub.Bookmark()
		m.ID = s.id
		if err := c.send(m); err != nil {
			return err
		}
	}
	return nil
}

func (c *conversation) send(m wire.Message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	events := c.peer.watches.events
	events.WithLabelValues(told).Add(float64(len(m.Events)))
	if m.Type == wire.Reset {
		events.WithLabelValues(reset).Inc()
	}
	return c.peer.send(data)
}
