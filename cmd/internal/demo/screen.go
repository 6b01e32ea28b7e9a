package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// screen shows frames in place on a terminal and messages above them. Elsewhere
// it shows messages alone. It is safe for concurrent use.
type screen struct {
	out io.Writer
	fd  int // of the terminal, or -1

	mu    sync.Mutex
	drawn int // lines of the frame on the terminal
	live  bool
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out, fd: -1}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.fd = int(f.Fd())
	}
	return s
}

// terminal says whether frames are shown.
func (s *screen) terminal() bool { return s.fd >= 0 }

// Control sequences of a terminal.
const (
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
	cursorUpFmt = "\x1b[%dA\r"
)

// draw replaces the frame. Everything goes out in one write: a terminal shows no
// half of it.
func (s *screen) draw(f Frame) {
	if !s.terminal() {
		return
	}
	width, height, err := term.GetSize(s.fd)
	if err != nil {
		width, height = 80, 24
	}
	// The cursor rests on the line below the frame.
	lines := f.Lines(width, height-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	if !s.live {
		b.WriteString(hideCursor)
		s.live = true
	}
	s.home(&b)
	for _, line := range lines {
		b.WriteString(line + clearLine + "\n")
	}
	b.WriteString(clearBelow)
	s.drawn = len(lines)
	_, _ = io.WriteString(s.out, b.String())
}

// home moves to the first line of the frame.
func (s *screen) home(b *strings.Builder) {
	if s.drawn > 0 {
		fmt.Fprintf(b, cursorUpFmt, s.drawn)
	}
}

// printf writes a line that stays, above the frame.
func (s *screen) printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	if s.live {
		s.home(&b)
		b.WriteString(clearBelow)
		s.drawn = 0
	}
	fmt.Fprintf(&b, format+"\n", args...)
	_, _ = io.WriteString(s.out, b.String())
}

// release leaves the frame where it is and gives the cursor back.
func (s *screen) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		// What a terminal echoed of a Ctrl-C stands on this line.
		_, _ = io.WriteString(s.out, "\r"+clearLine+showCursor)
		s.live, s.drawn = false, 0
	}
}
