package simulate

import (
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// page is a report being written, as Markdown or HTML.
type page interface {
	heading(level int, text string)
	paragraph(text string)
	table(t table)
	picture(p picture, file string)
	bytes() []byte
}

// writeReport writes the page that --report asks for; pictures stand within an
// HTML page, and in files of its name beside a Markdown page. fill writes into the
// page and returns the pictures by file name, which begins with base.
func (p *plan) writeReport(fill func(p page, base string) (map[string][]byte, error), stderr io.Writer) error {
	path := p.report
	if path == "" {
		return nil
	}
	var written page = &markdown{}
	if filepath.Ext(path) == ".html" {
		written = &hypertext{}
	}
	files, err := fill(written, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	if err != nil {
		return err
	}
	if _, inline := written.(*hypertext); inline {
		files = nil
	}
	for name, svg := range files {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), svg, 0o644); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	if err := os.WriteFile(path, written.bytes(), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	fmt.Fprintf(stderr, "report: %s\n", path)
	return nil
}

// provenance says which seeds and rows a report is of.
func provenance(seeds []uint64, heldOut bool, set []string) string {
	kind := "for tuning"
	if heldOut {
		kind = "held out from tuning"
	}
	text := fmt.Sprintf("%d seeds, %d to %d, and halves of traces, %s.", len(seeds), seeds[0], seeds[len(seeds)-1], kind)
	if len(set) > 0 {
		text += " Spazio with " + strings.Join(set, ", ") + "."
	}
	return text
}

const method = `Every figure is the mean over the seeds with its 95 % confidence interval (Student's t). Ratios are taken seed by seed, each against kube-scheduler's default on the same pods, and averaged geometrically. Goodput is the useful core-seconds per core-second from the first creation until no pod waits to run. Run time is from running to done, sojourn from creation to done; slowdown is run time over that alone on a node. The omniscient bound is one queue in front of all cores that knows each pod's work; no scheduler can reach it.`

// report fills the page and returns the pictures by file name.
func (r results) report(p page, base string) (map[string][]byte, error) {
	files := map[string][]byte{}
	p.heading(1, "Simulated schedulers compared")
	p.paragraph(provenance(r.seeds, r.cases[0].Params.HeldOut, r.set))
	p.paragraph(method)
	for _, e := range r.left {
		p.paragraph(fmt.Sprintf("%s is left out, for want of %s.", strings.ToUpper(e.Name), e.NeedsTrace))
	}
	if v := r.verdicts(); len(v.rows) > 1 {
		p.heading(2, "Which targets hold")
		p.table(v)
	}
	if l := r.losses(); len(l.rows) > 1 {
		p.heading(2, "What is lost")
		p.table(l)
	}
	seen := map[string]bool{}
	for _, c := range r.cases {
		e := c.Experiment
		if seen[e.Name] {
			continue
		}
		seen[e.Name] = true
		p.heading(2, strings.ToUpper(e.Name)+": "+e.Title)
		p.paragraph(e.Question)
		p.paragraph(fmt.Sprintf("%d nodes of %d cores.", c.Params.Nodes, c.Params.Cores))
		pictures, err := r.pictures(e.Name)
		if err != nil {
			return nil, err
		}
		for _, q := range pictures {
			file := fmt.Sprintf("%s-%s-%s.svg", base, e.Name, q.metric)
			files[file] = q.svg
			p.picture(q, file)
		}
		r.caseTables(p, e)
	}
	return files, nil
}

func (r results) caseTables(p page, e experiment.Experiment) {
	for _, c := range r.cases {
		if c.Experiment.Name != e.Name {
			continue
		}
		for _, t := range r.tablesOf(c.Label) {
			p.table(t)
		}
	}
}

type markdown struct{ b strings.Builder }

func (m *markdown) heading(level int, text string) {
	fmt.Fprintf(&m.b, "%s %s\n\n", strings.Repeat("#", level), text)
}

func (m *markdown) paragraph(text string) { fmt.Fprintf(&m.b, "%s\n\n", text) }

func (m *markdown) table(t table) {
	fmt.Fprintf(&m.b, "%s:\n\n", t.title)
	for i, row := range t.rows {
		fmt.Fprintf(&m.b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&m.b, "|%s\n", strings.Repeat(" --- |", len(row)))
		}
	}
	m.b.WriteByte('\n')
}

func (m *markdown) picture(p picture, file string) {
	fmt.Fprintf(&m.b, "![%s](%s)\n\n%s\n\n", p.metric, file, p.caption)
}

func (m *markdown) bytes() []byte { return []byte(m.b.String()) }

type hypertext struct{ b strings.Builder }

func (h *hypertext) heading(level int, text string) {
	fmt.Fprintf(&h.b, "<h%d>%s</h%d>\n", level, html.EscapeString(text), level)
}

func (h *hypertext) paragraph(text string) {
	fmt.Fprintf(&h.b, "<p>%s</p>\n", html.EscapeString(text))
}

func (h *hypertext) table(t table) {
	fmt.Fprintf(&h.b, "<table><caption>%s</caption>\n", html.EscapeString(t.title))
	for i, row := range t.rows {
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

// picture puts the SVG into the page without the prolog of a file of its own.
func (h *hypertext) picture(p picture, _ string) {
	svg := string(p.svg)
	if i := strings.Index(svg, "<svg"); i > 0 {
		svg = svg[i:]
	}
	fmt.Fprintf(&h.b, "<figure>%s<figcaption>%s</figcaption></figure>\n", svg, html.EscapeString(p.caption))
}

const style = `body{font:15px/1.5 sans-serif;max-width:72em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;font-size:13px;margin:1em 0;display:block;overflow-x:auto}
caption{text-align:left;font-weight:bold;padding:.3em 0}
td,th{border:1px solid #ccc;padding:.2em .6em;text-align:left;white-space:nowrap}
figure{margin:1em 0}`

func (h *hypertext) bytes() []byte {
	return []byte("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Simulated schedulers compared</title><style>" +
		style + "</style></head><body>\n" + h.b.String() + "</body></html>\n")
}
