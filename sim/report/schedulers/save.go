package schedulers

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spazio-scheduler/spazio/sim/report/page"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Outcome is a report with its ratios, for scripts.
type Outcome struct {
	Report
	Ratios []Ratio `json:"ratios"`
}

// Outcome adds the ratios.
func (r Report) Outcome() Outcome { return Outcome{r, r.Ratios()} }

// WriteText writes the report's tables and words for a reader with so many columns.
func (r Report) WriteText(w io.Writer, columns int) error {
	for _, t := range r.Tables() {
		if err := t.WriteText(w, columns); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintln(w, text.Fold(r.Words(), columns))
	return err
}

// Names of the files that Save makes.
const (
	PageFile    = "report.md"
	PictureFile = "schedulers" // .svg and .png
	RunsFile    = "runs.json"
)

// tableFiles are those of Tables, in their order.
func (r Report) tableFiles() []string {
	names := []string{"means.csv"}
	if r.tellsCPU() {
		names = append(names, "cpu.csv")
	}
	if len(r.Schedulers) > 1 {
		names = append(names, "ratios.csv")
	}
	return append(names, "runs.csv")
}

// Save writes the report into a directory: as a page with its picture, as tables, and as
// JSON.
func (r Report) Save(dir string) error {
	var p page.Markdown
	p.Heading(1, "Schedulers compared")
	if err := r.AddTo(&p, PictureFile+".svg"); err != nil {
		return err
	}
	if err := page.Save(filepath.Join(dir, PageFile), &p); err != nil {
		return err
	}
	if c := r.Chart(); len(c.Panels) > 0 {
		if err := c.WriteFile(filepath.Join(dir, PictureFile+".png")); err != nil {
			return err
		}
	}
	for i, t := range r.Tables() {
		if err := saveCSV(filepath.Join(dir, r.tableFiles()[i]), t); err != nil {
			return err
		}
	}
	return saveJSON(filepath.Join(dir, RunsFile), r.Outcome())
}
