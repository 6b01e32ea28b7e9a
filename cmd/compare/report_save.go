package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Outcome is a report with its ratios, for scripts.
type Outcome struct {
	Report
	Ratios []ratio `json:"ratios"`
}

// Outcome adds the ratios.
func (r Report) Outcome() Outcome { return Outcome{r, r.ratios()} }

// WriteText writes the report's tables and words for a reader with so many columns.
func (r Report) WriteText(w io.Writer, columns int) error {
	for _, t := range r.tables() {
		if err := t.WriteText(w, columns); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintln(w, text.Fold(r.words(), columns))
	return err
}

// Save writes the report into a directory: as a page with its picture, as tables, and as
// JSON.
func (r Report) Save(dir string) error {
	p, err := report.NewPage("report.md", "Schedulers compared")
	if err != nil {
		return err
	}
	if err := r.addTo(p, "schedulers.svg"); err != nil {
		return err
	}
	if err := p.Save(filepath.Join(dir, "report.md")); err != nil {
		return err
	}
	return saveData(dir, "schedulers.png", r.chart(), r.tables(), "runs.json", r.Outcome())
}

// save writes a page with a table and a picture, the table as CSV, and what they are of as
// JSON.
func save(dir, name, heading, quality string, t text.Table, c report.Chart, of any) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	p, err := report.NewPage(name+".md", heading)
	if err != nil {
		return err
	}
	p.Picture(name, name+".svg", "Joules: "+quality+".", c)
	p.Table(t)
	if err := p.Save(filepath.Join(dir, name+".md")); err != nil {
		return err
	}
	return saveData(dir, name+".png", c, []named{{name, t}}, name+".json", of)
}

// saveData writes what stands beside a page.
func saveData(dir, picture string, c report.Chart, tables []named, data string, of any) error {
	text, err := json.MarshalIndent(of, "", "  ")
	errs := []error{err, os.WriteFile(filepath.Join(dir, data), append(text, '\n'), 0o644)}
	if len(c.Panels) > 0 {
		errs = append(errs, c.WriteFile(filepath.Join(dir, picture)))
	}
	for _, t := range tables {
		errs = append(errs, t.SaveCSV(filepath.Join(dir, t.name+".csv")))
	}
	return errors.Join(errs...)
}
