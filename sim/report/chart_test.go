package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim/report"
)

func svg(t *testing.T, c report.Chart) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := c.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// label is a line of upright text in an SVG, in points from the upper left.
type label struct {
	text             string
	left, right, top float64
}

// labels reads the texts that are not rotated, and the canvas's size.
func labels(t *testing.T, data []byte) (all []label, width, height float64) {
	t.Helper()
	number := func(e xml.StartElement, name string) float64 {
		for _, a := range e.Attr {
			if a.Name.Local == name {
				v, err := strconv.ParseFloat(strings.TrimSuffix(a.Value, "pt"), 64)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
		}
		t.Fatalf("<%s> has no %s", e.Name.Local, name)
		return 0
	}
	depth := 0 // of transforms
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if err != nil {
			return all, width, height
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "svg":
				width, height = number(e, "width"), number(e, "height")
			case "g":
				depth++
			case "text":
				var words string
				if err := d.DecodeElement(&words, &e); err != nil {
					t.Fatal(err)
				}
				if depth > 1 {
					continue // rotated
				}
				size := 0.
				for _, a := range e.Attr {
					if _, rest, ok := strings.Cut(a.Value, "font-size:"); ok && a.Name.Local == "style" {
						rest, _, _ = strings.Cut(rest, "px")
						if size, err = strconv.ParseFloat(rest, 64); err != nil {
							t.Fatal(err)
						}
					}
				}
				style := text.Style{Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Points(size)), Handler: plot.DefaultTextHandler}
				// For a viewer with a wider font a label still has its measured length.
				left, length := number(e, "x"), number(e, "textLength")
				if wide := style.Width(words).Points(); math.Abs(length-wide) > .01*wide {
					t.Errorf("%q is given %g points, and takes %g", words, length, wide)
				}
				all = append(all, label{words, left, left + length, height + number(e, "y") - size})
			}
		case xml.EndElement:
			if e.Name.Local == "g" {
				depth--
			}
		}
	}
}

const long = "pods of 0.1 core-seconds whose sizes follow an exponential law, under a scheduler of a very long name, Donaudampfschifffahrtsgesellschaftskapitänsmütze included"

// crowded has a panel with that many series with long names.
func crowded(series int) report.Chart {
	p := report.Panel{Title: strings.Repeat(long+" ", 3), X: report.Axis{Label: "seconds"}, Y: report.Axis{Label: "share"}}
	for i := range series {
		p.Series = append(p.Series, report.Series{
			Name: fmt.Sprintf("%s, number %d", long, i), Style: report.Style(i % 9),
			Points: []report.Point{{X: 0, Y: 1, Low: .5, High: 2}, {X: 10, Y: 3, Low: 2, High: 4}},
		})
	}
	p.Marks = []report.Mark{{Name: "a mark with a name of several words", X: 5}}
	p.Spans = []report.Span{{Name: "a span with a name of several words", From: 2, To: 3}}
	return report.Chart{Panels: []report.Panel{p, {Title: "below", X: p.X, Series: p.Series[:1]}}}
}

// Every word of every legend is within the canvas, to the right of the data, and above the next
// panel, however many and long the names are.
func TestLegendsAreInside(t *testing.T) {
	for _, series := range []int{1, 3, 20, 60} {
		all, width, height := labels(t, svg(t, crowded(series)))
		dataEnds, legendBegins := 0., math.Inf(1)
		legend := map[string]int{}
		for _, l := range all {
			if l.left < 0 || l.right > width || l.top < 0 || l.top > height {
				t.Errorf("%d series: %q is at %.0f to %.0f, %.0f of %.0f × %.0f", series, l.text, l.left, l.right, l.top, width, height)
			}
			if l.text == "10" { // the last label of the axis X stands below the end of the data
				dataEnds = (l.left + l.right) / 2
			}
			if l.text == "below" {
				legend["below"] = int(l.top)
			}
		}
		var words []string
		for _, l := range all {
			if l.left > dataEnds {
				legendBegins = min(legendBegins, l.left)
				words = append(words, l.text)
			}
		}
		said := strings.Join(words, " ")
		for _, want := range []string{"number 0", fmt.Sprintf("number %d", series-1), "a mark with a name", "span"} {
			if !strings.Contains(said, want) {
				t.Errorf("%d series: no %q to the right of the data, at %.0f", series, want, dataEnds)
			}
		}
		if dataEnds == 0 || legendBegins < dataEnds+5 {
			t.Errorf("%d series: the data end at %.0f, legends begin at %.0f", series, dataEnds, legendBegins)
		}
	}
}

// No two lines of text overlap.
func TestTextsDoNotOverlap(t *testing.T) {
	var dots report.DotPlot
	for row := range 30 {
		for series := range 5 {
			dots.Add(fmt.Sprintf("scheduler-of-a-long-name-%d", row), fmt.Sprintf("case %d", series), float64(row+series+1), float64(row+1), float64(row+9))
		}
	}
	panel := dots.Panel("rows", report.Axis{Label: "ratio", Log: true})
	for name, c := range map[string]report.Chart{"lines": crowded(7), "dots": {Panels: []report.Panel{panel}}} {
		all, _, _ := labels(t, svg(t, c))
		slices.SortFunc(all, func(a, b label) int { return int(a.top - b.top) })
		for i, a := range all {
			for _, b := range all[i+1:] {
				if math.Abs(a.top-b.top) < 6 && a.left < b.right && b.left < a.right && strings.TrimSpace(a.text) != "" && strings.TrimSpace(b.text) != "" {
					t.Errorf("%s: %q over %q", name, a.text, b.text)
				}
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	with := func(x report.Axis, s report.Style, p report.Point) report.Chart {
		return report.Chart{Panels: []report.Panel{{X: x, Series: []report.Series{{Style: s, Points: []report.Point{p}}}}}}
	}
	log := report.Axis{Log: true}
	tests := map[string]struct {
		c     report.Chart
		which string
	}{
		"no panel":     {report.Chart{}, "Panels"},
		"NaN":          {with(report.Axis{}, report.Line, report.Point{Y: math.NaN()}), "Panels[0].Series[0].Points[0].Y"},
		"infinite":     {with(report.Axis{}, report.Line, report.Point{X: math.Inf(1)}), "Panels[0].Series[0].Points[0].X"},
		"0 on log":     {with(log, report.Dots, report.Point{X: 0}), "Panels[0].Series[0].Points[0].X"},
		"bound on log": {with(log, report.Across, report.Point{X: 1, Low: -1, High: 2}), "Panels[0].Series[0].Points[0].Low"},
		"axis":         {with(report.Axis{Log: true, Min: 0, Max: 2}, report.Line, report.Point{X: 1}), "Panels[0].X.Min"},
		"mark":         {report.Chart{Panels: []report.Panel{{Marks: []report.Mark{{X: math.NaN()}}}}}, "Panels[0].Marks[0].X"},
		"span":         {report.Chart{Panels: []report.Panel{{Spans: []report.Span{{To: math.Inf(1)}}}}}, "Panels[0].Spans[0]"},
	}
	for name, test := range tests {
		var which *field.Error
		var b bytes.Buffer
		if err := test.c.WriteSVG(&b); !errors.As(err, &which) || which.Field != test.which || !errors.Is(err, report.ErrInvalid) {
			t.Errorf("%s: error %v", name, err)
		}
		if err := test.c.WritePNG(&b); err == nil || b.Len() > 0 {
			t.Errorf("%s: PNG of %d bytes, error %v", name, b.Len(), err)
		}
	}
	if err := crowded(1).WriteFile(filepath.Join(t.TempDir(), "p.pdf")); !errors.Is(err, report.ErrInvalid) {
		t.Errorf("a .pdf: %v", err)
	}
}

// A panel without data, or with one point, is drawn, too.
func TestLittle(t *testing.T) {
	for name, c := range map[string]report.Chart{
		"empty":    {Panels: []report.Panel{{}}},
		"log":      {Panels: []report.Panel{{X: report.Axis{Log: true}, Y: report.Axis{Log: true}}}},
		"one dot":  {Panels: []report.Panel{{Series: []report.Series{{Style: report.Dots, Points: []report.Point{{X: 3, Y: 3}}}}}}},
		"no dots":  {Panels: []report.Panel{new(report.DotPlot).Panel("none", report.Axis{})}},
		"one name": {Panels: []report.Panel{{Y: report.Axis{Names: []string{"a"}, Min: -.5, Max: .5}}}},
	} {
		var b bytes.Buffer
		if err := c.WriteSVG(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Drawing twice gives the same bytes and leaves the chart unchanged.
func TestWriteFile(t *testing.T) {
	dir, c := t.TempDir(), crowded(3)
	for name, want := range map[string]string{"p.png": "\x89PNG", "p.svg": "<?xml"} {
		var first []byte
		for range 2 {
			path := filepath.Join(dir, name)
			if err := c.WriteFile(path); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(data, []byte(want)) || first != nil && !bytes.Equal(data, first) {
				t.Errorf("%s begins with %q, or differs the second time", name, data[:8])
			}
			first = data
		}
	}
}

// Axes have few and round labels, and neighbours share that of X.
func TestTicks(t *testing.T) {
	tests := []struct {
		axis report.Axis
		want []string
	}{
		{report.Axis{Whole: true, Min: .5, Max: 4.5}, []string{"1", "2", "3", "4"}},
		{report.Axis{Whole: true, Min: -1, Max: 420}, []string{"0", "100", "200", "300", "400"}},
		{report.Axis{Log: true, Min: .3, Max: 4}, []string{"0.3", "0.5", "0.7", "1", "1.5", "2", "3"}},
		{report.Axis{Log: true, Min: .01, Max: 400}, []string{"0.01", "0.1", "1", "10", "100"}},
		{report.Axis{Log: true, Min: .85, Max: 1.21}, []string{"0.9", "1", "1.1", "1.2"}},
		{report.Axis{Names: []string{"a", "b"}, Min: -.5, Max: 1.5}, []string{"a", "b"}},
	}
	for _, test := range tests {
		p := report.Panel{X: test.axis, Y: report.Axis{Names: []string{"y"}, Min: -.5, Max: .5}}
		all, _, _ := labels(t, svg(t, report.Chart{Panels: []report.Panel{p, p}}))
		var got []string
		for _, l := range all {
			if l.text != "y" && strings.TrimSpace(l.text) != "" {
				got = append(got, l.text)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%+v: %q, want %q", test.axis, got, test.want)
		}
	}
}

func TestDotPlot(t *testing.T) {
	var d report.DotPlot
	if least, most := d.Range(); least != 0 || most != 0 {
		t.Errorf("of nothing: %v to %v", least, most)
	}
	d.Add("first", "a", 2, 1, 4)
	d.Add("second", "a", 3, 3, 3)
	d.Add("first", "b", 5, 0, 0)
	if least, most := d.Range(); least != 1 || most != 5 {
		t.Errorf("from %v to %v", least, most)
	}
	p := d.Panel("title", report.Axis{Label: "x"})
	if !slices.Equal(p.Y.Names, []string{"second", "first"}) || len(p.Series) != 2 || p.Series[1].Name != "b" {
		t.Fatalf("%+v", p)
	}
	a, b := p.Series[0].Points, p.Series[1].Points
	if a[0] != (report.Point{X: 2, Y: a[0].Y, Low: 1, High: 4}) || a[1].Low != 0 || a[1].High != 0 {
		t.Errorf("%+v", a)
	}
	// In each row the first series is on top, and all are within it.
	if !(a[0].Y > b[0].Y && math.Abs(a[0].Y-1) < .5 && math.Abs(b[0].Y-1) < .5 && math.Abs(a[1].Y) < .5) {
		t.Errorf("%+v, %+v", a, b)
	}
}

func ExampleChart_WriteSVG() {
	c := report.Chart{Panels: []report.Panel{{
		Title:  "pods on a node",
		X:      report.Axis{Label: "seconds"},
		Y:      report.Axis{Label: "pods", Whole: true},
		Series: []report.Series{{Name: "pods that run", Style: report.Steps, Points: []report.Point{{X: 0, Y: 1}, {X: 5, Y: 3}, {X: 9, Y: 2}}}},
	}}}
	var b bytes.Buffer
	err := c.WriteSVG(&b)
	fmt.Println(bytes.Contains(b.Bytes(), []byte("pods that run")), err)
	// Output: true <nil>
}

func ExampleDotPlot() {
	var d report.DotPlot
	d.Add("spazio", "short pods", .21, .2, .22)
	d.Add("spazio", "long pods", .11, .1, .12)
	d.Add("trimaran", "long pods", .93, .9, .96)
	p := d.Panel("mean run time over the default's", report.Axis{Label: "ratio", Log: true})
	fmt.Println(p.Y.Names, len(p.Series))
	// Output: [trimaran spazio] 2
}
