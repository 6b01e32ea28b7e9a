package figures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// made is a figure with what it showed.
type made struct {
	Figure
	outcome
}

// Album are figures made. It is a plain value, safe for concurrent reading.
type Album []made

// Make makes the figures in order. The error is that of a figure, with its ID.
func Make(ctx context.Context, chosen []Figure, seed uint64) (Album, error) {
	var album Album
	for _, f := range chosen {
		result, err := f.make(ctx, seed)
		if err != nil {
			return nil, fmt.Errorf("figure %s: %w", f.ID, err)
		}
		album = append(album, made{f, result})
	}
	return album, nil
}

// row is a value of a figure.
type row struct {
	Figure  string  `json:"figure"`
	Verdict verdict `json:"verdict"`
	value
}

// Rows are the values of all figures.
func (a Album) Rows() []row {
	rows := []row{}
	for _, m := range a {
		for _, v := range m.values {
			rows = append(rows, row{m.ID, m.verdict, v})
		}
	}
	return rows
}

// Values is Rows as a table.
func (a Album) Values() text.Table {
	t := text.Table{Title: "What was measured", Header: []string{"figure", "verdict", "metric", "value", "unit"}}
	for _, r := range a.Rows() {
		t.Add(r.Figure, string(r.Verdict), r.Name, strconv.FormatFloat(r.Value, 'g', -1, 64), r.Unit)
	}
	return t
}

// Verdicts has one line a figure.
func (a Album) Verdicts() text.Table {
	t := text.Table{Title: "Which claims hold", Header: []string{"figure", "what", "claim", "data"}}
	for _, m := range a {
		origin, _, _ := strings.Cut(m.source, ":")
		t.Add(m.ID, m.title, string(m.verdict), origin)
	}
	return t
}

// brief keeps more digits than a picture shows.
func brief(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// points is all that a figure shows.
func (r outcome) points() text.Table {
	t := text.Table{Header: []string{"panel", "series", "x", "y", "low", "high"}}
	for _, p := range r.panels {
		for _, s := range p.Series {
			for _, point := range s.Points {
				low, high := "", ""
				if point.Low != 0 || point.High != 0 {
					low, high = brief(point.Low), brief(point.High)
				}
				t.Add(p.Title, s.Name, brief(point.X), brief(point.Y), low, high)
			}
		}
		for _, m := range p.Marks {
			t.Add(p.Title, m.Name, brief(m.X), "", "", "")
		}
	}
	return t
}

const (
	title = "The figures of the thesis, drawn anew"
	about = `The thesis ("Hands at the Ready: Bringing Pronto to Kubernetes", L. Choteborsky, 2025) shows or announces these figures; most of them were left without data. Each is drawn anew here, with what the thesis claims of it and whether that holds. "Recording" is data of a real machine that is part of the repository, "simulator" is not: it shows what follows from the model of a node that the simulator has. Written by "spazio-lab figures --out DIR".`
)

// Save fills the directory, which it makes if need be, with an SVG, a PNG and a CSV
// of each figure, and with all of them, their claims and verdicts as README.md and
// index.html.
func (a Album) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"README.md", "index.html"} {
		p, err := report.NewPage(name, title)
		if err != nil {
			return err
		}
		p.Paragraph(about)
		p.Table(a.Verdicts())
		for _, m := range a {
			p.Heading(2, "Figure "+m.ID+": "+m.title)
			p.Picture("figure "+m.ID, m.base()+".svg", "Claim: "+m.claim, report.Chart{Panels: m.panels})
			p.Paragraph("Measured: " + m.measured)
			p.Paragraph(fmt.Sprintf("Verdict: the claim %s. Data: %s", m.verdict, m.source))
		}
		if err := p.Save(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	for _, m := range a {
		base := filepath.Join(dir, m.base())
		if err := errors.Join(report.Chart{Panels: m.panels}.WriteFile(base+".png"), m.points().SaveCSV(base+".csv")); err != nil {
			return fmt.Errorf("figure %s: %w", m.ID, err)
		}
	}
	return nil
}

// base is the figure's name in file names.
func (f Figure) base() string { return "figure-" + report.FileName(f.ID) }

// WriteCatalogue lists all figures with what they claim, in lines that a terminal holds.
func WriteCatalogue(w io.Writer) error {
	var b strings.Builder
	for _, f := range All() {
		b.WriteString(text.Hang(fmt.Sprintf("%-8s ", f.ID), f.title+": "+f.claim, text.Terminal) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
