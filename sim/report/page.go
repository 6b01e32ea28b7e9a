package report

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Page is a report being written: as Markdown with its pictures beside it, or as HTML that needs no
// other file. It is not safe for concurrent use.
type Page struct {
	b     strings.Builder
	html  bool
	title string
	files []pageFile
	err   error // the first of a picture
}

// pageFile is one with its name.
type pageFile struct {
	Name string
	Data []byte
}

// CheckPage reports whether NewPage takes the path; the error is a *field.Error.
func CheckPage(path string) error {
	if extension := filepath.Ext(path); extension != ".html" && extension != ".md" {
		return Refuse("path", path, "a file ending in .html or .md")
	}
	return nil
}

// NewPage returns a page for a file, by its ending .html or .md, with the title as
// its first heading.
func NewPage(path, title string) (*Page, error) {
	if err := CheckPage(path); err != nil {
		return nil, err
	}
	p := &Page{html: filepath.Ext(path) == ".html", title: title}
	p.Heading(1, title)
	return p, nil
}

// Heading adds a heading.
func (p *Page) Heading(level int, text string) {
	if p.html {
		fmt.Fprintf(&p.b, "<h%d>%s</h%d>\n", level, html.EscapeString(text), level)
		return
	}
	fmt.Fprintf(&p.b, "%s %s\n\n", strings.Repeat("#", level), text)
}

// Paragraph adds a paragraph.
func (p *Page) Paragraph(text string) {
	if p.html {
		fmt.Fprintf(&p.b, "<p>%s</p>\n", html.EscapeString(text))
		return
	}
	fmt.Fprintf(&p.b, "%s\n\n", text)
}

// Tables adds tables that have rows, below a heading if it is not empty and there are any.
func (p *Page) Tables(heading string, tables ...text.Table) {
	for _, t := range tables {
		if len(t.Rows) == 0 {
			continue
		}
		if heading != "" {
			p.Heading(2, heading)
			heading = ""
		}
		p.Table(t)
	}
}

// Table adds a table.
func (p *Page) Table(t text.Table) {
	if !p.html {
		fmt.Fprintf(&p.b, "%s:\n\n| %s |\n|%s\n", t.Title, cells(t.Header), strings.Repeat(" --- |", len(t.Header)))
		for _, row := range t.Rows {
			fmt.Fprintf(&p.b, "| %s |\n", cells(row))
		}
		p.b.WriteByte('\n')
		return
	}
	fmt.Fprintf(&p.b, "<table><caption>%s</caption>\n", html.EscapeString(t.Title))
	for i, row := range append([][]string{t.Header}, t.Rows...) {
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		p.b.WriteString("<tr>")
		for column, cell := range row {
			class := ""
			if column < len(t.Right) && t.Right[column] {
				class = ` class="n"`
			}
			fmt.Fprintf(&p.b, "<%s%s>%s</%s>", tag, class, html.EscapeString(cell), tag)
		}
		p.b.WriteString("</tr>\n")
	}
	p.b.WriteString("</table>\n")
}

// cells are those of a row in Markdown.
func cells(row []string) string {
	escaped := make([]string, len(row))
	for i, cell := range row {
		escaped[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	return strings.Join(escaped, " | ")
}

// Picture adds a chart as SVG: within HTML, beside Markdown as a file of that name. If it can't be
// drawn, Save returns the error.
func (p *Page) Picture(name, file, caption string, c Chart) {
	var svg bytes.Buffer
	if err := c.WriteSVG(&svg); err != nil && p.err == nil {
		p.err = fmt.Errorf("draw %s: %w", name, err)
	}
	if !p.html {
		fmt.Fprintf(&p.b, "![%s](%s)\n\n%s\n\n", name, file, caption)
		p.files = append(p.files, pageFile{file, svg.Bytes()})
		return
	}
	// Without the prolog that the SVG has as a file.
	_, within, _ := strings.Cut(svg.String(), "<svg")
	fmt.Fprintf(&p.b, "<figure><svg%s<figcaption>%s</figcaption></figure>\n", within, html.EscapeString(caption))
}

const style = `body{font:15px/1.5 sans-serif;max-width:90em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;font-size:13px;margin:1em 0;display:block;overflow-x:auto}
caption{text-align:left;font-weight:bold;padding:.3em 0}
td,th{border:1px solid #ccc;padding:.2em .6em;text-align:left;white-space:nowrap}
td.n,th.n{text-align:right}
figure{margin:1em 0}
svg{max-width:100%;height:auto}`

// Bytes is the page so far.
func (p *Page) Bytes() []byte {
	if p.html {
		return fmt.Appendf(nil, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title><style>%s</style></head><body>\n%s</body></html>\n",
			html.EscapeString(p.title), style, p.b.String())
	}
	return []byte(strings.TrimRight(p.b.String(), "\n") + "\n")
}

// Write writes the page so far. The error is that of a picture that could not be drawn, or w's.
func (p *Page) Write(w io.Writer) error {
	if p.err != nil {
		return p.err
	}
	_, err := w.Write(p.Bytes())
	return err
}

// Files are what belongs beside the page.
func (p *Page) Files() []pageFile { return p.files }

// Save writes the page to the path and its files beside it.
func (p *Page) Save(path string) error {
	if p.err != nil {
		return p.err
	}
	for _, f := range append(p.files, pageFile{filepath.Base(path), p.Bytes()}) {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), filepath.Base(f.Name)), f.Data, 0o644); err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
	}
	return nil
}
