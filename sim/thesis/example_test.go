package thesis_test

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/sim/thesis"
)

// An average with one gain leaks that share of a spike of one sample.
func ExampleEMA_Step() {
	var f thesis.EMA // the default gain, .3
	var s thesis.EMAState
	for _, x := range []float64{0, 1, 0, 0} {
		var err error
		if s, err = f.Step(s, x); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%g → %.3f\n", x, s.Level)
	}
	// Output:
	// 0 → 0.000
	// 1 → 0.300
	// 0 → 0.210
	// 0 → 0.147
}

func ExampleEMA_Level() {
	f := thesis.EMA{Gain: 0.5}
	s, _ := f.Step(thesis.EMAState{}, 2)
	s, _ = f.Step(s, 4)
	fmt.Println(f.Level(s))
	// Output: 3
}

func ExampleEMA_Validate() {
	fmt.Println(thesis.EMA{Gain: -0.5}.Validate())
	// Output: thesis: Gain = -0.5: out of range
}

// A median over 5 samples removes a spike of two and delays a step by two.
func ExampleMedianEMA_Step() {
	f := thesis.MedianEMA{Window: 5, Gain: 1}
	var s thesis.MedianEMAState
	for _, x := range []float64{0, 1, 1, 0, 0, 0, 2, 2, 2} {
		var err error
		if s, err = f.Step(s, x); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(s.Level, " ")
	}
	fmt.Println()
	// Output: 0 0 0 0 0 0 0 0 2
}

func ExampleMedianEMA_Validate() {
	fmt.Println(thesis.MedianEMA{Window: 7}.Validate())
	fmt.Println(thesis.MedianEMA{Window: 17}.Validate())
	// Output:
	// <nil>
	// thesis: Window = 17: out of range
}

// The filter speeds up with the signal: it follows a step at once, and a spike
// no less.
func ExampleOneEuro_Step() {
	var f thesis.OneEuro
	var s thesis.OneEuroState
	for _, x := range []float64{.2, .2, .9, .2, .2} {
		var err error
		if s, err = f.Step(s, x); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.1f → %.3f\n", x, s.Level)
	}
	// Output:
	// 0.2 → 0.200
	// 0.2 → 0.200
	// 0.9 → 0.676
	// 0.2 → 0.509
	// 0.2 → 0.338
}

// A filter for samples of 1 Hz.
func ExampleOneEuro_Level() {
	f := thesis.OneEuro{Rate: 1, MinCutoff: 0.1}
	s, _ := f.Step(thesis.OneEuroState{}, 0.5)
	fmt.Println(f.Level(s))
	// Output: 0.5
}

func ExampleOneEuro_Validate() {
	fmt.Println(thesis.OneEuro{Rate: -10}.Validate())
	// Output: thesis: Rate = -10: out of range
}

// peak returns the highest level of a fresh filter in a spike of three samples.
func peak[S any](f thesis.Scalar[S]) (highest float64) {
	var s S
	for _, x := range []float64{0, 0, 1, 1, 1, 0, 0} {
		var err error
		if s, err = f.Step(s, x); err != nil {
			panic(err)
		}
		highest = max(highest, f.Level(s))
	}
	return highest
}

// Filters behind one interface meet the same spike.
func ExampleScalar() {
	fmt.Printf("%.2f\n", peak[filter.State](filter.Dynamic{}))
	fmt.Printf("%.2f\n", peak[thesis.EMAState](thesis.EMA{}))
	fmt.Printf("%.2f\n", peak[thesis.MedianEMAState](thesis.MedianEMA{}))
	fmt.Printf("%.2f\n", peak[thesis.OneEuroState](thesis.OneEuro{}))
	// Output:
	// 0.14
	// 0.66
	// 0.00
	// 0.97
}
