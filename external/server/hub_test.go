package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/wire"
)

func jobAt(name, version string) wire.Job {
	return wire.Job{Meta: wire.Meta{Name: name, UID: name, ResourceVersion: version}}
}

func apply(t *testing.T, h *hub, op string, object wire.Resource) {
	t.Helper()
	if _, err := h.apply(op, object); err != nil {
		t.Fatal(err)
	}
}

func subscribe(t *testing.T, h *hub, cursor string, kinds ...wire.Kind) *feed {
	t.Helper()
	s, err := h.subscribe(newFilter(kinds, "", nil), cursor, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// read reads everything available, a line a message, and also returns the last cursor.
func read(t *testing.T, s *feed) (lines []string, cursor string) {
	t.Helper()
	name := func(o wire.Object) string {
		var meta wire.Meta
		if err := json.Unmarshal(o.Object, &meta); err != nil {
			t.Fatal(err)
		}
		return meta.Name + "@" + meta.ResourceVersion
	}
	for m, ok := s.next(); ok; m, ok = s.next() {
		words := []string{m.Type}
		for _, o := range m.Objects {
			words = append(words, name(o))
		}
		for _, e := range m.Events {
			words = append(words, e.Type, name(e.Object))
		}
		lines = append(lines, strings.Join(words, " "))
		if m.Cursor != "" {
			cursor = m.Cursor
		}
	}
	return lines, cursor
}

func expect(t *testing.T, s *feed, want ...string) string {
	t.Helper()
	got, cursor := read(t, s)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	return cursor
}

// A cursor is valid at the hub that issued it, as long as that remembers all changes since; at any
// other the client restarts.
func TestCursorIsGood(t *testing.T) {
	one, other := newHub(4), newHub(4)
	for _, h := range []*hub{one, other} {
		apply(t, h, wire.Added, jobAt("a", "1"))
		h.markSynced()
	}
	first := expect(t, subscribe(t, one, "", wire.Jobs), "SNAPSHOT a@1")
	expect(t, subscribe(t, other, first, wire.Jobs), "RESET", "SNAPSHOT a@1")
	for version := 2; version <= 5; version++ {
		apply(t, one, wire.Modified, jobAt("a", fmt.Sprint(version)))
	}
	next := expect(t, subscribe(t, one, first, wire.Jobs), "EVENTS MODIFIED a@5", "BOOKMARK")
	apply(t, one, wire.Deleted, jobAt("a", "5"))
	expect(t, subscribe(t, one, first, wire.Jobs), "RESET", "SNAPSHOT")
	expect(t, subscribe(t, one, next, wire.Jobs), "EVENTS DELETED a@5", "BOOKMARK")
}

// A client that reads too slowly restarts, also in the middle of a subscription.
func TestTooSlow(t *testing.T) {
	h := newHub(4)
	h.markSynced()
	s := subscribe(t, h, "", wire.Jobs)
	expect(t, s, "SNAPSHOT")
	for i := range 5 {
		apply(t, h, wire.Added, jobAt(fmt.Sprint("j", i), "1"))
	}
	expect(t, s, "RESET", "SNAPSHOT j0@1 j1@1 j2@1 j3@1 j4@1")
	apply(t, h, wire.Deleted, jobAt("j0", "1"))
	expect(t, s, "EVENTS DELETED j0@1")
}

// Deleted objects are remembered up to 16 MiB, whatever the number of changes.
func TestGoneIsBounded(t *testing.T) {
	h := newHub(1000)
	h.markSynced()
	last := func(of int) string {
		job := jobAt("large", "1")
		job.External = json.RawMessage(`"` + strings.Repeat("x", of) + `"`)
		s := subscribe(t, h, "", wire.Jobs)
		_, cursor := read(t, s)
		for range 2 {
			apply(t, h, wire.Added, job)
			apply(t, h, wire.Deleted, job)
		}
		lines, _ := read(t, subscribe(t, h, cursor, wire.Jobs))
		return lines[0]
	}
	if got := last(7 << 20); got != "BOOKMARK" { // it came and went
		t.Errorf("%s after 14 MiB", got)
	}
	if got := last(9 << 20); got != "RESET" {
		t.Errorf("%s after 18 MiB", got)
	}
}

// Changes of one moment are sent in pages, and the cursor of all but the last is from before them:
// a client that resumes there misses nothing.
func TestPagesKeepThePlace(t *testing.T) {
	h := newHub(10_000)
	h.markSynced()
	s := subscribe(t, h, "", wire.Jobs)
	before := expect(t, s, "SNAPSHOT")
	for i := range 700 {
		apply(t, h, wire.Added, jobAt(fmt.Sprint("j", i), "1"))
	}
	for i := range 700 {
		apply(t, h, wire.Modified, jobAt(fmt.Sprint("j", i), "2"))
	}
	m, _ := s.next()
	if len(m.Events) != 500 || m.Cursor != before {
		t.Fatalf("a page of %d at %q, want 500 at %q", len(m.Events), m.Cursor, before)
	}
	known := map[string]bool{}
	again := subscribe(t, h, m.Cursor, wire.Jobs)
	for m, ok := again.next(); ok; m, ok = again.next() {
		for _, e := range m.Events {
			known[string(e.Object.Object)] = e.Type == wire.Added
		}
	}
	if len(known) != 700 {
		t.Errorf("%d objects are known", len(known))
	}
	for object, added := range known {
		if !added {
			t.Errorf("%s is told of as known", object)
		}
	}
}

// A client that begins with future changes gets no earlier ones, and all later ones.
func TestFromNowOn(t *testing.T) {
	h := newHub(100)
	apply(t, h, wire.Added, jobAt("old", "1"))
	h.markSynced()
	apply(t, h, wire.Added, jobAt("gone", "3"))
	apply(t, h, wire.Deleted, jobAt("gone", "3"))
	s := subscribe(t, h, h.cursor(newFilter([]wire.Kind{wire.Jobs}, "", nil)), wire.Jobs)
	expect(t, s, "BOOKMARK")
	apply(t, h, wire.Modified, jobAt("old", "5"))
	apply(t, h, wire.Added, jobAt("new", "6"))
	expect(t, s, "EVENTS MODIFIED old@5 ADDED new@6")
	if _, err := newHub(1).subscribe(filter{}, "", nil); !errors.Is(err, errNotSynced) {
		t.Errorf("before everything has been told: %v", err)
	}
}

// Beginning now costs the same however many slots there are.
func TestFromNowOnEncodesNothing(t *testing.T) {
	bed := wire.TestbedSlots{Meta: wire.Meta{Name: "bed", UID: "u"}}
	for i := range 5000 {
		bed.Slots = append(bed.Slots, wire.Slot{ID: fmt.Sprint("node/", i), Node: "node"})
	}
	h := newHub(100)
	apply(t, h, wire.Added, bed)
	h.markSynced()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := subscribe(t, h, h.cursor(newFilter([]wire.Kind{wire.Slots}, "", nil)), wire.Slots)
	_, more := s.next()
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 64<<10 || !more {
		t.Errorf("%d bytes", got)
	}
}

// An unchanged object is not sent.
func TestNews(t *testing.T) {
	h := newHub(100)
	h.markSynced()
	for i, step := range []struct {
		op     string
		object wire.Resource
		news   bool
	}{
		{wire.Deleted, jobAt("a", "1"), false}, // unknown to every client
		{wire.Added, jobAt("a", "1"), true},
		{wire.Added, jobAt("a", "1"), false},
		{wire.Modified, jobAt("a", "2"), true},
		{wire.Deleted, jobAt("a", "3"), true},
		{wire.Deleted, jobAt("a", "3"), false},
		{wire.Added, wire.TestbedSlots{Meta: wire.Meta{Name: "bed", ResourceVersion: "1"}}, true},
		{wire.Modified, wire.TestbedSlots{Meta: wire.Meta{Name: "bed", ResourceVersion: "2"}}, false}, // the version alone
		{wire.Modified, wire.TestbedSlots{Meta: wire.Meta{Name: "bed"}, Slots: []wire.Slot{{ID: "n/0"}}}, true},
		{wire.Modified, wire.TestbedSlots{Meta: wire.Meta{Name: "bed", Deleting: true}, Slots: []wire.Slot{{ID: "n/0"}}}, true},
	} {
		if news, err := h.apply(step.op, step.object); err != nil || news != step.news {
			t.Errorf("step %d, %s: news %t, %v", i, step.op, news, err)
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		op     string
		object wire.Resource
	}{
		"type":   {"MOVED", jobAt("a", "5")},
		"name":   {wire.Added, jobAt("", "5")},
		"object": {wire.Added, wire.Job{Meta: wire.Meta{Name: "a"}, External: []byte("{")}},
		"slots":  {wire.Modified, wire.TestbedSlots{Meta: wire.Meta{Name: "a"}, Partial: true}},
	} {
		if _, err := newHub(1).apply(c.op, c.object); !errors.Is(err, errChange) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
