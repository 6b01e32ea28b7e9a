package servertest

import (
	"context"
	"maps"
	"slices"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed"
)

// follower has the changes that a Follow has still to deliver; the Store's lock guards them.
type follower struct {
	more    chan struct{}
	changes []server.Change
}

func (f *follower) add(change server.Change) {
	f.changes = append(f.changes, change)
	select {
	case f.more <- struct{}{}:
	default: // what is there will be taken with it
	}
}

// Follow is server.Store's.
func (s *Store) Follow(ctx context.Context, changed func(server.Change), synced func()) error {
	f := &follower{more: make(chan struct{}, 1)}
	take := func() []server.Change {
		s.mu.Lock()
		defer s.mu.Unlock()
		changes := f.changes
		f.changes = nil
		return changes
	}
	s.mu.Lock()
	for _, kind := range kinds {
		for _, name := range slices.SortedFunc(maps.Keys(s.objects[kind]), testbed.Name.Compare) {
			f.add(server.Change{Type: wire.Added, Object: s.objects[kind][name]})
		}
	}
	s.followers[f] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.followers, f)
	}()
	for _, change := range take() {
		changed(change)
	}
	for synced(); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.more:
		}
		for _, change := range take() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			changed(change)
		}
	}
}
