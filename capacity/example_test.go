package capacity_test

import (
	"errors"
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/capacity"
)

// A node at half its CPU and a fifth of its memory; the typical load takes a
// quarter of the CPU and a tenth of the memory.
func ExampleSolve() {
	y := []float64{.5, .2}
	q := []float64{.25, .1}
	r, err := capacity.Solve(y, q, capacity.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("room for %.1f typical loads; channel %d is full first\n", r.K, r.Limiting)

	// An idle fleet has no typical load: anything fits, but that is a guess.
	r, err = capacity.Solve(y, []float64{0, 0}, capacity.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.K, r.Flags&capacity.NoModel != 0)
	// Output:
	// room for 2.0 typical loads; channel 0 is full first
	// 100 true
}

// What cannot be a load is refused by name, index and value.
func ExampleSolve_refused() {
	_, err := capacity.Solve([]float64{.5, .2}, []float64{.25, math.NaN()}, capacity.Options{})
	fmt.Println(errors.Is(err, capacity.ErrInvalid), err)
	fmt.Println(capacity.Options{Max: -1}.Validate())
	// Output:
	// true capacity: q[1] = NaN: invalid configuration or input: must be finite and not negative
	// capacity: Max = -1: invalid configuration or input: must be finite and not negative
}

// The room along the direction of the load does not depend on its size.
func ExampleHeadroom() {
	y := []float64{.5, .2}
	u := []float64{.8, .6}
	h, limiting, err := capacity.Headroom(y, u)
	if err != nil {
		panic(err)
	}
	fmt.Printf("h = %.3f, channel %d\n", h, limiting)
	for _, s := range []float64{.1, .2} {
		r, err := capacity.Solve(y, []float64{s * u[0], s * u[1]}, capacity.Options{})
		if err != nil {
			panic(err)
		}
		fmt.Printf("s = %.1f: k = %.3f\n", s, r.K)
	}
	// Output:
	// h = 0.625, channel 0
	// s = 0.1: k = 6.250
	// s = 0.2: k = 3.125
}

// Two pods run and the measurements show both. Each costs a fifth of the CPU,
// give or take .05, so caution counts a quarter.
func ExampleAvailable() {
	cpu := capacity.Channel{Usage: .5, Capacity: 1, Cost: .2, CostSD: .05}
	a, err := capacity.Available([]capacity.Channel{cpu}, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("room for %.1f pods (%s mode)\n", a.Pods, a.Mode)
	// Output: room for 2.0 pods (signal mode)
}

func ExampleAvailOptions_Validate() {
	fmt.Println(capacity.AvailOptions{Allowance: -1}.Validate())
	// Output: capacity: Allowance = -1: invalid configuration or input: must be finite and not negative
}

// Four slots of two-second pods free two a second, and each takes a second to
// fill: two pods are to be on their way. Pods of a minute call for none, and for
// those of a tenth of a second the bound of four a slot holds.
func ExampleStartupAllowance() {
	node := capacity.Bounds{Slots: 4, Room: math.Inf(1), Free: .9}
	for _, run := range []float64{60, 2, .1} {
		p := capacity.Pace{Ends: 61, Lived: 60 * run, Startup: 1}
		pods, err := capacity.StartupAllowance(p, node, capacity.AllowanceOptions{})
		if err != nil {
			panic(err)
		}
		fmt.Printf("run time %4.1f s: %.2f pods ahead, short-lived: %v\n", 1/p.EndRate(), pods, p.ShortLived())
	}
	// Output:
	// run time 60.0 s: 0.00 pods ahead, short-lived: false
	// run time  2.0 s: 2.00 pods ahead, short-lived: false
	// run time  0.1 s: 16.00 pods ahead, short-lived: true
}

// A node on which nothing is granted ahead of confirmation.
func ExampleAllowanceOptions_Validate() {
	fmt.Println(capacity.AllowanceOptions{MostPerSlot: capacity.NoAllowance}.Validate())
	fmt.Println(capacity.AllowanceOptions{MostPerSlot: -2}.Validate())
	// Output:
	// <nil>
	// capacity: MostPerSlot = -2: invalid configuration or input: must be in [0, 1e6] or NoAllowance
}
