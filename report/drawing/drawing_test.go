package drawing_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/spazio-scheduler/spazio/report/drawing"
)

func labels(ticker plot.Ticker, low, high float64) []string {
	var all []string
	for _, t := range ticker.Ticks(low, high) {
		all = append(all, t.Label)
	}
	return all
}

func TestTicks(t *testing.T) {
	tests := []struct {
		ticker    plot.Ticker
		low, high float64
		want      []string
	}{
		{drawing.Whole{}, 0, 1, []string{"0", "1"}},
		{drawing.Whole{}, .5, 4.5, []string{"1", "2", "3", "4"}},
		{drawing.Whole{}, 0, 12.3, []string{"0", "2", "4", "6", "8", "10", "12"}},
		{drawing.Whole{}, 0, 55, []string{"0", "10", "20", "30", "40", "50"}},
		{drawing.Whole{}, -1, 420, []string{"0", "100", "200", "300", "400"}},
		{drawing.Decades{}, .3, 4, []string{"0.5", "1", "2"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, labels(test.ticker, test.low, test.high)); diff != "" {
			t.Errorf("%T from %g to %g (-want +got):\n%s", test.ticker, test.low, test.high, diff)
		}
	}
}

func example(t *testing.T) []drawing.Panel {
	t.Helper()
	var panels []drawing.Panel
	for _, title := range []string{"above", "below"} {
		p := drawing.NewPanel(title, "unit")
		line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 1}, {X: 2, Y: 3}})
		if err != nil {
			t.Fatal(err)
		}
		p.Grid()
		p.Plot.Add(line)
		p.Legend.Add("a line", line)
		panels = append(panels, p)
	}
	return panels
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{"p.png": "\x89PNG", "p.svg": "<?xml"} {
		path := filepath.Join(dir, name)
		if err := drawing.WriteFile(path, example(t)); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(data, []byte(want)) {
			t.Errorf("%s begins with %q", name, data[:8])
		}
	}
	if err := drawing.WriteFile(filepath.Join(dir, "p.pdf"), example(t)); err == nil {
		t.Error("a .pdf was drawn")
	}
}
