package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Style is how a line looks.
type lineStyle int

// The styles: as the terminal writes, bold, and with the colours exchanged.
const (
	styleNormal lineStyle = iota
	styleBold
	styleReversed
)

// screenLine is one of a screen. A plain value.
type screenLine struct {
	text  string
	style lineStyle
}

const (
	// headMost bounds what is above the table, and so leaves room for it.
	headMost = 3
	clock    = "15:04:05"
)

// lines are the screen, as many as it is high and none wider than it.
func (m *model) lines() []screenLine {
	lines := m.above()
	page := m.page()
	body := m.rows(page)
	if m.detail != nil {
		body = m.detailWindow(page)
	}
	for len(body) < page {
		body = append(body, screenLine{})
	}
	lines = append(append(lines, body...), screenLine{m.below(), styleBold})
	if len(lines) > m.height {
		lines = lines[:m.height]
	}
	for i := range lines {
		lines[i].text = text.Cut(text.Plain(lines[i].text), m.width)
		if lines[i].style == styleReversed {
			lines[i].text = text.Pad(lines[i].text, m.width, false)
		}
	}
	return lines
}

// page is the number of lines for rows.
func (m *model) page() int { return max(m.height-len(m.above())-1, 1) }

// above are the lines above the rows.
func (m *model) above() []screenLine {
	var lines []screenLine
	head := slices.Clone(m.frame.Head)
	if p := m.place(); p != nil && m.frame.Sheets[m.sheet].Title != "" {
		head = append(head, strings.Split(strings.Trim(m.frame.Sheets[m.sheet].Title, "\n"), "\n")...)
	}
	for _, words := range head[:min(len(head), headMost)] {
		lines = append(lines, screenLine{text: words})
	}
	lines = append(lines, m.state())
	if p := m.place(); p != nil && m.detail == nil {
		lines = append(lines, screenLine{p.headline(m.width, m.frame.Sheets[m.sheet].Table), styleBold})
	}
	return lines
}

// state returns the line with the age of the frame and the part of it that is shown.
func (m *model) state() screenLine {
	switch {
	case m.away != nil && m.shown.IsZero():
		return screenLine{fmt.Sprintf("no answer since %s: %v", m.awaySince.Format(clock), m.away), styleBold}
	case m.away != nil:
		return screenLine{fmt.Sprintf("as of %s; no answer since %s: %v", m.shown.Format(clock), m.awaySince.Format(clock), m.away), styleBold}
	case m.shown.IsZero():
		return screenLine{text: "asking …"}
	}
	parts := []string{m.shown.Format(clock)}
	if m.detail != nil {
		return screenLine{text: strings.Join(append(parts, m.detail.row), "  ")}
	}
	if len(m.frame.Sheets) > 1 {
		for i, s := range m.frame.Sheets {
			name := s.Name
			if i == m.sheet {
				name = "[" + name + "]"
			}
			parts = append(parts, name)
		}
	}
	if p := m.place(); p != nil {
		parts = append(parts, fmt.Sprintf("from %d of %s", min(p.top+1, len(p.rows)), text.Count(len(p.rows), "row")))
		if p.filter != "" && !p.typing {
			parts = append(parts, "with "+p.filter)
		}
	}
	return screenLine{text: strings.Join(parts, "  ")}
}

// below is the last line.
func (m *model) below() string {
	p := m.place()
	switch {
	case p != nil && p.typing:
		return "rows with: " + p.filter + "_   Enter keeps it, Esc forgets it"
	case m.detail != nil:
		return "↑↓ PgUp PgDn move   Esc back   q quit"
	case len(m.frame.Sheets) > 1:
		return "↑↓ row   Enter detail   ←→ column to sort by, r reverse   / filter   Tab table   Esc let go   q quit"
	}
	return "↑↓ row   Enter detail   ←→ column to sort by, r reverse   / filter   Esc let go   q quit"
}

// widen makes the columns as wide as their cells.
func (p *place) widen(t text.Table) {
	if !slices.Equal(p.header, t.Header) {
		p.header, p.widths = t.Header, make([]int, len(t.Header))
	}
	for i, name := range t.Header {
		p.widths[i] = max(p.widths[i], text.Width(name))
	}
	for _, row := range t.Rows {
		for i := range min(len(row), len(p.widths)) {
			p.widths[i] = max(p.widths[i], text.Width(text.Plain(row[i])))
		}
	}
}

// narrowest is as narrow as a column is made so that more are seen.
const narrowest = 8

// fit returns the columns' widths on a screen: the widest give way, the name only beyond a
// third of it.
func (p *place) fit(width int) []int {
	widths, least := slices.Clone(p.widths), slices.Repeat([]int{narrowest}, len(p.widths))
	if len(least) > 0 {
		least[0] = max(narrowest, width/3)
	}
	text.Narrow(widths, least, width)
	return widths
}

// headline is that of the columns, the one that is the order's marked.
func (p *place) headline(width int, t text.Table) string {
	var b strings.Builder
	for i, w := range p.fit(width) {
		mark := ""
		if i == p.column {
			mark = "▲"
			if orderBy(t, i, p.reversed).falling() {
				mark = "▼"
			}
		}
		name, right := text.Shorten(t.Header[i], w), i < len(t.Right) && t.Right[i]
		if right {
			b.WriteString(text.Pad(name, w, true) + text.Pad(mark, text.Between, false))
			continue
		}
		b.WriteString(text.Pad(name+mark, w+text.Between, false))
	}
	return strings.TrimRight(b.String(), " ")
}

// rows are those in the window.
func (m *model) rows(page int) []screenLine {
	p := m.place()
	if p == nil {
		return nil
	}
	var lines []screenLine
	widths, right := p.fit(m.width), m.frame.Sheets[m.sheet].Right
	for i := p.top; i < min(p.top+page, len(p.rows)); i++ {
		style := styleNormal
		if p.holds && i == p.at {
			style = styleReversed
		}
		lines = append(lines, screenLine{rowText(p.rows[i], widths, right), style})
	}
	return lines
}

func rowText(row []string, widths []int, right []bool) string {
	var b strings.Builder
	for i, w := range widths {
		cell := ""
		if i < len(row) {
			cell = text.Shorten(text.Plain(row[i]), w)
		}
		b.WriteString(text.Pad(cell, w, i < len(right) && right[i]) + strings.Repeat(" ", text.Between))
	}
	return strings.TrimRight(b.String(), " ")
}

// detailLines are those of the detail, broken where the screen ends.
func (m *model) detailLines() []string {
	if m.detail.lines == nil {
		return []string{"asking …"}
	}
	var lines []string
	for _, line := range m.detail.lines {
		lines = append(lines, text.Wrap(text.Plain(line), m.width)...)
	}
	return lines
}

func (m *model) detailWindow(page int) []screenLine {
	all := m.detailLines()
	from := min(m.detail.top, len(all))
	var lines []screenLine
	for _, line := range all[from:min(from+page, len(all))] {
		lines = append(lines, screenLine{text: line})
	}
	return lines
}
