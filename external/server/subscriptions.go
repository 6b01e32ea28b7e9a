package server

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// subscription is what a client follows.
type subscription struct {
	id    string
	hub   *feed
	takes []Access
	// destination is STOMP's topic, on which objects are sent, or else their names.
	destination string
	objects     bool
}

// subscriptions are a connection's subscriptions. The goroutine that reads makes and ends them,
// while others go over the list as it was.
type subscriptions struct {
	peer *peer
	// wake has a token if there may be something to send.
	wake chan struct{}

	list atomic.Pointer[[]*subscription] // in the order of their making; replaced, never modified
}

func newSubscriptions(p *peer) *subscriptions {
	s := &subscriptions{peer: p, wake: make(chan struct{}, 1)}
	s.list.Store(new([]*subscription))
	return s
}

func (s *subscriptions) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

func (s *subscriptions) current() []*subscription { return *s.list.Load() }

func (s *subscriptions) replace(list []*subscription) { s.list.Store(&list) }

// subscribe begins a subscription to what a request names, if the caller may watch that.
func (s *subscriptions) subscribe(ctx context.Context, next *subscription, r wire.Request) error {
	w, list := s.peer.watches, s.current()
	switch {
	case find(list, next.id) >= 0:
		return Refuse(http.StatusConflict, "On this connection there is a subscription of this ID.")
	case len(list) >= w.server.config.Limits.subscriptions:
		return Refuse(http.StatusTooManyRequests, "Too many subscriptions on this connection.")
	}
	for _, kind := range r.Kinds {
		access := Access{Verb: Watch, Kind: kind, Namespace: r.Namespace}
		if err := w.server.authorize(ctx, s.peer.is(), access); err != nil {
			return err
		}
		next.takes = append(next.takes, access)
	}
	var err error
	if next.hub, err = w.hub.subscribe(newFilter(r.Kinds, r.Namespace, r.Names), r.Cursor, s.signal); err != nil {
		return err
	}
	s.add(next)
	return nil
}

// add has the writer look, too: what came since the subscription began has woken it in vain.
func (s *subscriptions) add(next *subscription) {
	s.replace(append(slices.Clone(s.current()), next))
	s.signal()
}

// remove ends the subscription, and reports whether there is one.
func (s *subscriptions) remove(id string) bool {
	list := s.current()
	i := find(list, id)
	if i < 0 {
		return false
	}
	list[i].hub.close()
	s.replace(slices.Delete(slices.Clone(list), i, i+1))
	return true
}

func find(list []*subscription, id string) int {
	return slices.IndexFunc(list, func(one *subscription) bool { return one.id == id })
}

// turn sends a message of each subscription that has one, and reports whether any had.
func (s *subscriptions) turn(send func(*subscription, wire.Message) error) (more bool, err error) {
	for _, one := range s.current() {
		m, ok := one.hub.next()
		if !ok {
			continue
		}
		more = true
		if err := send(one, m); err != nil {
			return true, err
		}
	}
	return more, nil
}

// rights are what all of them take.
func (s *subscriptions) rights() (all []Access) {
	for _, one := range s.current() {
		all = append(all, one.takes...)
	}
	return all
}

// close ends all of them.
func (s *subscriptions) close() {
	for _, one := range s.current() {
		one.hub.close()
	}
	s.replace(nil)
}
