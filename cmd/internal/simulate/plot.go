package simulate

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/spazio-scheduler/spazio/report/drawing"
	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// picture is a metric of an experiment's cases as an SVG.
type picture struct {
	metric, caption string
	svg             []byte
}

// pictures draws the ratios to the default, one picture a metric that any
// scheduler but the default has.
func (r results) pictures(name string) ([]picture, error) {
	lines := experiment.Ratios(r.rows, experiment.Default)
	var all []picture
	for _, metric := range compared {
		series, schedulers := r.series(lines, name, metric)
		if len(series) == 0 || !differ(series) {
			continue
		}
		p, err := drawRatios(name+": "+metric+" over default's", series, schedulers)
		if err != nil {
			return nil, fmt.Errorf("draw %s of %s: %w", metric, name, err)
		}
		svg, err := toSVG(p, len(schedulers)+len(series)/2)
		if err != nil {
			return nil, fmt.Errorf("draw %s of %s: %w", metric, name, err)
		}
		all = append(all, picture{metric, fmt.Sprintf("%s of %s, ratio to kube-scheduler's default with its 95 %% interval; left of 1 is less.", metric, name), svg})
	}
	return all, nil
}

// series is the points of one case: x is the ratio, y the scheduler.
type series struct {
	label string
	points
}

type points struct {
	plotter.XYs
	plotter.XErrors
}

// series collects what can be drawn on a logarithmic axis.
func (r results) series(lines []experiment.Line, name, metric string) ([]series, []string) {
	var all []series
	var schedulers []string
	for _, c := range r.cases {
		if c.Experiment.Name != name {
			continue
		}
		s := series{label: c.Label}
		for _, l := range lines {
			if l.Experiment != c.Label || l.Metric != metric || l.Scheduler == experiment.Default || l.Scheduler == experiment.Idle ||
				!(l.Mean > 0) || math.IsInf(l.Mean, 1) {
				continue
			}
			y := slices.Index(schedulers, l.Scheduler)
			if y < 0 {
				y = len(schedulers)
				schedulers = append(schedulers, l.Scheduler)
			}
			low, high := l.Low, l.High
			if math.IsNaN(low) || math.IsInf(high, 1) || !(low > 0) {
				low, high = l.Mean, l.Mean
			}
			s.XYs = append(s.XYs, plotter.XY{X: l.Mean, Y: float64(y)})
			s.XErrors = append(s.XErrors, struct{ Low, High float64 }{l.Mean - low, high - l.Mean})
		}
		if len(s.XYs) > 0 {
			all = append(all, s)
		}
	}
	return all, schedulers
}

// differ says whether there is anything to see.
func differ(all []series) bool {
	for _, s := range all {
		for i, p := range s.XYs {
			if p.X != 1 || s.XErrors[i].Low > 0 {
				return true
			}
		}
	}
	return false
}

func drawRatios(title string, all []series, schedulers []string) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = title
	p.BackgroundColor = color.White
	p.X.Label.Text = "ratio to default"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, drawing.Decades{}
	p.Legend.Top = true
	p.Legend.Left = false
	low, high := .45, 1.1
	for i, s := range all {
		shift := .6*(float64(i)+.5)/float64(len(all)) - .3
		for k := range s.XYs {
			// The first scheduler stands on top.
			s.XYs[k].Y = float64(len(schedulers)-1) - s.XYs[k].Y - shift
			low = math.Min(low, s.XYs[k].X-s.XErrors[k].Low)
			high = math.Max(high, s.XYs[k].X+s.XErrors[k].High)
		}
		scatter, err := plotter.NewScatter(s.XYs)
		if err != nil {
			return nil, err
		}
		scatter.Color, scatter.Shape, scatter.Radius = drawing.Colours[i%len(drawing.Colours)], plotutil.Shape(i), vg.Points(3)
		bars, err := plotter.NewXErrorBars(s.points)
		if err != nil {
			return nil, err
		}
		bars.Color = drawing.Colours[i%len(drawing.Colours)]
		p.Add(bars, scatter)
		p.Legend.Add(s.label, scatter)
	}
	one, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -.5}, {X: 1, Y: float64(len(schedulers)) - .5}})
	if err != nil {
		return nil, err
	}
	one.Dashes = []vg.Length{vg.Points(3), vg.Points(3)}
	p.Add(one)
	names := slices.Clone(schedulers)
	slices.Reverse(names)
	p.NominalY(names...)
	p.X.Min, p.X.Max = low/1.1, high*1.1
	// The legend takes the room above the last scheduler.
	p.Y.Min, p.Y.Max = -.5, float64(len(schedulers))-.5+.45*float64(len(all))
	return p, nil
}

func toSVG(p *plot.Plot, rows int) ([]byte, error) {
	canvas := vgsvg.New(vg.Points(640), vg.Points(110+26*float64(rows)))
	p.Draw(draw.Crop(draw.New(canvas), vg.Points(10), -vg.Points(10), vg.Points(4), -vg.Points(4)))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
