package figures

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/report/page"
)

// made is a figure with what it showed.
type made struct {
	Figure
	Result
}

// album are figures made.
type album []made

// row is a value of a figure.
type row struct {
	Figure  string  `json:"figure"`
	Verdict Verdict `json:"verdict"`
	Value
}

func (a album) rows() []row {
	rows := []row{}
	for _, m := range a {
		for _, v := range m.Values {
			rows = append(rows, row{m.ID, m.Verdict, v})
		}
	}
	return rows
}

func (a album) write(out io.Writer, format string) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", " ")
		return encoder.Encode(a.rows())
	case "csv":
		records := [][]string{{"figure", "verdict", "metric", "value", "unit"}}
		for _, r := range a.rows() {
			records = append(records, []string{r.Figure, string(r.Verdict), r.Name, exact(r.Value.Value), r.Unit})
		}
		return writeRecords(out, records)
	}
	var b strings.Builder
	a.table().WriteAligned(&b)
	_, err := io.WriteString(out, b.String())
	return err
}

// table has one line a figure.
func (a album) table() page.Table {
	t := page.Table{Title: "Which claims hold", Rows: [][]string{{"figure", "what", "claim", "data"}}}
	for _, m := range a {
		t.Rows = append(t.Rows, []string{m.ID, m.Title, string(m.Verdict), m.origin()})
	}
	return t
}

// origin is the first words of the source.
func (r Result) origin() string {
	before, _, _ := strings.Cut(r.Source, ":")
	return before
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// brief keeps more digits than a picture shows.
func brief(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func writeRecords(out io.Writer, records [][]string) error {
	if err := csv.NewWriter(out).WriteAll(records); err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	return nil
}

// points is the CSV of all that a figure shows.
func (r Result) points() ([]byte, error) {
	records := [][]string{{"panel", "series", "x", "y", "low", "high"}}
	for _, p := range r.Panels {
		for _, s := range p.Series {
			for _, point := range s.Points {
				low, high := "", ""
				if point.Low != 0 || point.High != 0 {
					low, high = brief(point.Low), brief(point.High)
				}
				records = append(records, []string{p.Title, s.Name, brief(point.X), brief(point.Y), low, high})
			}
		}
		for _, m := range p.Marks {
			records = append(records, []string{p.Title, m.Name, brief(m.X), "", "", ""})
		}
	}
	var b bytes.Buffer
	err := writeRecords(&b, records)
	return b.Bytes(), err
}

const about = `The thesis ("Hands at the Ready: Bringing Pronto to Kubernetes", L. Choteborsky, 2025) shows or announces these figures; most of them were left without data. Each is drawn anew here, with what the thesis claims of it and whether that holds. "Recording" is data of a real machine that is part of the repository, "simulator" is not: it shows what follows from the model of a node that the simulator has. Written by "spazio figures --out DIR".`

// draw fills the directory.
func (a album) draw(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	const title = "The figures of the thesis, drawn anew"
	markdown, html := &page.Markdown{}, &page.HTML{Title: title}
	files := map[string][]byte{}
	for _, p := range []page.Page{markdown, html} {
		p.Heading(1, title)
		p.Paragraph(about)
		p.Table(a.table())
	}
	for _, m := range a {
		svg, png, err := m.pictures()
		if err != nil {
			return fmt.Errorf("figure %s: %w", m.ID, err)
		}
		points, err := m.points()
		if err != nil {
			return fmt.Errorf("figure %s: %w", m.ID, err)
		}
		base := m.base()
		files[base+".svg"], files[base+".png"], files[base+".csv"] = svg, png, points
		for _, p := range []page.Page{markdown, html} {
			p.Heading(2, "Figure "+m.ID+": "+m.Title)
			p.Picture(page.Picture{Name: "figure " + m.ID, File: base + ".svg", SVG: svg, Caption: "Claim: " + m.Claim})
			p.Paragraph(fmt.Sprintf("Measured: %s", m.Measured))
			p.Paragraph(fmt.Sprintf("Verdict: the claim %s. Data: %s", m.Verdict, m.Source))
		}
	}
	files["README.md"], files["index.html"] = markdown.Bytes(), html.Bytes()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return fmt.Errorf("write the figures: %w", err)
		}
	}
	return nil
}

// base is the figure's name in file names.
func (f Figure) base() string {
	return "figure-" + strings.Map(func(r rune) rune {
		if r == ' ' || strings.ContainsRune(`/\:`, r) {
			return '-'
		}
		return r
	}, f.ID)
}
