package server

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func cursors() []cursor {
	return []cursor{
		{},
		{hub: 1 << 63, scope: 1 << 31, kinds: 1<<0 | 1<<2 | 1<<3, place: 1<<64 - 1},
		{hub: 7, kinds: 1<<len(kinds) - 1, place: 128},
	}
}

func TestCursor(t *testing.T) {
	for _, want := range cursors() {
		text := want.encode()
		got, ok := decodeCursor(text)
		if !ok {
			t.Fatalf("%q is refused", text)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(cursor{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for i := range text { // any letter changed
			other := "A"
			if text[i] == 'A' {
				other = "B"
			}
			if _, ok := decodeCursor(text[:i] + other + text[i+1:]); ok {
				t.Errorf("%q is taken with letter %d changed", text, i)
			}
		}
		for _, bad := range []string{"", text[:len(text)-1], text + "A", text + "=", " " + text, text + "\n", strings.ToUpper(text)} {
			if _, ok := decodeCursor(bad); ok {
				t.Errorf("%q is taken", bad)
			}
		}
	}
}

// A cursor has one spelling.
func FuzzCursor(f *testing.F) {
	for _, c := range cursors() {
		f.Add(c.encode())
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := decodeCursor(text)
		if !ok {
			return
		}
		if got := c.encode(); got != text {
			t.Fatalf("%q is taken for %q", text, got)
		}
	})
}
