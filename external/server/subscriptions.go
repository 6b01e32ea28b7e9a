package server

import (
	"slices"
	"sync"

	"github.com/spazio-scheduler/spazio/external/internal/hub"
	"github.com/spazio-scheduler/spazio/external/wire"
)

// subscription is what a client follows.
type subscription struct {
	id    string
	hub   *hub.Subscription
	takes []Access
	// destination is where STOMP tells of it: objects, or else their names.
	destination string
	objects     bool
}

// subscriptions are those of a connection. The goroutine that reads makes and ends them,
// while others go over the list as it was.
type subscriptions struct {
	// wake holds one word: that there may be something to be told.
	wake chan struct{}

	mu   sync.Mutex
	list []*subscription // in the order of their making; replaced, never modified
}

func newSubscriptions() *subscriptions { return &subscriptions{wake: make(chan struct{}, 1)} }

func (s *subscriptions) stir() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

func (s *subscriptions) current() []*subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

func (s *subscriptions) replace(list []*subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
}

func (s *subscriptions) has(id string) bool { return find(s.current(), id) >= 0 }

// add has the writer look, too: what came since the subscription began has woken it in vain.
func (s *subscriptions) add(next *subscription) {
	s.replace(append(slices.Clone(s.current()), next))
	s.stir()
}

// remove ends the subscription, and says whether there is one.
func (s *subscriptions) remove(id string) bool {
	list := s.current()
	i := find(list, id)
	if i < 0 {
		return false
	}
	list[i].hub.Close()
	s.replace(slices.Delete(slices.Clone(list), i, i+1))
	return true
}

func find(list []*subscription, id string) int {
	return slices.IndexFunc(list, func(one *subscription) bool { return one.id == id })
}

// turn takes a message of each subscription that has one, and says whether any had.
func (s *subscriptions) turn(tell func(*subscription, wire.Message) error) (more bool, err error) {
	for _, one := range s.current() {
		m, ok := one.hub.Next()
		if !ok {
			continue
		}
		more = true
		if err := tell(one, m); err != nil {
			return true, err
		}
	}
	return more, nil
}

// rights are what all of them take.
func (s *subscriptions) rights() []Access {
	var all []Access
	for _, one := range s.current() {
		all = append(all, one.takes...)
	}
	return all
}

// close ends all of them.
func (s *subscriptions) close() {
	for _, one := range s.current() {
		one.hub.Close()
	}
	s.replace(nil)
}
