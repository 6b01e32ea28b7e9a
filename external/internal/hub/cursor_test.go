package hub

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func cursors() []cursor {
	many := cursor{filter: 1, kinds: 1 << slotsRank}
	for i := range maxMarks {
		many.marks = append(many.marks, mark{object: uint64(i), hash: uint64(i) << 40, version: uint64(i) << 50})
	}
	return []cursor{
		{},
		{filter: 1 << 31, kinds: 1<<0 | 1<<2 | 1<<3, versions: [4]uint64{1, 0, 1<<64 - 1, 128}},
		{kinds: 1<<2 | lostSlots, versions: [4]uint64{0, 0, 7, 0}},
		many,
	}
}

func TestCursor(t *testing.T) {
	for _, want := range cursors() {
		text := want.encode()
		got, err := decodeCursor(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(cursor{}, mark{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for i := range min(len(text), 60) { // any letter changed
			other := "A"
			if text[i] == 'A' {
				other = "B"
			}
			if _, err := decodeCursor(text[:i] + other + text[i+1:]); err == nil {
				t.Errorf("%q is taken with letter %d changed", text, i)
			}
		}
		for _, bad := range []string{text[:len(text)-1], text + "A", text + "=", " " + text, strings.ToLower(text)} {
			if _, err := decodeCursor(bad); err == nil {
				t.Errorf("%q is taken", bad)
			}
		}
	}
	tooMany := cursors()[3]
	tooMany.marks = append(tooMany.marks, mark{object: 1 << 60})
	unsorted := cursor{kinds: 1 << slotsRank, marks: []mark{{object: 2}, {object: 1}}}
	unknown := cursor{kinds: 1 << 5}
	for name, c := range map[string]cursor{"too many": tooMany, "unsorted": unsorted, "unknown kind": unknown} {
		if _, err := decodeCursor(c.encode()); err == nil {
			t.Errorf("%s: is taken", name)
		}
	}
}

// A cursor has one spelling, and a version byte of its own.
func FuzzCursor(f *testing.F) {
	for _, c := range cursors() {
		f.Add(c.encode())
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := decodeCursor(text)
		if err != nil {
			return
		}
		if got := c.encode(); got != text {
			t.Fatalf("%q is taken for %q", text, got)
		}
	})
}
