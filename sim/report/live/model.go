package live

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Frame is what is shown at one moment. A plain value.
type Frame struct {
	// Head are lines above the table.
	Head []string
	// Sheets are the tables, one of which is shown at a time. Their number and columns
	// may change.
	Sheets []Sheet
}

// Sheet is a table and what it is called. A row is known by its first cell.
type Sheet struct {
	Name string
	text.Table
}

// action is what the owner of a model does after a key.
type action int

// The actions.
const (
	// actionNone only draws.
	actionNone action = iota
	// actionQuit ends the view.
	actionQuit
	// actionLook asks for the detail of the row that opened returns.
	actionLook
	// actionRedraw writes all lines, whatever the terminal shows.
	actionRedraw
	// actionStop stops the process until it is continued.
	actionStop
)

// model is the state of a view. The zero value has no data and no size. It is for one
// goroutine.
type model struct {
	width, height int
	frame         Frame
	// shown is when the frame came, zero before the first; away is since when none
	// does, and why.
	shown, awaySince time.Time
	away             error

	sheet  int
	places []place
	// detail is what is shown in the table's place.
	detail *detail
}

// place is where a reader is in a table.
type place struct {
	// column is that of the order, −1 for the order in which rows came.
	column   int
	reversed bool
	filter   string
	typing   bool
	// held is the row that is kept, by its name, if holds says so; its line in the window
	// is kept, too, as far as there are rows.
	holds bool
	held  string
	// at is the index of the row that is held, top that of the first one that is shown.
	at, top int
	// rows are those that pass the filter, in order.
	rows [][]string
	// widths are the columns' so far, which don't shrink: the eye keeps its place, too.
	header []string
	widths []int
}

// detail is a row that has been opened.
type detail struct {
	sheet int
	row   string
	lines []string
	top   int
}

// resize sets the terminal's size.
func (m *model) resize(width, height int) {
	m.width, m.height = max(width, 0), max(height, 0)
	m.settle()
}

// show takes data that came at a time.
func (m *model) show(f Frame, at time.Time) {
	m.frame, m.shown, m.away = f, at, nil
	for len(m.places) < len(f.Sheets) {
		m.places = append(m.places, place{column: -1})
	}
	m.sheet = max(min(m.sheet, len(f.Sheets)-1), 0)
	for i := range f.Sheets {
		m.places[i].arrange(f.Sheets[i].Table)
	}
	m.settle()
}

// setAway records that Ask failed at a time. The last frame stays.
func (m *model) setAway(err error, at time.Time) {
	if m.away == nil {
		m.awaySince = at
	}
	m.away = err
}

// opened is the row whose detail is shown, if one is.
func (m *model) opened() (sheet int, row string, ok bool) {
	if m.detail == nil {
		return 0, "", false
	}
	return m.detail.sheet, m.detail.row, true
}

// setDetail takes the detail of a row, which is left out if that is no longer open.
func (m *model) setDetail(sheet int, row, words string) {
	if d := m.detail; d != nil && d.sheet == sheet && d.row == row {
		d.lines = strings.Split(strings.TrimRight(words, "\n"), "\n")
		m.settle()
	}
}

// press takes a key.
func (m *model) press(k key) action {
	switch k {
	case keyInterrupt:
		return actionQuit
	case keySuspend:
		return actionStop
	case keyRepaint:
		return actionRedraw
	}
	p := m.place()
	switch {
	case p != nil && p.typing:
		m.typed(p, k)
	case k == 'q':
		return actionQuit
	case m.detail != nil:
		m.read(k)
	case p == nil:
	case k == keyEnter:
		return m.open(p)
	default:
		m.move(p, k)
	}
	m.settle()
	return actionNone
}

// place is that of the table shown, nil before there is any.
func (m *model) place() *place {
	if m.sheet >= len(m.frame.Sheets) {
		return nil
	}
	return &m.places[m.sheet]
}

func (m *model) open(p *place) action {
	if len(p.rows) == 0 {
		return actionNone
	}
	p.hold(p.selected())
	m.detail = &detail{sheet: m.sheet, row: p.held}
	m.settle()
	return actionLook
}

// read takes a key while a detail is shown.
func (m *model) read(k key) {
	d := m.detail
	switch k {
	case keyEscape, keyEnter, keyBackspace, keyLeft:
		m.detail = nil
	case keyHome, 'g':
		d.top = 0
	case keyEnd, 'G':
		d.top = len(d.lines)
	default:
		d.top += steps(k, m.page())
	}
}

// steps is by how many lines a key moves, 0 for one that doesn't.
func steps(k key, page int) int {
	switch k {
	case keyUp, 'k':
		return -1
	case keyDown, 'j':
		return 1
	case keyPageUp, 'b':
		return -page
	case keyPageDown, ' ':
		return page
	}
	return 0
}

// move takes a key while a table is shown.
func (m *model) move(p *place, k key) {
	t := m.frame.Sheets[m.sheet].Table
	switch k {
	case keyHome, 'g':
		p.hold(0)
	case keyEnd, 'G':
		p.hold(len(p.rows) - 1)
	case keyEscape:
		p.release(t)
	case keyLeft, '<':
		p.sort(t, p.column-1)
	case keyRight, '>':
		p.sort(t, p.column+1)
	case 'r':
		p.reversed = !p.reversed
		p.arrange(t)
	case '/':
		p.typing = true
	case keyTab:
		m.sheet = (m.sheet + 1) % len(m.frame.Sheets)
	default:
		p.step(steps(k, m.page()))
	}
}

// step holds the row so many further; from nowhere, the first that is shown.
func (p *place) step(by int) {
	switch {
	case by == 0:
	case !p.holds && (by == 1 || by == -1):
		p.hold(p.top)
	default:
		p.hold(p.selected() + by)
	}
}

// selected is the index of the row that a key is about.
func (p *place) selected() int {
	if p.holds {
		return p.at
	}
	return p.top
}

// hold keeps the row at an index, or the nearest there is.
func (p *place) hold(at int) {
	if len(p.rows) == 0 {
		return
	}
	p.at = max(min(at, len(p.rows)-1), 0)
	p.holds, p.held = true, name(p.rows[p.at])
}

// release forgets the filter, else the row that is held.
func (p *place) release(t text.Table) {
	if p.filter != "" {
		p.filter = ""
		p.arrange(t)
		return
	}
	p.holds, p.at, p.top = false, 0, 0
}

// sort orders by another column, between the order in which rows came and the last one.
func (p *place) sort(t text.Table, column int) {
	p.column, p.reversed = max(min(column, len(t.Header)-1), -1), false
	p.arrange(t)
}

// typed takes a key of a filter.
func (m *model) typed(p *place, k key) {
	switch {
	case k == keyEnter:
		p.typing = false
	case k == keyEscape:
		p.typing, p.filter = false, ""
	case k == keyBackspace && p.filter == "":
		p.typing = false
	case k == keyBackspace:
		_, n := utf8.DecodeLastRuneInString(p.filter)
		p.filter = p.filter[:len(p.filter)-n]
	case k > 0 && len(p.filter) < longestFilter:
		p.filter += string(rune(k))
	}
	p.arrange(m.frame.Sheets[m.sheet].Table)
}

// longestFilter is about that of a name.
const longestFilter = 256

// arrange makes the rows anew. The row that is held stays on its line; one that is gone
// leaves its place to the next.
func (p *place) arrange(t text.Table) {
	p.rows = p.pass(t.Rows)
	p.widen(t)
	if p.column >= len(t.Header) {
		p.column = -1
	}
	switch {
	case p.column >= 0:
		p.rows = sorted(p.rows, orderBy(t, p.column, p.reversed))
	case p.reversed:
		slices.Reverse(p.rows)
	}
	if !p.holds {
		return
	}
	line := p.at - p.top
	if at := slices.IndexFunc(p.rows, func(row []string) bool { return name(row) == p.held }); at >= 0 {
		p.at = at
	} else {
		p.hold(p.at)
	}
	p.top = p.at - line
}

// pass returns the rows that the filter lets through, in a slice of its own.
func (p *place) pass(all [][]string) [][]string {
	wanted := strings.ToLower(p.filter)
	return slices.DeleteFunc(slices.Clone(all), func(row []string) bool {
		return wanted != "" && !slices.ContainsFunc(row, func(cell string) bool { return strings.Contains(strings.ToLower(cell), wanted) })
	})
}

// sorted orders rows, those alike by name.
func sorted(rows [][]string, o order) [][]string {
	type ranked struct {
		row  []string
		rank rank
	}
	all := make([]ranked, len(rows))
	for i, row := range rows {
		all[i] = ranked{row, o.rank(row)}
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		if c := o.compare(a.rank, b.rank); c != 0 {
			return c
		}
		return strings.Compare(name(a.row), name(b.row))
	})
	for i := range all {
		rows[i] = all[i].row
	}
	return rows
}

func name(row []string) string {
	if len(row) == 0 {
		return ""
	}
	return row[0]
}

// settle keeps windows within what there is, and the row that is held in its window.
func (m *model) settle() {
	page := m.page()
	if d := m.detail; d != nil {
		d.top = max(min(d.top, len(m.detailLines())-page), 0)
	}
	for i := range m.places {
		p := &m.places[i]
		if p.holds {
			p.at = max(min(p.at, len(p.rows)-1), 0)
			p.top = max(min(p.top, p.at), p.at-page+1)
		}
		p.top = max(min(p.top, len(p.rows)-page), 0)
	}
}
