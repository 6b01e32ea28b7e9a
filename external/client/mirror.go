package client

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed"
)

// mirror builds the state from the messages of a subscription.
type mirror struct {
	objects map[place]wire.Resource
	// staged is the snapshot that is coming; objects stay as they are until it is whole.
	staged map[place]wire.Resource
	cursor string
	// viewed is what the last View has, nil before the first; touched are the places that may
	// differ from it, order has them by time.
	viewed  map[place]wire.Resource
	touched map[place]bool
	order   []place
}

// place is where an object is; another may take it.
type place struct {
	kind wire.Kind
	name testbed.Name
}

func placeOf(o wire.Resource) place { return place{o.ObjectKind(), o.Common().FullName()} }

func newMirror() *mirror {
	return &mirror{objects: map[place]wire.Resource{}, staged: map[place]wire.Resource{}, touched: map[place]bool{}}
}

// begin is a connection's beginning: what of a snapshot had come comes again.
func (m *mirror) begin() {
	if m.staged != nil {
		m.staged, m.cursor = map[place]wire.Resource{}, ""
	}
}

// take takes a message in.
func (m *mirror) take(message *wire.Message) error {
	switch message.Type {
	case wire.Reset:
		m.staged, m.cursor = map[place]wire.Resource{}, ""
		return nil
	case wire.Snapshot:
		if m.staged == nil {
			return errors.New("client: a snapshot that nothing announced")
		}
		for _, o := range message.Objects {
			object, err := o.Decode()
			if err != nil {
				return fmt.Errorf("client: %w", err)
			}
			m.staged[placeOf(object)] = object
		}
		if message.More {
			return nil
		}
		m.replace()
	case wire.EventsMessage:
		for _, e := range message.Events {
			object, err := e.Decode()
			if err != nil {
				return fmt.Errorf("client: %w", err)
			}
			m.event(e.Type, object)
		}
	}
	if message.Cursor != "" {
		m.cursor = message.Cursor
	}
	return nil
}

// replace puts the snapshot in the place of what there was. A replica that is behind does not
// take an object back to an older state.
func (m *mirror) replace() {
	before := m.objects
	m.objects, m.staged = m.staged, nil
	for at := range before {
		if m.objects[at] == nil {
			m.touch(at)
		}
	}
	for at, next := range m.objects {
		switch was := before[at]; {
		case was == nil || at.kind == wire.Slots || isNews(was, next): // versions may not tell slots apart
			m.touch(at)
		default:
			m.objects[at] = was
		}
	}
}

func (m *mirror) event(op string, next wire.Resource) {
	at := placeOf(next)
	was := m.objects[at]
	slots, isSlots := next.(wire.TestbedSlots)
	switch {
	case op == wire.Deleted:
		if was == nil || was.Common().UID != next.Common().UID {
			return
		}
		delete(m.objects, at)
	case isSlots: // their versions may not tell them apart
		before, _ := was.(wire.TestbedSlots)
		m.objects[at] = before.Apply(slots)
	case was != nil && !isNews(was, next):
		return
	default:
		m.objects[at] = next
	}
	m.touch(at)
}

// isNews reports whether next is another object, or a newer state of it. Versions of slots are
// each replica's own: any other one is news.
func isNews(was, next wire.Resource) bool {
	a, b := was.Common(), next.Common()
	if a.UID != b.UID {
		return true
	}
	order, err := wire.CompareVersions(a.ResourceVersion, b.ResourceVersion)
	if err != nil || next.ObjectKind() == wire.Slots {
		return a.ResourceVersion != b.ResourceVersion
	}
	return order < 0
}

func (m *mirror) touch(at place) {
	if !m.touched[at] {
		m.touched[at] = true
		m.order = append(m.order, at)
	}
}

// view returns the state, and forgets what has changed; nil if nothing has, or if not all
// has come yet.
func (m *mirror) view() *View {
	first := m.viewed == nil
	if first && m.staged != nil || !first && len(m.order) == 0 {
		return nil
	}
	v := &View{objects: maps.Clone(m.objects)}
	for _, at := range m.order {
		v.note(m.viewed[at], m.objects[at])
	}
	m.viewed, m.order = v.objects, nil
	clear(m.touched)
	if !first && len(v.Changes) == 0 {
		return nil
	}
	return v
}

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
