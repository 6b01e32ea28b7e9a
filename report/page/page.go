// Package page writes reports of headings, paragraphs, tables and pictures, as
// Markdown or HTML, and tables as plain text.
package page

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// Page is a report being written.
type Page interface {
	Heading(level int, text string)
	Paragraph(text string)
	Table(t Table)
	Picture(p Picture)
	Bytes() []byte
}

// Table is a title and rows, the first of them the header.
type Table struct {
	Title string
	Rows  [][]string
}

// Picture is an SVG. HTML has it within the page, Markdown as the file beside it.
type Picture struct {
	Name, Caption, File string
	SVG                 []byte
}

// WriteAligned writes the rows in columns, as plain text.
func (t Table) WriteAligned(b *strings.Builder) {
	widths := make([]int, len(t.Rows[0]))
	for _, row := range t.Rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.Rows {
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		b.WriteByte('\n')
	}
}

// Markdown is a Page as Markdown. The zero value is empty.
type Markdown struct{ b strings.Builder }

// Heading implements Page.
func (m *Markdown) Heading(level int, text string) {
	fmt.Fprintf(&m.b, "%s %s\n\n", strings.Repeat("#", level), text)
}

// Paragraph implements Page.
func (m *Markdown) Paragraph(text string) { fmt.Fprintf(&m.b, "%s\n\n", text) }

// Table implements Page.
func (m *Markdown) Table(t Table) {
	fmt.Fprintf(&m.b, "%s:\n\n", t.Title)
	for i, row := range t.Rows {
		fmt.Fprintf(&m.b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&m.b, "|%s\n", strings.Repeat(" --- |", len(row)))
		}
	}
	m.b.WriteByte('\n')
}

// Picture implements Page.
func (m *Markdown) Picture(p Picture) {
	fmt.Fprintf(&m.b, "![%s](%s)\n\n%s\n\n", p.Name, p.File, p.Caption)
}

// Bytes implements Page.
func (m *Markdown) Bytes() []byte { return []byte(strings.TrimRight(m.b.String(), "\n") + "\n") }

// HTML is a Page as HTML.
type HTML struct {
	Title string
	b     strings.Builder
}

// Heading implements Page.
func (h *HTML) Heading(level int, text string) {
	fmt.Fprintf(&h.b, "<h%d>%s</h%d>\n", level, html.EscapeString(text), level)
}

// Paragraph implements Page.
func (h *HTML) Paragraph(text string) {
	fmt.Fprintf(&h.b, "<p>%s</p>\n", html.EscapeString(text))
}

// Table implements Page.
func (h *HTML) Table(t Table) {
	fmt.Fprintf(&h.b, "<table><caption>%s</caption>\n", html.EscapeString(t.Title))
	for i, row := range t.Rows {
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		h.b.WriteString("<tr>")
		for _, cell := range row {
			fmt.Fprintf(&h.b, "<%s>%s</%s>", tag, html.EscapeString(cell), tag)
		}
		h.b.WriteString("</tr>\n")
	}
	h.b.WriteString("</table>\n")
}

// Picture implements Page. It leaves out the prolog that the SVG has as a file.
func (h *HTML) Picture(p Picture) {
	svg := string(p.SVG)
	if i := strings.Index(svg, "<svg"); i > 0 {
		svg = svg[i:]
	}
	fmt.Fprintf(&h.b, "<figure>%s<figcaption>%s</figcaption></figure>\n", svg, html.EscapeString(p.Caption))
}

const style = `body{font:15px/1.5 sans-serif;max-width:72em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;font-size:13px;margin:1em 0;display:block;overflow-x:auto}
caption{text-align:left;font-weight:bold;padding:.3em 0}
td,th{border:1px solid #ccc;padding:.2em .6em;text-align:left;white-space:nowrap}
figure{margin:1em 0}`

// Bytes implements Page.
func (h *HTML) Bytes() []byte {
	return []byte("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + html.EscapeString(h.Title) +
		"</title><style>" + style + "</style></head><body>\n" + h.b.String() + "</body></html>\n")
}
