package filter_test

import (
	"errors"
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/filter"
)

// A spike of two samples barely shows; a level that lasts is taken with the
// fifth sample.
func Example() {
	var s filter.State
	for _, x := range []float64{.2, .2, .9, .9, .2, .2, .8, .8, .8, .8, .8, .8} {
		var err error
		if s, err = filter.Step(s, x, filter.Config{}); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.1f → %.3f\n", x, s.Level)
	}
	// Output:
	// 0.2 → 0.200
	// 0.2 → 0.200
	// 0.9 → 0.235
	// 0.9 → 0.268
	// 0.2 → 0.265
	// 0.2 → 0.262
	// 0.8 → 0.289
	// 0.8 → 0.314
	// 0.8 → 0.338
	// 0.8 → 0.361
	// 0.8 → 0.712
	// 0.8 → 0.782
}

// A rejected sample leaves the state as it was.
func ExampleStep() {
	s, err := filter.Step(filter.State{}, 0.4, filter.Config{})
	fmt.Println(s.Level, err)
	s, err = filter.Step(s, math.NaN(), filter.Config{})
	fmt.Println(s.Level, err)
	// Output:
	// 0.4 <nil>
	// 0.4 filter: x = NaN: not finite
}

func ExampleBank_StepTo() {
	bank, err := filter.NewBank(2, filter.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	y := make([]float64, 2)
	for _, x := range [][]float64{{.2, .5}, {.2, .5}, {.9, .5}, {.2, .5}} {
		if y, err = bank.StepTo(y, x); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("%.3f\n", y)

	// One bad channel, and none of them moves.
	_, err = bank.StepTo(y, []float64{0, math.Inf(1)})
	fmt.Printf("%.3f %v\n", y, err)
	// Output:
	// [0.233 0.500]
	// [0.233 0.500] filter: x[1] = +Inf: not finite
}

func ExampleNewBank() {
	_, err := filter.NewBank(2, filter.Config{Norm: 1.5})
	fmt.Println(errors.Is(err, filter.ErrRange), err)
	// Output: true filter: Norm = 1.5: out of range
}

// A filter for samples of 1 Hz that confirms a level with the second sample.
func ExampleConfig_Validate() {
	fmt.Println(filter.Config{N: 2, Hold: 0.1}.Validate())
	fmt.Println(filter.Config{Hold: 2}.Validate())
	// Output:
	// <nil>
	// filter: Hold = 2: out of range
}

// The states of a bank survive a restart as plain data.
func ExampleBank_StatesTo() {
	bank, _ := filter.NewBank(1, filter.Config{})
	for _, x := range []float64{.2, .9, .9} {
		_, _ = bank.StepTo(nil, []float64{x})
	}
	for _, s := range bank.StatesTo(nil) {
		fmt.Printf("level %.3f, %d samples beyond the gate\n", s.Level, s.Run)
	}
	bank.Reset()
	fmt.Println(bank.StatesTo(nil)[0].Started)
	// Output:
	// level 0.268, 2 samples beyond the gate
	// false
}

// A configuration that is validated once, for one channel.
func ExampleNewDynamic() {
	f, err := filter.NewDynamic(filter.Config{N: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	var s filter.State
	for _, x := range []float64{.2, .8, .2, .8, .8} {
		if s, err = f.Step(s, x); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.1f → %.3f\n", x, f.Level(s))
	}
	// Output:
	// 0.2 → 0.200
	// 0.8 → 0.230
	// 0.2 → 0.221
	// 0.8 → 0.250
	// 0.8 → 0.690
}

// The zero Dynamic is the default filter.
func ExampleDynamic_Step() {
	var s filter.State
	var err error
	for _, x := range []float64{.2, .9, .2} {
		if s, err = (filter.Dynamic{}).Step(s, x); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("%.3f\n", s.Level)
	// Output: 0.233
}
