package text

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func frame(lines ...string) func(width, height int) []string {
	return func(int, int) []string { return lines }
}

// A frame is drawn over the last one, messages above it, and the cursor is back at
// the end.
func TestFrames(t *testing.T) {
	var out strings.Builder
	s := &Screen{out: &out, size: func() (int, int) { return 4, 4 }}
	said := func(want string) {
		t.Helper()
		if got := out.String(); got != want {
			t.Errorf("wrote %q, want %q", got, want)
		}
		out.Reset()
	}
	draw := func(lines ...string) {
		t.Helper()
		if err := s.Draw(frame(lines...)); err != nil {
			t.Error(err)
		}
	}
	s.Printf("ready after %d s", 1)
	said("ready after 1 s\n")
	draw("one", "zwölf", "three", "four")
	said("\x1b[?25lone\x1b[K\nzwöl\x1b[K\nthre\x1b[K\n\x1b[J")
	draw("new")
	said("\x1b[3A\rnew\x1b[K\n\x1b[J")
	s.Printf("a word")
	said("\x1b[1A\r\x1b[Ja word\n")
	draw("new")
	said("new\x1b[K\n\x1b[J")
	s.Release()
	said("\r\x1b[K\x1b[?25h")
	s.Release()
	said("")
	s.Printf("after")
	said("after\n")
}

func TestNoTerminal(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out)
	if err := s.Draw(func(int, int) []string { t.Error("a frame was asked for"); return nil }); err != nil {
		t.Error(err)
	}
	s.Printf("%s", "a word")
	s.Release()
	if s.Terminal() || out.String() != "a word\n" {
		t.Errorf("wrote %q", out.String())
	}
}

// A terminal that is gone cannot be drawn on.
func TestTerminalGone(t *testing.T) {
	r, w := io.Pipe()
	gone := errors.New("gone")
	_ = r.CloseWithError(gone) // it never fails
	s := &Screen{out: w, size: func() (int, int) { return 4, 4 }}
	if err := s.Draw(frame("one")); !errors.Is(err, gone) {
		t.Errorf("got error %v, want %v", err, gone)
	}
}
