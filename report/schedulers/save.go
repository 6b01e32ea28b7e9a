package schedulers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spazio-scheduler/spazio/report/page"
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
	_, err := fmt.Fprintln(w, r.Words())
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
		f, err := os.Create(filepath.Join(dir, r.tableFiles()[i]))
		if err != nil {
			return err
		}
		if err := errors.Join(t.WriteCSV(f), f.Close()); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(r.Outcome(), "", "  ")
	if err != nil {
		return fmt.Errorf("write the runs: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, RunsFile), append(text, '\n'), 0o644)
}
