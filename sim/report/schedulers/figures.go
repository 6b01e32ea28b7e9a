package schedulers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spazio-scheduler/spazio/sim/report/chart"
	"github.com/spazio-scheduler/spazio/sim/report/page"
	"github.com/spazio-scheduler/spazio/sim/report/ratio"
	"github.com/spazio-scheduler/spazio/sim/report/table"
)

// Save writes the parts into a directory: as a page with its picture, as a table and as
// JSON.
func (c Components) Save(dir string) error {
	return save(dir, "components", "What each part takes", c.Quality, c.Table(), c.Chart(), c)
}

// Chart has a row a part: what all take with it, the mean of the rounds with its 95 %
// interval.
func (c Components) Chart() chart.Chart {
	var cores, watts chart.DotPlot
	for _, p := range c.Parts {
		addMean(&cores, p.Name, p.Cores)
		addMean(&watts, p.Name, p.Watts)
	}
	return chart.Chart{Panels: []chart.Panel{
		above0(&cores, "busy cores, mean and 95 % interval", "cores"),
		above0(&watts, fmt.Sprintf("power, mean and 95 %% interval (joules: %s)", c.Quality), "W"),
	}}
}

// addMean adds the mean of some values with its interval, where they have one.
func addMean(d *chart.DotPlot, row string, values []float64) {
	m, half, err := ratio.Difference(values, make([]float64, len(values)))
	if err != nil {
		m, half = mean(values), 0
	}
	d.Add(row, "", m, m-half, m+half)
}

func above0(d *chart.DotPlot, title, label string) chart.Panel {
	_, most := d.Range()
	return d.Panel(title, chart.Axis{Label: label, Min: 0, Max: max(1.05*most, 1e-3)})
}

// Save writes the guests into a directory, as Components does.
func (g Guests) Save(dir string) error {
	return save(dir, "guests", "How often guests are told their energy", g.Quality, g.Table(), g.Chart(), g)
}

// Chart has the time between two publications of a guest by the number of guests: the mean,
// from the least to the most.
func (g Guests) Chart() chart.Chart {
	s := chart.Series{Name: "mean, least to most", Style: chart.Dots}
	for _, r := range g.Rows {
		s.Points = append(s.Points, chart.Point{X: float64(r.Guests), Y: r.Mean, Low: r.Least, High: r.Most})
	}
	return chart.Chart{Panels: []chart.Panel{{
		Title: "time between two publications of a guest's energy",
		X:     chart.Axis{Label: "guests"}, Y: chart.Axis{Label: "s", Min: 0, Max: 1.5}, Series: []chart.Series{s},
	}}}
}

// save writes a page with a table and a picture, the table as CSV, and what they are of as
// JSON.
func save(dir, name, heading, quality string, t table.Table, c chart.Chart, of any) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var p page.Markdown
	p.Heading(1, heading)
	var svg bytes.Buffer
	if err := c.WriteSVG(&svg); err != nil {
		return err
	}
	p.Picture(page.Picture{Name: name, Caption: "Joules: " + quality + ".", File: name + ".svg", SVG: svg.Bytes()})
	p.Table(t)
	if err := page.Save(filepath.Join(dir, name+".md"), &p); err != nil {
		return err
	}
	if err := c.WriteFile(filepath.Join(dir, name+".png")); err != nil {
		return err
	}
	if err := saveCSV(filepath.Join(dir, name+".csv"), t); err != nil {
		return err
	}
	return saveJSON(filepath.Join(dir, name+".json"), of)
}

func saveCSV(path string, t table.Table) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(t.WriteCSV(f), f.Close())
}

func saveJSON(path string, of any) error {
	text, err := json.MarshalIndent(of, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
