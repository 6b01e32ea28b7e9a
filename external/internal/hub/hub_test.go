package hub_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/internal/hub"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/field"
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
	other := hub.New(hub.Config{ID: 1})
	other.Synced()
	apply(t, other, jobChange(wire.Added, "a", "5"), jobChange(wire.Added, "b", "6"))
	_, cursor := first(t, other, "")

	listed := hub.New(hub.Config{ID: 2}) // b was deleted at 7, and it listed at 8
	apply(t, listed, jobChange(wire.Added, "a", "5"))
	listed.Synced()
	if got, _ := first(t, listed, cursor); got != wire.Reset {
		t.Errorf("%s where it is not known what was listed", got)
	}
	apply(t, listed, jobChange(wire.Added, "c", "9"))
	if got, _ := first(t, listed, cursor); got != wire.Reset {
		t.Errorf("%s by a cursor from before", got)
	}
	apply(t, other, jobChange(wire.Added, "d", "10"))
	_, newer := first(t, other, "")
	if got, _ := first(t, listed, newer); got != wire.Reset {
		t.Errorf("%s by a cursor of another, which may have passed by what came in order here", got)
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

// What comes out of order, as of a namespace whose watch is behind another's, is told whoever
// watches, also by a cursor that is after it.
func TestOutOfOrderIsTold(t *testing.T) {
	in := func(namespace string, c hub.Change) hub.Change { c.Namespace = namespace; return c }
	other, h := hub.New(hub.Config{}), hub.New(hub.Config{})
	for _, h := range []*hub.Hub{other, h} {
		apply(t, h, hub.Change{Type: wire.Bookmark, Kind: wire.Jobs, Version: "2"}, in("east", jobChange(wire.Added, "old", "1")))
		h.Synced()
		apply(t, h, in("west", jobChange(wire.Added, "a", "8")))
	}
	_, cursor := first(t, other, "")
	f, err := hub.NewFilter([]wire.Kind{wire.Jobs}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.Subscribe(f, cursor, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	told := func() (all []string) {
		for m, ok := s.Next(); ok; m, ok = s.Next() {
			for _, e := range m.Events {
				var meta wire.Meta
				if err := json.Unmarshal(e.Object.Object, &meta); err != nil {
					t.Fatal(err)
				}
				all = append(all, e.Type+" "+meta.Name)
			}
		}
		return all
	}
	if got := told(); got != nil {
		t.Errorf("told again: %q", got)
	}
	for _, step := range []struct {
		change hub.Change
		want   []string
	}{
		{in("east", jobChange(wire.Added, "late", "5")), []string{"MODIFIED late"}},
		{in("east", jobChange(wire.Modified, "late", "6")), []string{"MODIFIED late"}},
		{in("east", jobChange(wire.Deleted, "old", "7")), []string{"DELETED old"}},
		{in("west", jobChange(wire.Modified, "a", "9")), []string{"MODIFIED a"}},
		{in("west", jobChange(wire.Modified, "a", "4")), nil}, // older than what is known of it
		{in("east", again(jobChange(wire.Modified, "late", "9"), "7")), []string{"MODIFIED late"}},
		{in("east", again(jobChange(wire.Modified, "late", "9"), "7")), nil},
		{in("east", again(jobChange(wire.Modified, "late", "9"), "8")), []string{"MODIFIED late"}},
	} {
		apply(t, h, step.change)
		if diff := cmp.Diff(step.want, told()); diff != "" {
			t.Errorf("after %s %s (-want +got):\n%s", step.change.Type, step.change.Name, diff)
		}
	}
}

// again is a change that carries the version of what was told before it, and had its own.
func again(c hub.Change, own string) hub.Change {
	job := c.Object.(wire.Job)
	job.ResourceVersion = own
	c.Object = job
	return c
}

// Who begins with what changes from now on is told nothing of what was, and no less of what is.
func TestSubscribeNow(t *testing.T) {
	h := hub.New(hub.Config{})
	apply(t, h, hub.Change{Type: wire.Bookmark, Kind: wire.Jobs, Version: "2"}, jobChange(wire.Added, "old", "1"))
	h.Synced()
	apply(t, h, jobChange(wire.Added, "gone", "3"), jobChange(wire.Deleted, "gone", "4"))
	f, err := hub.NewFilter([]wire.Kind{wire.Jobs}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.SubscribeNow(f, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if m, ok := s.Next(); ok {
		t.Errorf("told of the past: %+v", m)
	}
	apply(t, h, jobChange(wire.Modified, "old", "5"), jobChange(wire.Added, "new", "6"))
	m, ok := s.Next()
	if !ok || len(m.Events) != 2 || m.Events[0].Type != wire.Modified || m.Events[1].Type != wire.Added {
		t.Errorf("told %+v", m)
	}
	if _, ok := s.Next(); ok {
		t.Error("told twice")
	}
	if _, err := hub.New(hub.Config{}).SubscribeNow(f, nil); !errors.Is(err, hub.ErrNotSynced) {
		t.Errorf("before everything has been told: %v", err)
	}
}

// To begin now costs the same however many slots there are.
func TestSubscribeNowEncodesNothing(t *testing.T) {
	bed := wire.TestbedSlots{Meta: wire.Meta{Name: "bed", UID: "u"}}
	for i := range 5000 {
		bed.Slots = append(bed.Slots, wire.Slot{ID: fmt.Sprint("node/", i), Node: "node"})
	}
	h := hub.New(hub.Config{})
	apply(t, h, hub.Change{Type: wire.Added, Kind: wire.Slots, Name: "bed", UID: "u", Version: "1", Object: bed})
	h.Synced()
	f, err := hub.NewFilter([]wire.Kind{wire.Slots}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := h.SubscribeNow(f, func() {})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	defer s.Close()
	if got := after.TotalAlloc - before.TotalAlloc; got > 64<<10 {
		t.Errorf("%d bytes", got)
	}
}

func TestApplyRefuses(t *testing.T) {
	good := jobChange(wire.Added, "a", "5")
	for name, edit := range map[string]func(*hub.Change){
		"Kind":    func(c *hub.Change) { c.Kind = "pods" },
		"Type":    func(c *hub.Change) { c.Type = "MOVED" },
		"Version": func(c *hub.Change) { c.Version = "0x5" },
		"Name":    func(c *hub.Change) { c.Name = "" },
		"Object":  func(c *hub.Change) { c.Object = wire.Job{External: []byte("{")} },
	} {
		h, bad := hub.New(hub.Config{}), good
		edit(&bad)
		_, err := h.Apply(bad)
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != name || !errors.Is(err, hub.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := hub.New(hub.Config{}).Subscribe(hub.Filter{}, "", nil); !errors.Is(err, hub.ErrNotSynced) {
		t.Errorf("before everything has been told: %v", err)
	}
}
