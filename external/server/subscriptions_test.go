package server

import (
	"fmt"
	"slices"
	"testing"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// TestTurns: a subscription that always has more to send delays no other.
func TestTurns(t *testing.T) {
	h := newHub(100)
	h.markSynced()
	s := newSubscriptions(nil)
	for _, kind := range []wire.Kind{wire.Jobs, wire.Schedulings} {
		f := newFilter([]wire.Kind{kind}, "", nil)
		told, err := h.subscribe(f, h.cursor(f), s.signal)
		if err != nil {
			t.Fatal(err)
		}
		s.add(&subscription{id: string(kind), hub: told})
	}
	made := 0
	add := func(of func(wire.Meta) wire.Resource) {
		t.Helper()
		made++
		if _, err := h.apply(wire.Added, of(wire.Meta{Name: fmt.Sprint("o", made)})); err != nil {
			t.Fatal(err)
		}
	}
	job := func(m wire.Meta) wire.Resource { return wire.Job{Meta: m} }
	add(job)
	add(func(m wire.Meta) wire.Resource { return wire.Scheduling{Meta: m} })
	var told []string
	for more := true; more && len(told) < 6; {
		var err error
		more, err = s.turn(func(one *subscription, m wire.Message) error {
			if m.Type == wire.EventsMessage {
				told = append(told, one.id)
			}
			add(job) // before it is done there is more
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"jobs", "schedulings", "jobs", "jobs", "jobs", "jobs"}; !slices.Equal(told, want) {
		t.Errorf("told of %q, want %q", told, want)
	}
	s.close()
	if more, err := s.turn(nil); more || err != nil {
		t.Errorf("after the end: %v, %v", more, err)
	}
}
