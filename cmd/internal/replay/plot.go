package replay

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spazio-scheduler/spazio/report/drawing"
)

// Colours beside those of package drawing.
var (
	pale  = color.NRGBA{120, 175, 215, 255}
	shade = color.NRGBA{240, 228, 66, 110}
	lost  = color.NRGBA{213, 94, 0, 60}
	mist  = color.NRGBA{204, 121, 167, 80}
)

// checkTarget says whether path can be drawn to.
func checkTarget(path string) error {
	switch filepath.Ext(path) {
	case ".png", ".svg":
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is neither a directory nor a .png or .svg file", path)
	}
	return nil
}

// panel is one plot of the stack with its name.
type panel struct {
	name string
	drawing.Panel
}

// save draws all panels into one file, or each into one of a directory.
func (p *picture) save(path string) error {
	panels, err := p.panels()
	if err != nil {
		return err
	}
	all := make([]drawing.Panel, len(panels))
	for i := range panels {
		all[i] = panels[i].Panel
	}
	if extension := filepath.Ext(path); extension == ".png" || extension == ".svg" {
		return drawing.WriteFile(path, all)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	for i, panel := range panels {
		name := fmt.Sprintf("%d-%s.png", i+1, strings.Map(fileRune, panel.name))
		if err := drawing.WriteFile(filepath.Join(path, name), all[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// fileRune keeps a channel's name from naming another directory.
func fileRune(r rune) rune {
	if r == ' ' || strings.ContainsRune(`/\:`, r) {
		return '-'
	}
	return r
}

// panels makes the plots.
func (p *picture) panels() ([]panel, error) {
	var list []panel
	var failed error
	keep := func(b *builder) {
		list = append(list, b.panel)
		failed = errors.Join(failed, b.err)
	}
	scale := p.scale()
	for _, c := range p.channels {
		b := p.panel(c.name+" usage", "share of "+c.name, scale)
		b.churn(p.churn.windows)
		b.line("as sampled", c.raw, pale, .6)
		b.line("filtered", c.filtered, drawing.Blue, 1.3)
		b.Plot.Y.Min, b.Plot.Y.Max = 0, 1
		keep(b)
	}
	b := p.panel("pods", "pods", scale)
	b.churn(p.churn.windows)
	b.Plot.Y.Tick.Marker = drawing.Whole{}
	b.steps("n, pods that run", p.pods, p.last, drawing.Green)
	b.Plot.Y.Min, b.Plot.Y.Max = 0, math.Max(b.Plot.Y.Max*1.1, 1)
	keep(b)
	for _, s := range []struct {
		name, unit string
		sides      [2]trace
	}{{"avail", "pods", p.avail}, {"signal k", "typical loads", p.k}} {
		b := p.panel(s.name, s.unit, scale)
		b.line("recorded", s.sides[0], drawing.Grey, 2.4)
		name := "replayed"
		if p.rerun {
			name = "with the options set"
		}
		b.line(name, s.sides[1], drawing.Orange, 1.1)
		b.level(0)
		b.Plot.Y.Max *= 1.1
		keep(b)
	}
	for _, c := range p.channels {
		b := p.panel(c.name+" capacity", "share of "+c.name, scale)
		b.line("C, free at no pods", c.capacity, drawing.Green, 1.3)
		b.Plot.Y.Min, b.Plot.Y.Max = 0, math.Max(b.Plot.Y.Max, 1)
		keep(b)
		b = p.panel(c.name+" cost of a pod", "share of "+c.name, scale)
		b.band("c ± sd(c)", c.band, mist)
		b.line("c, cost of a pod", c.cost, drawing.Purple, 1.3)
		b.Plot.Y.Min = 0
		b.Plot.Y.Max *= 1.1
		keep(b)
	}
	for _, panel := range list {
		panel.Plot.X.Label.Text = scale.label + " since " + p.start.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return list, failed
}
