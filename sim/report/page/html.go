package page

import (
	"fmt"
	"html"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/report/table"
)

// HTML is a Page as HTML that needs no other file. The zero value is empty. It is
// not safe for concurrent use.
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
func (h *HTML) Table(t table.Table) {
	fmt.Fprintf(&h.b, "<table><caption>%s</caption>\n", html.EscapeString(t.Title))
	h.row("th", t.Header)
	for _, row := range t.Rows {
		h.row("td", row)
	}
	h.b.WriteString("</table>\n")
}

func (h *HTML) row(tag string, cells []string) {
	h.b.WriteString("<tr>")
	for _, cell := range cells {
		fmt.Fprintf(&h.b, "<%s>%s</%s>", tag, html.EscapeString(cell), tag)
	}
	h.b.WriteString("</tr>\n")
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
figure{margin:1em 0}
svg{max-width:100%;height:auto}`

// Bytes implements Page.
func (h *HTML) Bytes() []byte {
	return []byte("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + html.EscapeString(h.Title) +
		"</title><style>" + style + "</style></head><body>\n" + h.b.String() + "</body></html>\n")
}

// Files implements Page: none.
func (h *HTML) Files() []File { return nil }
