package text

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// terminalSize returns a function that returns the present columns and lines of the terminal out, or
// nil if out is not a terminal.
func terminalSize(out io.Writer) func() (width, height int) {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func() (width, height int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 || height <= 0 { // unknown, as of a serial line
			return 80, 24
		}
		return width, height
	}
}

// Screen shows frames in place and messages above them; where there is no
// terminal, messages alone. It is safe for concurrent use.
type Screen struct {
	out  io.Writer
	size func() (width, height int) // nil without a terminal

	mu    sync.Mutex
	drawn int // lines of the frame on the terminal
	live  bool
}

// NewScreen returns a screen that writes to out.
func NewScreen(out io.Writer) *Screen { return &Screen{out: out, size: terminalSize(out)} }

// Terminal reports whether frames are shown.
func (s *Screen) Terminal() bool { return s.size != nil }

// Control sequences of a terminal.
const (
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
	cursorUpFmt = "\x1b[%dA\r"
)

// Draw replaces the frame by the lines that render returns for a terminal of that size. What is wider
// or longer than the terminal is cut, so that the frame can be replaced again. Everything goes out in
// one write, so that a terminal never shows half of it. The error is that of the write. Without a
// terminal render is not called.
func (s *Screen) Draw(render func(width, height int) []string) error {
	if !s.Terminal() {
		return nil
	}
	width, height := s.size()
	// The cursor rests on the line below the frame.
	height = max(height-1, 1)
	lines := render(width, height)
	lines = lines[:min(len(lines), height)]
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	if !s.live {
		b.WriteString(hideCursor)
		s.live = true
	}
	s.home(&b)
	for _, line := range lines {
		b.WriteString(cut(Plain(line), width) + clearLine + "\n")
	}
	b.WriteString(clearBelow)
	s.drawn = len(lines)
	_, err := io.WriteString(s.out, b.String())
	return err
}

// home moves to the first line of the frame.
func (s *Screen) home(b *strings.Builder) {
	if s.drawn > 0 {
		fmt.Fprintf(b, cursorUpFmt, s.drawn)
	}
}

// Printf writes a line that stays, above the frame.
func (s *Screen) Printf(format string, args ...any) {
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

// Release leaves the frame where it is and shows the cursor again. It is called before the program
// ends, and may be followed by another Draw.
func (s *Screen) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		// This line may hold the echo of a Ctrl-C.
		_, _ = io.WriteString(s.out, "\r"+clearLine+showCursor)
		s.live, s.drawn = false, 0
	}
}
