package servertest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed"
)

// Store is a server.Store in memory. Nothing in it happens by itself: tests put objects
// in, and take them out, beside what the server writes. It is safe for concurrent use.
type Store struct {
	mu        sync.Mutex
	unsynced  bool
	version   uint64
	objects   map[wire.Kind]map[testbed.Name]wire.Resource
	followers map[*follower]bool
}

var kinds = []wire.Kind{wire.Testbeds, wire.Slots, wire.Jobs, wire.Schedulings}

// NewStore returns an empty store.
func NewStore() *Store {
	// No object has version 1: it is one that has been.
	s := &Store{version: 1, objects: make(map[wire.Kind]map[testbed.Name]wire.Resource), followers: make(map[*follower]bool)}
	for _, kind := range kinds {
		s.objects[kind] = make(map[testbed.Name]wire.Resource)
	}
	return s
}

// SetSynced sets whether everything has been read once, which is the initial state.
func (s *Store) SetSynced(synced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsynced = !synced
}

// Synced is server.Store's.
func (s *Store) Synced() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsynced {
		return server.RefuseForNow(http.StatusServiceUnavailable, 1, "Not everything has been read yet.")
	}
	return nil
}

// PutTestbed creates or replaces a Testbed and its slots, of which it counts the states.
// It returns it as it is then, without slots.
func (s *Store) PutTestbed(object wire.Testbed) wire.Testbed {
	s.mu.Lock()
	defer s.mu.Unlock()
	slots := wire.TestbedSlots{Meta: object.Meta, Slots: slices.Clone(object.Slots)}
	object.Counts, object.Slots = wire.CountSlots(slots.Slots), nil
	was, there := s.objects[wire.Testbeds][object.FullName()].(wire.Testbed)
	if there {
		object.Meta = was.Meta // so that what changes is what was put
		object.Deleting = slots.Deleting
	}
	if !there || !reflect.DeepEqual(was, object) {
		put(s, &object, &object.Meta)
	}
	before, there := s.objects[wire.Slots][object.FullName()].(wire.TestbedSlots)
	if !there || !reflect.DeepEqual(before.Slots, slots.Slots) {
		slots.Meta = before.Meta
		slots.Name, slots.Namespace, slots.UID = object.Name, object.Namespace, object.UID
		put(s, &slots, &slots.Meta)
	}
	return object
}

// PutSlot replaces the slot of that ID of a Testbed, or adds it.
func (s *Store) PutSlot(namespace, name string, slot wire.Slot) {
	object, err := s.Testbed(context.Background(), namespace, name)
	if err != nil {
		panic(err)
	}
	slots, _ := s.Slots(context.Background(), namespace, name)
	object.Slots = slices.Clone(slots.Slots)
	i := slices.IndexFunc(object.Slots, func(other wire.Slot) bool { return other.ID == slot.ID })
	if i < 0 {
		object.Slots = append(object.Slots, slot)
	} else {
		object.Slots[i] = slot
	}
	s.PutTestbed(object)
}

// PutJob creates or replaces a job. It returns it as it is then.
func (s *Store) PutJob(object wire.Job) wire.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return put(s, &object, &object.Meta)
}

// PutScheduling creates or replaces a scheduling. It returns it as it is then.
func (s *Store) PutScheduling(object wire.Scheduling) wire.Scheduling {
	s.mu.Lock()
	defer s.mu.Unlock()
	return put(s, &object, &object.Meta)
}

// Remove takes an object out; a Testbed with its slots.
func (s *Store) Remove(kind wire.Kind, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(kind, testbed.Name{Namespace: namespace, Name: name})
	if kind == wire.Testbeds {
		s.remove(wire.Slots, testbed.Name{Namespace: namespace, Name: name})
	}
}

// put writes an object at a new version, notifies the followers and returns it. meta is the
// object's own.
func put[T wire.Resource](s *Store, object *T, meta *wire.Meta) T {
	kind, name := (*object).ObjectKind(), meta.FullName()
	s.version++
	change := wire.Added
	if was, there := s.objects[kind][name]; there {
		change = wire.Modified
		meta.UID, meta.Created = was.Common().UID, was.Common().Created
	} else {
		now := time.Now().UTC()
		meta.UID, meta.Created = fmt.Sprintf("%s-%s-%d", kind, meta.Name, s.version), &now
	}
	meta.ResourceVersion = strconv.FormatUint(s.version, 10)
	s.objects[kind][name] = *object
	s.notify(change, *object)
	return *object
}

func (s *Store) remove(kind wire.Kind, name testbed.Name) {
	if object, there := s.objects[kind][name]; there {
		delete(s.objects[kind], name)
		s.version++
		s.notify(wire.Deleted, object)
	}
}

func (s *Store) notify(change string, object wire.Resource) {
	for f := range s.followers {
		f.add(server.Change{Type: change, Object: object})
	}
}

// Testbeds is server.Store's.
func (s *Store) Testbeds(_ context.Context, namespace string) ([]wire.Testbed, error) {
	return list[wire.Testbed](s, namespace), nil
}

// Jobs is server.Store's.
func (s *Store) Jobs(_ context.Context, namespace string) ([]wire.Job, error) {
	return list[wire.Job](s, namespace), nil
}

// Schedulings is server.Store's.
func (s *Store) Schedulings(_ context.Context, namespace string) ([]wire.Scheduling, error) {
	return list[wire.Scheduling](s, namespace), nil
}

// Testbed is server.Store's.
func (s *Store) Testbed(_ context.Context, namespace, name string) (wire.Testbed, error) {
	return get[wire.Testbed](s, namespace, name)
}

// Slots is server.Store's.
func (s *Store) Slots(_ context.Context, namespace, name string) (wire.TestbedSlots, error) {
	return get[wire.TestbedSlots](s, namespace, name)
}

// Job is server.Store's.
func (s *Store) Job(_ context.Context, namespace, name string) (wire.Job, error) {
	return get[wire.Job](s, namespace, name)
}

// Scheduling is server.Store's.
func (s *Store) Scheduling(_ context.Context, namespace, name string) (wire.Scheduling, error) {
	return get[wire.Scheduling](s, namespace, name)
}

func list[T wire.Resource](s *Store, namespace string) (objects []T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	all := s.objects[none.ObjectKind()]
	for _, name := range slices.SortedFunc(maps.Keys(all), testbed.Name.Compare) {
		if namespace == "" || namespace == name.Namespace {
			objects = append(objects, all[name].(T))
		}
	}
	return objects
}

func get[T wire.Resource](s *Store, namespace, name string) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return getLocked[T](s, testbed.Name{Namespace: namespace, Name: name}, "")
}

// getLocked reads an object, which must be at the version, if that is not empty.
func getLocked[T wire.Resource](s *Store, name testbed.Name, version string) (object T, err error) {
	kind := object.ObjectKind()
	object, there := s.objects[kind][name].(T)
	switch {
	case !there:
		err = server.Refuse(http.StatusNotFound, fmt.Sprintf("%s %s is not there.", kind, name))
	case version != "" && object.Common().ResourceVersion != version:
		err = server.Refuse(http.StatusPreconditionFailed, fmt.Sprintf("%s %s has another version.", kind, name))
	}
	return object, err
}

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
