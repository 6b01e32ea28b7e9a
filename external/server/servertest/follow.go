package servertest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed"
)

// Follow is server.Store's.
func (s *Store) Follow(ctx context.Context, tell func(server.Change), synced func()) error {
	f := &follower{more: make(chan struct{}, 1)}
	s.mu.Lock()
	for _, kind := range []wire.Kind{wire.Testbeds, wire.Slots, wire.Jobs, wire.Schedulings} {
		for _, name := range slices.SortedFunc(maps.Keys(s.objects[kind]), testbed.Name.Compare) {
			object := s.objects[kind][name]
			meta := metaOf(object)
			f.add(server.Change{
				Type: wire.Added, Kind: kind, Namespace: name.Namespace, Name: name.Name, UID: meta.UID,
				Version: meta.ResourceVersion, Object: object, At: s.now(),
			})
		}
	}
	s.bookmark(f)
	s.followers[f] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.followers, f)
	}()
	for _, change := range f.take() {
		tell(change)
	}
	synced()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.more:
			for _, change := range f.take() {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				tell(change)
			}
		}
	}
}

// Bookmark tells who follows that all changes up to now have been told.
func (s *Store) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.followers {
		s.bookmark(f)
	}
}

// bookmark is of one version for all kinds: the store counts changes of all together.
func (s *Store) bookmark(f *follower) {
	for _, kind := range []wire.Kind{wire.Testbeds, wire.Jobs, wire.Schedulings} {
		f.add(server.Change{Type: wire.Bookmark, Kind: kind, Version: strconv.FormatUint(s.version, 10), At: s.now()})
	}
}

// follower holds what one who follows has not been told.
type follower struct {
	more chan struct{}

	mu      sync.Mutex
	changes []server.Change
}

func (f *follower) add(change server.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes = append(f.changes, change)
	select {
	case f.more <- struct{}{}:
	default: // what is there will be taken with it
	}
}

func (f *follower) take() []server.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	changes := f.changes
	f.changes = nil
	return changes
}
