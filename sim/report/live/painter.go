package live

import (
	"fmt"
	"slices"
	"strings"
)

// Control sequences of a terminal.
const (
	// enter goes to a screen of its own, without cursor and without breaking lines that
	// a terminal takes for longer than they were counted; leave comes back.
	enter     = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leave     = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
	clear     = "\x1b[0m\x1b[2J"
	clearRest = "\x1b[K"
	moveFmt   = "\x1b[%d;1H"
)

// styles are what begins them; normal ends each.
var styles = [...]string{styleNormal: "", styleBold: "\x1b[1m", styleReversed: "\x1b[7m"}

const normal = "\x1b[0m"

// painter holds what a terminal shows. The zero value holds nothing. It is for one
// goroutine.
type painter struct {
	shown []screenLine
	known bool
}

// paint returns what has to be written for a terminal to show the lines. Lines that it already shows
// are left out.
func (p *painter) paint(lines []screenLine) string {
	var b strings.Builder
	if !p.known || len(lines) != len(p.shown) {
		b.WriteString(clear)
		p.shown, p.known = make([]screenLine, len(lines)), true
	}
	for i, line := range lines {
		if line == p.shown[i] {
			continue
		}
		// Cleared before it is written: after a full line the cursor is on its last letter.
		fmt.Fprintf(&b, moveFmt, i+1)
		style := styles[line.style]
		b.WriteString(clearRest + style + line.text)
		if style != "" {
			b.WriteString(normal)
		}
	}
	p.shown = slices.Clone(lines)
	return b.String()
}

// forget has the next paint write all.
func (p *painter) forget() { p.known = false }
