package servertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
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
	// Now is the clock, time.Now if nil. It is set before the Store is used.
	Now func() time.Time

	mu        sync.Mutex
	unsynced  bool
	version   uint64
	objects   map[wire.Kind]map[testbed.Name]any
	followers map[*follower]bool
}

// NewStore returns an empty store.
func NewStore() *Store {
	// An API server's first list has a version, too, before there is any object.
	s := &Store{version: 1, objects: make(map[wire.Kind]map[testbed.Name]any), followers: make(map[*follower]bool)}
	for _, kind := range []wire.Kind{wire.Testbeds, wire.Slots, wire.Jobs, wire.Schedulings} {
		s.objects[kind] = make(map[testbed.Name]any)
	}
	return s
}

// SetSynced says whether everything has been read once, as it has at first.
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
	was, there := s.objects[wire.Testbeds][nameOf(object.Meta)].(wire.Testbed)
	if there {
		object.Meta = was.Meta // so that what changes is what was put
		object.Deleting = slots.Deleting
	}
	if !there || !same(was, object) {
		object = put(s, wire.Testbeds, object, &object.Meta)
	}
	before, there := s.objects[wire.Slots][nameOf(object.Meta)].(wire.TestbedSlots)
	if !there || !same(before.Slots, slots.Slots) {
		slots.Meta = before.Meta
		slots.Name, slots.Namespace, slots.UID = object.Name, object.Namespace, object.UID
		put(s, wire.Slots, slots, &slots.Meta)
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
	return put(s, wire.Jobs, object, &object.Meta)
}

// PutScheduling creates or replaces a scheduling. It returns it as it is then.
func (s *Store) PutScheduling(object wire.Scheduling) wire.Scheduling {
	s.mu.Lock()
	defer s.mu.Unlock()
	return put(s, wire.Schedulings, object, &object.Meta)
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

// put writes an object at a new version, and tells of it. meta is the object's own.
func put[T any](s *Store, kind wire.Kind, object T, meta *wire.Meta) T {
	name := nameOf(*meta)
	change := wire.Added
	if was, there := s.objects[kind][name]; there {
		change = wire.Modified
		before := metaOf(was)
		meta.UID, meta.Created = before.UID, before.Created
	} else {
		now := s.now()
		meta.UID, meta.Created = fmt.Sprintf("%s-%s-%d", kind, meta.Name, s.version+1), &now
	}
	s.version++
	meta.ResourceVersion = strconv.FormatUint(s.version, 10)
	// The caller's copy of the object is what meta points into.
	stored := withMeta(object, *meta)
	s.objects[kind][name] = stored
	s.tell(change, kind, *meta, meta.ResourceVersion, stored)
	return stored.(T)
}

func (s *Store) remove(kind wire.Kind, name testbed.Name) {
	object, there := s.objects[kind][name]
	if !there {
		return
	}
	delete(s.objects[kind], name)
	s.version++
	s.tell(wire.Deleted, kind, metaOf(object), strconv.FormatUint(s.version, 10), object)
}

func (s *Store) tell(change string, kind wire.Kind, meta wire.Meta, version server.Version, object any) {
	told := server.Change{
		Type: change, Kind: kind, Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID,
		Version: version, Object: object, At: s.now(),
	}
	for f := range s.followers {
		f.add(told)
	}
}

func (s *Store) now() time.Time {
	if s.Now != nil {
		return s.Now().UTC()
	}
	return time.Now().UTC()
}

func nameOf(m wire.Meta) testbed.Name { return testbed.Name{Namespace: m.Namespace, Name: m.Name} }

func metaOf(object any) wire.Meta {
	switch o := object.(type) {
	case wire.Testbed:
		return o.Meta
	case wire.TestbedSlots:
		return o.Meta
	case wire.Job:
		return o.Meta
	case wire.Scheduling:
		return o.Meta
	}
	panic(fmt.Sprintf("no kind of object: %T", object))
}

func withMeta(object any, meta wire.Meta) any {
	switch o := object.(type) {
	case wire.Testbed:
		o.Meta = meta
		return o
	case wire.TestbedSlots:
		o.Meta = meta
		return o
	case wire.Job:
		o.Meta = meta
		return o
	case wire.Scheduling:
		o.Meta = meta
		return o
	}
	panic(fmt.Sprintf("no kind of object: %T", object))
}

// same compares as JSON, as callers see the two.
func same(a, b any) bool {
	x, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	y, err := json.Marshal(b)
	if err != nil {
		panic(err)
	}
	return bytes.Equal(x, y)
}

// Testbeds is server.Store's.
func (s *Store) Testbeds(_ context.Context, namespace string) ([]wire.Testbed, error) {
	return list[wire.Testbed](s, wire.Testbeds, namespace), nil
}

// Jobs is server.Store's.
func (s *Store) Jobs(_ context.Context, namespace string) ([]wire.Job, error) {
	return list[wire.Job](s, wire.Jobs, namespace), nil
}

// Schedulings is server.Store's.
func (s *Store) Schedulings(_ context.Context, namespace string) ([]wire.Scheduling, error) {
	return list[wire.Scheduling](s, wire.Schedulings, namespace), nil
}

// Testbed is server.Store's.
func (s *Store) Testbed(_ context.Context, namespace, name string) (wire.Testbed, error) {
	return get[wire.Testbed](s, wire.Testbeds, namespace, name)
}

// Slots is server.Store's.
func (s *Store) Slots(_ context.Context, namespace, name string) (wire.TestbedSlots, error) {
	return get[wire.TestbedSlots](s, wire.Slots, namespace, name)
}

// Job is server.Store's.
func (s *Store) Job(_ context.Context, namespace, name string) (wire.Job, error) {
	return get[wire.Job](s, wire.Jobs, namespace, name)
}

// Scheduling is server.Store's.
func (s *Store) Scheduling(_ context.Context, namespace, name string) (wire.Scheduling, error) {
	return get[wire.Scheduling](s, wire.Schedulings, namespace, name)
}

func list[T any](s *Store, kind wire.Kind, namespace string) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	var objects []T
	for _, name := range slices.SortedFunc(maps.Keys(s.objects[kind]), testbed.Name.Compare) {
		if namespace == "" || namespace == name.Namespace {
			objects = append(objects, s.objects[kind][name].(T))
		}
	}
	return objects
}

func get[T any](s *Store, kind wire.Kind, namespace, name string) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return getLocked[T](s, kind, testbed.Name{Namespace: namespace, Name: name})
}

func getLocked[T any](s *Store, kind wire.Kind, name testbed.Name) (T, error) {
	object, there := s.objects[kind][name].(T)
	if !there {
		return object, server.Refuse(http.StatusNotFound, fmt.Sprintf("%s %s is not there.", kind, name))
	}
	return object, nil
}

// getAt is getLocked of what is to be written at a version; empty is any.
func getAt[T any](s *Store, kind wire.Kind, name testbed.Name, version server.Version) (T, error) {
	object, err := getLocked[T](s, kind, name)
	if err == nil && version != "" && metaOf(object).ResourceVersion != version {
		return object, server.Refuse(http.StatusPreconditionFailed, fmt.Sprintf("%s %s has another version.", kind, name))
	}
	return object, err
}
