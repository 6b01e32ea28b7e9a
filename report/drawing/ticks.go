package drawing

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// unlabelled are ticks without their labels.
type unlabelled struct{ plot.Ticker }

// Ticks implements plot.Ticker.
func (u unlabelled) Ticks(low, high float64) []plot.Tick {
	ticks := u.Ticker.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = " " // a tick without any is a minor one
		}
	}
	return ticks
}

// Whole are ticks at whole numbers, at most nine of them, 1, 2 or 5 times a power
// of ten apart.
type Whole struct{}

// Ticks implements plot.Ticker.
func (Whole) Ticks(low, high float64) (ticks []plot.Tick) {
	step := 1.
	for i := 0; step < (high-low)/8; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
	}
	for v := math.Ceil(low/step) * step; v <= high; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.Itoa(int(v))})
	}
	return ticks
}

// Decades are ticks at 1, 2 and 5 of each decade, for a logarithmic axis.
type Decades struct{}

// Ticks implements plot.Ticker.
func (Decades) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for decade := math.Pow(10, math.Floor(math.Log10(low))); decade <= high; decade *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if v := m * decade; v >= low && v <= high {
				ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%g", math.Round(v*1e6)/1e6)})
			}
		}
	}
	return ticks
}
