package client

import (
	"maps"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed"
)

// View is what Watch has been told, at an instant. It does not change, and is safe for
// concurrent use. What it returns is not to be modified, but for the slices themselves.
type View struct {
	// Changes are what is new since the View before: of an object once, and as it is now.
	// All of the first View is.
	Changes []Change

	testbeds    map[testbed.Name]wire.Testbed
	slots       map[testbed.Name]wire.TestbedSlots
	jobs        map[testbed.Name]wire.Job
	schedulings map[testbed.Name]wire.Scheduling
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

// Testbeds are those that are watched, by namespace and name.
func (v *View) Testbeds() []wire.Testbed { return sorted(v.testbeds) }

// Jobs are those that are watched, by namespace and name.
func (v *View) Jobs() []wire.Job { return sorted(v.jobs) }

// Schedulings are those that are watched, by namespace and name.
func (v *View) Schedulings() []wire.Scheduling { return sorted(v.schedulings) }

// Testbed returns one, false if it is not there or not watched.
func (v *View) Testbed(name testbed.Name) (wire.Testbed, bool) { return find(v.testbeds, name) }

// Job returns one, false if it is not there or not watched.
func (v *View) Job(name testbed.Name) (wire.Job, bool) { return find(v.jobs, name) }

// Scheduling returns one, false if it is not there or not watched.
func (v *View) Scheduling(name testbed.Name) (wire.Scheduling, bool) {
	return find(v.schedulings, name)
}

// Slots returns all of a Testbed's, in the order of their index, false if they are not
// watched.
func (v *View) Slots(of testbed.Name) ([]wire.Slot, bool) {
	s, ok := v.slots[of]
	return s.Slots, ok
}

func find[T any](m map[testbed.Name]T, name testbed.Name) (T, bool) {
	object, ok := m[name]
	return object, ok
}

func sorted[T any](m map[testbed.Name]T) []T {
	all := make([]T, 0, len(m))
	for _, name := range slices.SortedFunc(maps.Keys(m), testbed.Name.Compare) {
		all = append(all, m[name])
	}
	return all
}
