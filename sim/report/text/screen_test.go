package text

import (
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
	s.Printf("ready after %d s", 1)
	said("ready after 1 s\n")
	s.Draw(frame("one", "zwölf", "three", "four"))
	said("\x1b[?25lone\x1b[K\nzwöl\x1b[K\nthre\x1b[K\n\x1b[J")
	s.Draw(frame("new"))
	said("\x1b[3A\rnew\x1b[K\n\x1b[J")
	s.Printf("a word")
	said("\x1b[1A\r\x1b[Ja word\n")
	s.Draw(frame("new"))
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
	s.Draw(func(int, int) []string { t.Error("a frame was asked for"); return nil })
	s.Printf("%s", "a word")
	s.Release()
	if s.Terminal() || out.String() != "a word\n" {
		t.Errorf("wrote %q", out.String())
	}
}
