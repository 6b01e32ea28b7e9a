package figures

import (
	"context"
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim/report"
)

// What the claim of the figure sim-node allows.
const (
	allowedShare = .06
	allowedTime  = .15
)

// known are the loads whose demand is known, with their names.
var known = []struct{ load, name string }{{"busy", "busy loops"}, {"pi", "π to 2000 digits"}, {"train", "train and infer"}}

func modelledNode(ctx context.Context, seed uint64) (outcome, error) {
	r, err := readRecording(sweepFile)
	if err != nil {
		return outcome{}, err
	}
	all, err := fits(ctx, r, seed)
	if err != nil {
		return outcome{}, err
	}
	w := worstOf(all)
	result := outcome{source: recorded(r, sweepFile), verdict: holds, measured: w.String(), values: w.values()}
	if !w.allowed() {
		result.verdict = fails
	}
	result.panels = []report.Panel{
		versus("utilisation while all workers run (bars: 5th and 95th percentile of samples)", share, all, over((*fit).utilisation)),
		versus("CPU pressure while all workers run", share, all, over((*fit).pressure)),
		versus("mean time from start to end", report.Axis{Label: "seconds"}, all, func(f *fit) (machine, model report.Point, ok bool) {
			took, modelled := f.runTime()
			return report.Point{Y: took}, report.Point{Y: modelled}, took > 0
		}),
	}
	return result, nil
}

// fits are those of the known loads, by load.
func fits(ctx context.Context, r recording, seed uint64) (map[string][]fit, error) {
	all := map[string][]fit{}
	for _, k := range known {
		for _, run := range runs(r, k.load) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			f, err := fitRun(r.Machine, run, seed)
			if err != nil {
				return nil, err
			}
			all[k.load] = append(all[k.load], f)
		}
	}
	return all, nil
}

// worst is the largest error of any load and number of workers, and where.
type worst struct {
	utilisation, pressure, time float64
	where                       [3]string
	// The medians and 95th percentiles of all samples' distances.
	utilisationHigh, pressureMedian, pressureHigh, timeMedian float64
	runs, samples                                             int
}

func worstOf(all map[string][]fit) worst {
	var w worst
	var utilisation, pressure, times []float64
	for _, k := range known {
		for i := range all[k.load] {
			f := &all[k.load][i]
			where := fmt.Sprintf("%d × %s", f.Workers, k.name)
			w.runs++
			w.samples += len(f.steady)
			note(&w.utilisation, &w.where[0], f.utilisation().off(), where)
			note(&w.pressure, &w.where[1], f.pressure().off(), where)
			if took, model := f.runTime(); took > 0 {
				note(&w.time, &w.where[2], model/took-1, where)
				times = append(times, math.Abs(model/took-1))
			}
			for _, i := range f.steady {
				utilisation = append(utilisation, math.Abs(f.readings[i].Utilisation-f.Utilisation[i]))
				pressure = append(pressure, math.Abs(f.readings[i].Pressure-f.Pressure[i]))
			}
		}
	}
	w.timeMedian = median(times)
	w.utilisationHigh = quantile(utilisation, .95)
	w.pressureMedian, w.pressureHigh = median(pressure), quantile(pressure, .95)
	return w
}

func note(largest *float64, where *string, value float64, at string) {
	if math.Abs(value) > math.Abs(*largest) {
		*largest, *where = value, at
	}
}

func (w worst) allowed() bool {
	return math.Abs(w.utilisation) <= allowedShare && math.Abs(w.pressure) <= allowedShare && math.Abs(w.time) <= allowedTime
}

func (w worst) String() string {
	return fmt.Sprintf("Over %d loads the mean utilisation is off by %+.3f at most (%s), the mean pressure by %+.3f (%s), the mean run time by %+.1f %% (%s; the median of all loads is %.1f %%). Of the %d samples of a tenth of a second, 95 %% are within %.3f of utilisation and within %.3f of pressure, half within %.3f of pressure.",
		w.runs, w.utilisation, w.where[0], w.pressure, w.where[1], 100*w.time, w.where[2], 100*w.timeMedian, w.samples, w.utilisationHigh, w.pressureHigh, w.pressureMedian)
}

func (w worst) values() []value {
	return []value{
		{"utilisation_worst_mean", w.utilisation, "1"}, {"pressure_worst_mean", w.pressure, "1"}, {"run_time_worst", w.time, "1"}, {"run_time_p50", w.timeMedian, "1"},
		{"utilisation_p95", w.utilisationHigh, "1"}, {"pressure_p50", w.pressureMedian, "1"}, {"pressure_p95", w.pressureHigh, "1"},
	}
}

// versus draws what the machine and the model showed against the number of workers. of returns both for
// a load, or false if it has none.
func versus(title string, y report.Axis, all map[string][]fit, of func(*fit) (machine, model report.Point, ok bool)) report.Panel {
	p := report.Panel{Title: title, X: workers, Y: y}
	for _, k := range known {
		shown, modelled := report.Series{Name: k.name, Style: report.Dots}, report.Series{Name: k.name + ": model", Style: report.Dashed}
		for i := range all[k.load] {
			if machine, model, ok := of(&all[k.load][i]); ok {
				machine.X = float64(all[k.load][i].Workers)
				model.X = machine.X
				shown.Points, modelled.Points = append(shown.Points, machine), append(modelled.Points, model)
			}
		}
		if len(shown.Points) > 0 {
			p.Series = append(p.Series, shown, modelled)
		}
	}
	return p
}

// over is a quantity while all workers run, with its range.
func over(quantity func(*fit) gap) func(*fit) (machine, model report.Point, ok bool) {
	return func(f *fit) (machine, model report.Point, ok bool) {
		g := quantity(f)
		return report.Point{Y: g.recorded, Low: g.low, High: g.top}, report.Point{Y: g.model}, len(f.steady) > 0
	}
}
