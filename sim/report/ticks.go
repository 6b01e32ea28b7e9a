package report

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// marker is what labels the axis.
func (a Axis) marker() plot.Ticker {
	switch {
	case len(a.Names) > 0:
		var ticks plot.ConstantTicks
		for i, name := range a.Names {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
		}
		return ticks
	case a.Log:
		return plot.TickerFunc(decades)
	case a.Whole:
		return plot.TickerFunc(whole)
	}
	return plot.DefaultTicks{}
}

// unlabelled are ticks without their labels.
func unlabelled(of plot.Ticker) plot.Ticker {
	return plot.TickerFunc(func(low, high float64) []plot.Tick {
		ticks := of.Ticks(low, high)
		for i := range ticks {
			if ticks[i].Label != "" {
				ticks[i].Label = " " // a tick without any is a minor one
			}
		}
		return ticks
	})
}

// whole are ticks at whole numbers, at most nine of them, 1, 2 or 5 times a power
// of ten apart.
func whole(low, high float64) (ticks []plot.Tick) {
	step := 1.
	for i := 0; step < (high-low)/8; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
	}
	for v := math.Ceil(low/step) * step; v <= high; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.Itoa(int(v))})
	}
	return ticks
}

const mostDecadeTicks = 9

// decadeSteps are each within the one below it.
var decadeSteps = [][]float64{
	{1},
	{1, 2, 5},
	{1, 1.5, 2, 3, 5, 7},
	{1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 5, 6, 7, 8, 9},
}

// decades are ticks of a logarithmic axis: the finest of the steps that gives no
// more than mostDecadeTicks.
func decades(low, high float64) (ticks []plot.Tick) {
	for i, steps := range decadeSteps {
		var finer []plot.Tick
		for exponent := math.Floor(math.Log10(low)); exponent <= math.Log10(high); exponent++ {
			for _, m := range steps {
				if v := m * math.Pow(10, exponent); v >= low && v <= high {
					finer = append(finer, plot.Tick{Value: v, Label: fmt.Sprintf("%.6g", v)})
				}
			}
		}
		if i > 0 && len(finer) > mostDecadeTicks {
			break
		}
		ticks = finer
	}
	return ticks
}
