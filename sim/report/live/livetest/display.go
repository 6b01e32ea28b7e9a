// Package livetest is a terminal for tests: a Display understands what a view of package
// live sends, and a Terminal is a real one of the kernel, with a Display on it.
package livetest

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Display keeps what a terminal shows that is sent text, cursor movements, colours,
// clearing, and changes to a screen of its own and back. It is for one goroutine.
type Display struct {
	width, height int
	cells         [][]cell
	row, column   int
	style         string
	rest          []byte

	// Alternate is set while the alternate screen is shown, Hidden while the cursor is not.
	Alternate, Hidden bool
	// Wraps is set while a line that is too long continues in the next.
	Wraps bool
	// Unknown are sequences that it does not understand.
	Unknown []string
}

type cell struct{ text, style string }

// covered is the text of a cell that a wide letter before it covers.
const covered = "\x00"

// NewDisplay returns an empty one.
func NewDisplay(width, height int) *Display {
	d := &Display{Wraps: true}
	d.Resize(width, height)
	return d
}

// Resize empties it.
func (d *Display) Resize(width, height int) {
	d.width, d.height, d.row, d.column = width, height, 0, 0
	d.cells = make([][]cell, height)
	for i := range d.cells {
		d.cells[i] = make([]cell, width)
	}
}

// Write takes what a terminal is sent.
func (d *Display) Write(p []byte) (int, error) {
	d.rest = append(d.rest, p...)
	for len(d.rest) > 0 {
		n := d.next()
		if n == 0 {
			break
		}
		d.rest = d.rest[n:]
	}
	return len(p), nil
}

// next takes the first letter or sequence, or returns 0 if that is not complete.
func (d *Display) next() int {
	switch b := d.rest[0]; {
	case b == 0x1b:
		end := strings.IndexFunc(string(d.rest[min(2, len(d.rest)):]), func(r rune) bool { return r >= '@' && r <= '~' })
		if end < 0 {
			return 0
		}
		d.sequence(string(d.rest[1 : end+3]))
		return end + 3
	case b == '\r':
		d.column = 0
		return 1
	case b == '\n':
		d.row = min(d.row+1, d.height-1)
		return 1
	case b < ' ':
		d.Unknown = append(d.Unknown, strconv.Quote(string(rune(b))))
		return 1
	case !utf8.FullRune(d.rest):
		return 0
	}
	r, n := utf8.DecodeRune(d.rest)
	d.put(r)
	return n
}

func (d *Display) put(r rune) {
	w := text.RuneWidth(r)
	if w == 0 {
		if d.column > 0 {
			d.cells[d.row][d.column-1].text += string(r)
		}
		return
	}
	if d.column+w > d.width {
		if !d.Wraps {
			return
		}
		d.row, d.column = min(d.row+1, d.height-1), 0
	}
	d.cells[d.row][d.column] = cell{string(r), d.style}
	for i := 1; i < w; i++ {
		d.cells[d.row][d.column+i] = cell{covered, d.style}
	}
	d.column += w
}

func (d *Display) sequence(s string) {
	switch {
	case s == "[?1049h" || s == "[?1049l":
		d.Alternate = s[6] == 'h'
		d.Resize(d.width, d.height)
	case s == "[?25l" || s == "[?25h":
		d.Hidden = s[4] == 'l'
	case s == "[?7l" || s == "[?7h":
		d.Wraps = s[3] == 'h'
	case s == "[2J":
		row, column := d.row, d.column
		d.Resize(d.width, d.height)
		d.row, d.column = row, column
	case s == "[K":
		clear(d.cells[d.row][min(d.column, d.width-1):])
	case strings.HasSuffix(s, "m"):
		if d.style = s; s == "[0m" {
			d.style = ""
		}
	case strings.HasSuffix(s, "H"):
		row, column, _ := strings.Cut(s[1:len(s)-1], ";")
		d.row, d.column = place(row, d.height), place(column, d.width)
	default:
		d.Unknown = append(d.Unknown, strconv.Quote(s))
	}
}

// place is an index of one that is counted from 1.
func place(number string, most int) int {
	n, _ := strconv.Atoi(number)
	return max(min(n, most), 1) - 1
}

// Lines are what is shown, without blanks at the ends of lines; those that are bold begin
// with *, those with the colours exchanged with >.
func (d *Display) Lines() []string {
	var lines []string
	for _, row := range d.cells {
		line, style := "", ""
		for k, c := range row {
			if k == 0 {
				style = c.style
			}
			switch c.text {
			case "":
				line += " "
			case covered:
			default:
				line += c.text
			}
		}
		mark := map[string]string{"[1m": "*", "[7m": ">"}[style]
		lines = append(lines, mark+strings.TrimRight(line, " "))
	}
	return lines
}

// Text is all lines, each ended.
func (d *Display) Text() string { return strings.Join(d.Lines(), "\n") + "\n" }
