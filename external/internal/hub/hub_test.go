package hub_test

import (
	"errors"
	"testing"

	"github.com/spazio-scheduler/spazio/external/internal/hub"
	"github.com/spazio-scheduler/spazio/external/wire"
)

func jobChange(op, name, version string) hub.Change {
	return hub.Change{Type: op, Kind: wire.Jobs, Name: name, UID: name, Version: version, Object: wire.Job{Meta: wire.Meta{Name: name, UID: name}}}
}

func apply(t *testing.T, h *hub.Hub, changes ...hub.Change) {
	t.Helper()
	for _, c := range changes {
		if _, err := h.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
}

// first is the type of what a subscription by the cursor is told first, and the last cursor.
func first(t *testing.T, h *hub.Hub, cursor string) (string, string) {
	t.Helper()
	f, err := hub.NewFilter([]wire.Kind{wire.Jobs}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.Subscribe(f, cursor, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	begins := ""
	for {
		m, ok := s.Next()
		if !ok {
			return begins, cursor
		}
		if begins == "" {
			begins = m.Type
		}
		if m.Cursor != "" {
			cursor = m.Cursor
		}
	}
}

// A hub that may have missed a deletion takes no cursor that is older than what it knows
// to be after it.
func TestUncertainCursor(t *testing.T) {
	other := hub.New(hub.Config{})
	other.Synced()
	apply(t, other, jobChange(wire.Added, "a", "5"), jobChange(wire.Added, "b", "6"))
	_, cursor := first(t, other, "")

	listed := hub.New(hub.Config{}) // b was deleted at 7, and it listed at 8
	apply(t, listed, jobChange(wire.Added, "a", "5"))
	listed.Synced()
	if got, _ := first(t, listed, cursor); got != wire.Reset {
		t.Errorf("%s where it is not known what was listed", got)
	}
	apply(t, listed, jobChange(wire.Added, "c", "9"))
	if got, _ := first(t, listed, cursor); got != wire.Reset {
		t.Errorf("%s by a cursor from before", got)
	}
	_, later := first(t, listed, "")
	if got, _ := first(t, listed, later); got != wire.Bookmark {
		t.Errorf("%s by a cursor of its own", got)
	}

	apply(t, listed, jobChange(wire.Added, "late", "7")) // out of order
	if got, _ := first(t, listed, later); got != wire.Reset {
		t.Errorf("%s by a cursor that a change came behind", got)
	}
	apply(t, listed, jobChange(wire.Modified, "late", "10"))
	_, after := first(t, listed, "")
	if got, _ := first(t, listed, after); got != wire.Bookmark {
		t.Errorf("%s once order is there again", got)
	}
}

func TestApplyRefuses(t *testing.T) {
	good := jobChange(wire.Added, "a", "5")
	for field, edit := range map[string]func(*hub.Change){
		"Kind":    func(c *hub.Change) { c.Kind = "pods" },
		"Type":    func(c *hub.Change) { c.Type = "MOVED" },
		"Version": func(c *hub.Change) { c.Version = "0x5" },
		"Name":    func(c *hub.Change) { c.Name = "" },
		"Object":  func(c *hub.Change) { c.Object = wire.Job{External: []byte("{")} },
	} {
		h, bad := hub.New(hub.Config{}), good
		edit(&bad)
		_, err := h.Apply(bad)
		var refused *hub.FieldError
		if !errors.As(err, &refused) || refused.Field != field || !errors.Is(err, hub.ErrInvalid) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := hub.New(hub.Config{}).Subscribe(hub.Filter{}, "", nil); !errors.Is(err, hub.ErrNotSynced) {
		t.Errorf("before everything has been told: %v", err)
	}
}
