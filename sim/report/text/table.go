package text

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Terminal is the width in columns that text is written for by default.
const Terminal = 120

// Table is a title, a header and rows. A row shorter than the header has empty
// cells at its end; further cells of a longer one are left out. It is a plain
// value: reading it concurrently is safe.
type Table struct {
	Title  string
	Header []string
	Rows   [][]string
	// Right says of each column whether text is aligned to the right, as numbers
	// are; columns beyond its end are not.
	Right []bool
}

func (t Table) right(column int) bool { return column < len(t.Right) && t.Right[column] }

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Compact leaves out those of the columns of these names in which every row has the
// empty cell or none; others stay as they are.
func (t Table) Compact(empty string, names ...string) Table {
	kept := Table{Title: t.Title, Rows: make([][]string, len(t.Rows))}
	for i, name := range t.Header {
		says := func(row []string) bool { return i < len(row) && row[i] != empty }
		if slices.Contains(names, name) && !slices.ContainsFunc(t.Rows, says) {
			continue
		}
		kept.Header, kept.Right = append(kept.Header, name), append(kept.Right, t.right(i))
		for k, row := range t.Rows {
			if i < len(row) {
				kept.Rows[k] = append(kept.Rows[k], row[i])
			}
		}
	}
	return kept
}

// between is how many blanks are between columns.
const between = 2

// WriteText writes the title and the rows in columns, no line longer than width
// as far as that goes: the widest columns are made narrower, and their cells
// continue on the next line after a blank or one of text.Breaks; a name that is too
// long for that is shortened. A width of 0 is no bound. What would move a terminal's
// cursor is replaced, see text.Plain.
func (t Table) WriteText(w io.Writer, width int) error {
	var b strings.Builder
	if t.Title != "" {
		for line := range strings.SplitSeq(t.Title, "\n") {
			b.WriteString(strings.Join(Wrap(Plain(line), width), "\n") + "\n")
		}
	}
	widths := t.fit(width)
	t.writeRow(&b, t.Header, widths, true)
	for _, row := range t.Rows {
		t.writeRow(&b, row, widths, false)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteCSV writes the header and the rows.
func (t Table) WriteCSV(w io.Writer) error {
	if err := csv.NewWriter(w).WriteAll(append([][]string{t.Header}, t.Rows...)); err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	return nil
}

// SaveCSV writes the header and the rows to a file.
func (t Table) SaveCSV(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(t.WriteCSV(f), f.Close())
}

// Width is that of the widest line of the rows as text, unbounded.
func (t Table) Width() int { return total(t.fit(0)) }

func total(widths []int) int {
	sum := max(0, len(widths)-1) * between
	for _, w := range widths {
		sum += w
	}
	return sum
}

// leastName and leastWord are how wide the columns of words stay, the first while that is enough:
// so much of a shortened name mostly distinguishes nodes and pods.
const (
	leastName = 24
	leastWord = 8
)

// fit returns the columns' widths. Names of columns give way before the widest
// cells do, words do by lines that end after them, then names of nodes and the like by
// being shortened, and numbers last.
func (t Table) fit(width int) []int {
	widths, cells, parts := make([]int, len(t.Header)), make([]int, len(t.Header)), make([]int, len(t.Header))
	for i, name := range t.Header {
		for _, row := range t.Rows {
			if i < len(row) {
				cell := Plain(row[i])
				cells[i], parts[i] = max(cells[i], Width(cell)), max(parts[i], longestPart(cell))
			}
		}
		widths[i] = max(cells[i], Width(name))
		header := min(widths[i], longestPart(name))
		cells[i], parts[i] = max(cells[i], header), max(parts[i], header)
	}
	if width > 0 {
		narrow(widths, cells, width)
		narrow(widths, t.bounded(parts, leastName), width)
		narrow(widths, t.bounded(parts, leastWord), width)
		narrow(widths, slices.Repeat([]int{1}, len(widths)), width)
	}
	return widths
}

// bounded are the widths, of columns of words at most so many.
func (t Table) bounded(widths []int, most int) []int {
	bounded := slices.Clone(widths)
	for i := range bounded {
		if !t.right(i) {
			bounded[i] = min(bounded[i], most)
		}
	}
	return bounded
}

// narrow takes from the widest column that is above its least until all fit or
// none is.
func narrow(widths, least []int, width int) {
	for total(widths) > width {
		widest := -1
		for i, w := range widths {
			if w > least[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// longestPart is the width of the longest part that text.Wrap does not break.
func longestPart(cell string) int {
	longest, length := 0, 0
	for _, r := range cell {
		if r == ' ' {
			length = 0
			continue
		}
		length += runeWidth(r)
		longest = max(longest, length)
		if strings.ContainsRune(breaks, r) {
			length = 0
		}
	}
	return longest
}

// writeRow writes a row in lines. Words that are too long are shortened; no number is, which would be
// another one.
func (t Table) writeRow(b *strings.Builder, row []string, widths []int, header bool) {
	cells := make([][]string, len(widths))
	height := 1
	for i := range min(len(row), len(widths)) {
		cell := Plain(row[i])
		if header || !t.right(i) {
			cell = whole(cell, widths[i])
		}
		cells[i] = Wrap(cell, widths[i])
		height = max(height, len(cells[i]))
	}
	for k := range height {
		var line strings.Builder
		for i, lines := range cells {
			cell := ""
			if k < len(lines) {
				cell = lines[k]
			}
			line.WriteString(pad(cell, widths[i], t.right(i)) + strings.Repeat(" ", between))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
