package server

import (
	"fmt"
	"slices"
	"testing"

	"github.com/spazio-scheduler/spazio/external/internal/hub"
	"github.com/spazio-scheduler/spazio/external/wire"
)

// TestTurns: a subscription that always has more to tell holds up no other.
func TestTurns(t *testing.T) {
	h := hub.New(hub.Config{})
	h.Synced()
	s := newSubscriptions()
	for _, kind := range []wire.Kind{wire.Jobs, wire.Schedulings} {
		f, err := hub.NewFilter([]wire.Kind{kind}, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		told, err := h.SubscribeNow(f, s.stir)
		if err != nil {
			t.Fatal(err)
		}
		s.add(&subscription{id: string(kind), hub: told})
	}
	version := 0
	change := func(kind wire.Kind) {
		t.Helper()
		version++
		name := fmt.Sprint("o", version)
		if _, err := h.Apply(hub.Change{Type: wire.Added, Kind: kind, Name: name, UID: name, Version: fmt.Sprint(version), Object: wire.Job{}}); err != nil {
			t.Fatal(err)
		}
	}
	change(wire.Jobs)
	change(wire.Schedulings)
	var told []string
	for more := true; more && len(told) < 6; {
		var err error
		more, err = s.turn(func(one *subscription, m wire.Message) error {
			told = append(told, one.id)
			change(wire.Jobs) // before it is done there is more
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
