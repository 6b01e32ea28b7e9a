package capacity_test

import (
	"fmt"

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
	// Output: room for 2.0 typical loads; channel 0 is full first
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
