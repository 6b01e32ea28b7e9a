package client

import (
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed"
)

// View is the state that Watch follows, at an instant. It does not change, and is safe for
// concurrent use. What it returns must not be modified, except for the slices themselves.
type View struct {
	// Changes are what is new since the View before: of an object once, and as it is now.
	// All of the first View is.
	Changes []Change

	objects map[place]wire.Resource
}

// Change is an object that has changed.
type Change struct {
	// Type is wire.Added, wire.Modified or wire.Deleted. An object that was deleted and
	// made again is in two Changes, with two UIDs.
	Type string
	Kind wire.Kind
	Name testbed.Name
	UID  string
}

// note adds what has changed at a place, nil being nothing.
func (v *View) note(was, now wire.Resource) {
	add := func(op string, o wire.Resource) {
		v.Changes = append(v.Changes, Change{Type: op, Kind: o.ObjectKind(), Name: o.Common().FullName(), UID: o.Common().UID})
	}
	other := was == nil || now == nil || was.Common().UID != now.Common().UID
	if was != nil && other {
		add(wire.Deleted, was)
	}
	switch {
	case now == nil:
	case other:
		add(wire.Added, now)
	case now.ObjectKind() == wire.Slots || was.Common().ResourceVersion != now.Common().ResourceVersion:
		add(wire.Modified, now)
	}
}

// Testbeds returns the test beds that are watched, by namespace and name.
func (v *View) Testbeds() []wire.Testbed { return sorted[wire.Testbed](v) }

// Jobs returns the jobs that are watched, by namespace and name.
func (v *View) Jobs() []wire.Job { return sorted[wire.Job](v) }

// Schedulings returns the schedulings that are watched, by namespace and name.
func (v *View) Schedulings() []wire.Scheduling { return sorted[wire.Scheduling](v) }

// Testbed returns one, false if it is not there or not watched.
func (v *View) Testbed(name testbed.Name) (wire.Testbed, bool) { return find[wire.Testbed](v, name) }

// Job returns one, false if it is not there or not watched.
func (v *View) Job(name testbed.Name) (wire.Job, bool) { return find[wire.Job](v, name) }

// Scheduling returns one, false if it is not there or not watched.
func (v *View) Scheduling(name testbed.Name) (wire.Scheduling, bool) {
	return find[wire.Scheduling](v, name)
}

// Slots returns all of a Testbed's, in the order of their index, false if they are not
// watched.
func (v *View) Slots(of testbed.Name) ([]wire.Slot, bool) {
	s, ok := find[wire.TestbedSlots](v, of)
	return s.Slots, ok
}

func find[T wire.Resource](v *View, name testbed.Name) (T, bool) {
	var none T
	object, ok := v.objects[place{none.ObjectKind(), name}].(T)
	return object, ok
}

func sorted[T wire.Resource](v *View) []T {
	all := []T{}
	for _, o := range v.objects {
		if object, ok := o.(T); ok {
			all = append(all, object)
		}
	}
	slices.SortFunc(all, func(a, b T) int { return a.Common().FullName().Compare(b.Common().FullName()) })
	return all
}
