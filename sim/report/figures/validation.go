package figures

import (
	"context"
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim/report/chart"
	"github.com/spazio-scheduler/spazio/sim/report/figures/measured"
)

// validation are the figures that hold the simulator against a machine.
func validation() []Figure {
	return []Figure{{
		ID:    "sim-node",
		Title: "The simulator's node and a machine under the same load",
		Claim: "Given what ran on the machine, from when on and for how much CPU time, package sim/node shows for every number of workers its mean utilisation and its mean CPU pressure to within 0.06, and the mean run time to within 15 %.",
		Make:  modelledNode,
	}}
}

// What the claim allows.
const (
	allowedShare = .06
	allowedTime  = .15
)

// known are the loads whose demand is known, with their names.
var known = []struct{ load, name string }{{"busy", "busy loops"}, {"pi", "π to 2000 digits"}, {"train", "train and infer"}}

func modelledNode(ctx context.Context, p Params) (Result, error) {
	r, err := p.recording(sweepFile)
	if err != nil {
		return Result{}, err
	}
	all, err := fits(ctx, r, p.Seed)
	if err != nil {
		return Result{}, err
	}
	w := worstOf(all)
	result := Result{Source: recorded(r, sweepFile), Verdict: Holds, Measured: w.String(), Values: w.values()}
	if !w.allowed() {
		result.Verdict = Fails
	}
	result.Panels = []chart.Panel{
		sharePanel("utilisation while all workers run (bars: 5th and 95th percentile of samples)", all, (*fit).utilisation),
		sharePanel("CPU pressure while all workers run", all, (*fit).pressure),
		timePanel(all),
	}
	return result, nil
}

// fits are those of the known loads, by load.
func fits(ctx context.Context, r measured.Recording, seed uint64) (map[string][]fit, error) {
	all := map[string][]fit{}
	for _, k := range known {
		list, err := runs(r, k.load)
		if err != nil {
			return nil, err
		}
		for _, run := range list {
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
			note(&w.utilisation, &w.where[0], f.utilisation(f.steady).off(), where)
			note(&w.pressure, &w.where[1], f.pressure(f.steady).off(), where)
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

func (w worst) values() []Value {
	return []Value{
		{"utilisation_worst_mean", w.utilisation, "1"}, {"pressure_worst_mean", w.pressure, "1"}, {"run_time_worst", w.time, "1"}, {"run_time_p50", w.timeMedian, "1"},
		{"utilisation_p95", w.utilisationHigh, "1"}, {"pressure_p50", w.pressureMedian, "1"}, {"pressure_p95", w.pressureHigh, "1"},
	}
}

// sharePanel draws a quantity against the number of workers.
func sharePanel(title string, all map[string][]fit, of func(*fit, []int) gap) chart.Panel {
	p := chart.Panel{Title: title, X: workers, Y: share}
	for _, k := range known {
		var machine, model []chart.Point
		for i := range all[k.load] {
			f := &all[k.load][i]
			if len(f.steady) == 0 {
				continue
			}
			g := of(f, f.steady)
			x := float64(f.Workers)
			machine = append(machine, chart.Point{X: x, Y: g.recorded, Low: g.low, High: g.top})
			model = append(model, chart.Point{X: x, Y: g.model})
		}
		p.Series = append(p.Series,
			chart.Series{Name: k.name, Style: chart.Dots, Points: machine},
			chart.Series{Name: k.name + ": model", Style: chart.Dashed, Points: model})
	}
	return p
}

// timePanel draws the run times against the number of workers.
func timePanel(all map[string][]fit) chart.Panel {
	p := chart.Panel{Title: "mean time from start to end", X: workers, Y: chart.Axis{Label: "seconds"}}
	for _, k := range known {
		var machine, model []chart.Point
		for i := range all[k.load] {
			took, modelled := all[k.load][i].runTime()
			if x := float64(all[k.load][i].Workers); took > 0 {
				machine, model = append(machine, chart.Point{X: x, Y: took}), append(model, chart.Point{X: x, Y: modelled})
			}
		}
		if len(machine) > 0 {
			p.Series = append(p.Series,
				chart.Series{Name: k.name, Style: chart.Dots, Points: machine},
				chart.Series{Name: k.name + ": model", Style: chart.Dashed, Points: model})
		}
	}
	return p
}
