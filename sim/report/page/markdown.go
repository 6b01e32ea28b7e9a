package page

import (
	"fmt"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/report/table"
)

// Markdown is a Page as Markdown. The zero value is empty. It is not safe for
// concurrent use.
type Markdown struct {
	b     strings.Builder
	files []File
}

// Heading implements Page.
func (m *Markdown) Heading(level int, text string) {
	fmt.Fprintf(&m.b, "%s %s\n\n", strings.Repeat("#", level), text)
}

// Paragraph implements Page.
func (m *Markdown) Paragraph(text string) { fmt.Fprintf(&m.b, "%s\n\n", text) }

// Table implements Page.
func (m *Markdown) Table(t table.Table) {
	fmt.Fprintf(&m.b, "%s:\n\n", t.Title)
	m.row(t.Header)
	fmt.Fprintf(&m.b, "|%s\n", strings.Repeat(" --- |", len(t.Header)))
	for _, row := range t.Rows {
		m.row(row)
	}
	m.b.WriteByte('\n')
}

func (m *Markdown) row(cells []string) {
	escaped := make([]string, len(cells))
	for i, cell := range cells {
		escaped[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	fmt.Fprintf(&m.b, "| %s |\n", strings.Join(escaped, " | "))
}

// Picture implements Page.
func (m *Markdown) Picture(p Picture) {
	fmt.Fprintf(&m.b, "![%s](%s)\n\n%s\n\n", p.Name, p.File, p.Caption)
	m.files = append(m.files, File{p.File, p.SVG})
}

// Bytes implements Page.
func (m *Markdown) Bytes() []byte { return []byte(strings.TrimRight(m.b.String(), "\n") + "\n") }

// Files implements Page: the pictures.
func (m *Markdown) Files() []File { return m.files }
