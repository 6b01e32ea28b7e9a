package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed"
)

// mirror makes of the messages of a subscription what there is.
type mirror struct {
	objects map[place]held
	// staged is the snapshot that is coming; objects stay as they are until it is whole.
	staged map[place]held
	cursor string
	whole  bool // a snapshot has come
	// changed are the changes that have not been viewed, order their objects.
	changed map[identity]string
	order   []identity
}

// place is where an object is; another may take it.
type place struct {
	kind wire.Kind
	name testbed.Name
}

type identity struct {
	place
	uid string
}

type held struct {
	uid, version string
	object       any // as Change.Kind says
}

func newMirror() *mirror {
	return &mirror{objects: map[place]held{}, staged: map[place]held{}, changed: map[identity]string{}}
}

// begin is a connection's beginning: what of a snapshot had come comes again.
func (m *mirror) begin() {
	if m.staged != nil {
		m.staged, m.cursor = map[place]held{}, ""
	}
}

// take takes a message in.
func (m *mirror) take(message *wire.Message) error {
	switch message.Type {
	case wire.Reset:
		m.staged, m.cursor = map[place]held{}, ""
		return nil
	case wire.Snapshot:
		if m.staged == nil {
			return errors.New("client: a snapshot that nothing announced")
		}
		for _, o := range message.Objects {
			at, next, err := decode(o, held{})
			if err != nil {
				return err
			}
			m.staged[at] = next
		}
		if message.More {
			return nil
		}
		m.replace()
	case wire.EventsMessage:
		for _, e := range message.Events {
			if err := m.event(e); err != nil {
				return err
			}
		}
	}
	if message.Cursor != "" {
		m.cursor = message.Cursor
	}
	return nil
}

// replace puts the snapshot in the place of what there was.
func (m *mirror) replace() {
	for at, was := range m.objects {
		if next, ok := m.staged[at]; !ok || next.uid != was.uid {
			m.note(at, was.uid, wire.Deleted)
		}
	}
	for at, next := range m.staged {
		switch was, ok := m.objects[at]; {
		case !ok || was.uid != next.uid:
			m.note(at, next.uid, wire.Added)
		case was.version != next.version:
			m.note(at, next.uid, wire.Modified)
		}
	}
	m.objects, m.staged, m.whole = m.staged, nil, true
}

func (m *mirror) event(e wire.Event) error {
	var was held
	at, err := placeOf(e.Object)
	if err != nil {
		return err
	}
	was, known := m.objects[at]
	at, next, err := decode(e.Object, was)
	switch {
	case err != nil:
		return err
	case e.Type == wire.Deleted:
		if known && was.uid == next.uid {
			delete(m.objects, at)
			m.note(at, next.uid, wire.Deleted)
		}
		return nil
	case known && was.uid != next.uid:
		m.note(at, was.uid, wire.Deleted)
		known = false
	case known && was.version == next.version && at.kind != wire.Slots:
		return nil
	}
	m.objects[at] = next
	if known {
		m.note(at, next.uid, wire.Modified)
	} else {
		m.note(at, next.uid, wire.Added)
	}
	return nil
}

// note adds a change to those of the same object that have not been viewed.
func (m *mirror) note(at place, uid, op string) {
	id := identity{at, uid}
	before, ok := m.changed[id]
	switch {
	case !ok:
		m.order = append(m.order, id)
	case before == wire.Added && op == wire.Deleted:
		op = "" // nobody has seen it
	case before == wire.Added:
		op = wire.Added
	case before == wire.Deleted && op == wire.Added:
		op = wire.Modified
	}
	m.changed[id] = op
}

// view returns what there is, and forgets what has changed.
func (m *mirror) view() *View {
	v := &View{
		testbeds: map[testbed.Name]wire.Testbed{}, slots: map[testbed.Name]wire.TestbedSlots{},
		jobs: map[testbed.Name]wire.Job{}, schedulings: map[testbed.Name]wire.Scheduling{},
	}
	for _, id := range m.order {
		if op := m.changed[id]; op != "" {
			v.Changes = append(v.Changes, Change{Type: op, Kind: id.kind, Name: id.name, UID: id.uid})
		}
	}
	m.order, m.changed = nil, map[identity]string{}
	for at, h := range maps.All(m.objects) {
		switch object := h.object.(type) {
		case wire.Testbed:
			v.testbeds[at.name] = object
		case wire.TestbedSlots:
			v.slots[at.name] = object
		case wire.Job:
			v.jobs[at.name] = object
		case wire.Scheduling:
			v.schedulings[at.name] = object
		}
	}
	return v
}

// pending says whether there is something to view.
func (m *mirror) pending(first bool) bool { return m.whole && (first || len(m.order) > 0) }

func placeOf(o wire.Object) (place, error) {
	var meta wire.Meta
	if err := json.Unmarshal(o.Object, &meta); err != nil {
		return place{}, fmt.Errorf("client: an object of %s: %w", o.Kind, err)
	}
	return place{o.Kind, testbed.Name{Namespace: meta.Namespace, Name: meta.Name}}, nil
}

// decode reads an object; of slots that are partial was is what there is.
func decode(o wire.Object, was held) (place, held, error) {
	var meta *wire.Meta
	var object any
	var err error
	switch o.Kind {
	case wire.Testbeds:
		var t wire.Testbed
		err, meta = json.Unmarshal(o.Object, &t), &t.Meta
		object = t
	case wire.Slots:
		var s wire.TestbedSlots
		err, meta = json.Unmarshal(o.Object, &s), &s.Meta
		before, _ := was.object.(wire.TestbedSlots)
		object = before.Apply(s)
	case wire.Jobs:
		var j wire.Job
		err, meta = json.Unmarshal(o.Object, &j), &j.Meta
		object = j
	case wire.Schedulings:
		var s wire.Scheduling
		err, meta = json.Unmarshal(o.Object, &s), &s.Meta
		object = s
	default:
		return place{}, held{}, fmt.Errorf("client: objects of kind %q", o.Kind)
	}
	if err != nil {
		return place{}, held{}, fmt.Errorf("client: an object of %s: %w", o.Kind, err)
	}
	at := place{o.Kind, testbed.Name{Namespace: meta.Namespace, Name: meta.Name}}
	return at, held{uid: meta.UID, version: meta.ResourceVersion, object: object}, nil
}
