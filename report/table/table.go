// Package table writes tables as text that fits a terminal, and as CSV.
package table

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Terminal is the width that text is written for unless somebody asks for more.
const Terminal = 120

// Table is a title, a header and rows. A row shorter than the header has empty
// cells at its end; further cells of a longer one are left out. It is a plain
// value: reading it concurrently is safe.
type Table struct {
	Title  string
	Header []string
	Rows   [][]string
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

const between = 2 // blanks between columns

// WriteText writes the title and the rows in columns, no line longer than width
// as far as that goes: the widest columns are made narrower, and their cells
// continue on the next line. A width of 0 is no bound.
func (t Table) WriteText(w io.Writer, width int) error {
	var b strings.Builder
	if t.Title != "" {
		for _, line := range wrap(t.Title, width) {
			b.WriteString(line + "\n")
		}
	}
	widths := t.fit(width)
	writeRow(&b, t.Header, widths)
	for _, row := range t.Rows {
		writeRow(&b, row, widths)
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

// Width is that of the widest line of the rows as text, unbounded.
func (t Table) Width() int { return total(t.fit(0)) }

func total(widths []int) int {
	sum := max(0, len(widths)-1) * between
	for _, w := range widths {
		sum += w
	}
	return sum
}

// fit returns the columns' widths.
func (t Table) fit(width int) []int {
	widths := make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		for i := range min(len(row), len(widths)) {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for over := total(widths) - width; width > 0 && over > 0; over = total(widths) - width {
		widest, second := 0, 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		for i, w := range widths {
			if i != widest {
				second = max(second, w)
			}
		}
		if widths[widest] == 1 {
			break
		}
		widths[widest] -= max(1, min(over, widths[widest]-second))
		widths[widest] = max(1, widths[widest])
	}
	return widths
}

func writeRow(b *strings.Builder, row []string, widths []int) {
	cells := make([][]string, len(widths))
	height := 1
	for i := range min(len(row), len(widths)) {
		cells[i] = wrap(row[i], widths[i])
		height = max(height, len(cells[i]))
	}
	for k := range height {
		var line strings.Builder
		for i, lines := range cells {
			text := ""
			if k < len(lines) {
				text = lines[k]
			}
			line.WriteString(text)
			line.WriteString(strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text))+between))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// wrap breaks a text into lines of at most width letters, at blanks or after one
// of /_, where there are any; a width of 0 is no bound.
func wrap(text string, width int) []string {
	var lines []string
	rest := []rune(text)
	for width > 0 && len(rest) > width {
		end := width
		for i := width; i > 0; i-- {
			if rest[i] == ' ' || strings.ContainsRune("/_,", rest[i-1]) {
				end = i
				break
			}
		}
		lines = append(lines, strings.TrimRight(string(rest[:end]), " "))
		rest = []rune(strings.TrimLeft(string(rest[end:]), " "))
	}
	return append(lines, string(rest))
}
