package kalman_test

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/kalman"
)

// Pods come and go on a node where each takes an eighth of the CPU.
func ExampleStep() {
	var d kalman.State
	for i := range 200 {
		n := float64(i / 10 % 5)
		var err error
		if d, _, err = kalman.Step(d, .95-.125*n, n, kalman.Config{}); err != nil {
			panic(err)
		}
	}
	e := d.Estimate(kalman.Config{})
	fmt.Printf("a pod takes %.3f; an empty node has %.2f; known: %v\n", e.Cost, e.Capacity(), e.Known)
	// Output: a pod takes 0.125; an empty node has 0.95; known: true
}

// A node that has seen little is pulled towards what the fleet has found.
func ExamplePool() {
	own := kalman.Estimate{Level: .5, MeanPods: 2, Cost: .05, CostSD: .1, Known: true}
	pooled := kalman.Pool(own, kalman.Fleet{Cost: .2}, 0, 0)
	fmt.Printf("%.3f ± %.3f\n", pooled.Cost, pooled.CostSD)
	// Output: 0.125 ± 0.071
}

// Two channels, CPU and memory, learn from one observation a second.
func ExampleNewPerChannel() {
	p, err := kalman.NewPerChannel(kalman.Config{Prior: .25}, kalman.Config{Prior: .1})
	if err != nil {
		panic(err)
	}
	for i := range 300 {
		n := float64(i / 10 % 4)
		o := kalman.Observation{Headroom: []float64{.95 - .12*n, .8 - .05*n}, Pods: n}
		if err := p.Step(o); err != nil {
			panic(err)
		}
	}
	for i, e := range p.EstimatesTo(nil) {
		fmt.Printf("channel %d: C = %.2f, c = %.3f\n", i, e.Capacity(), e.Cost)
	}
	// Output:
	// channel 0: C = 0.95, c = 0.120
	// channel 1: C = 0.80, c = 0.050
}
