package kalman_test

import (
	"errors"
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/kalman"
)

// Pods come and go on a node where each takes an eighth of the CPU.
func ExampleStep() {
	var s kalman.State // no measurement yet
	for i := range 200 {
		n := float64(i / 10 % 5)
		var err error
		if s, _, err = kalman.Step(s, .95-.125*n, n, kalman.Config{}); err != nil {
			panic(err)
		}
	}
	e := s.Estimate(kalman.Config{})
	fmt.Printf("a pod takes %.3f; an empty node has %.2f; known: %v\n", e.Cost, e.Capacity(), e.Known)

	// Half of the node becomes free while the pods stay: a change of capacity. The first measurements
	// are outliers, then the change is accepted.
	for i := range 6 {
		var v kalman.Verdict
		s, v, _ = kalman.Step(s, .95, 4, kalman.Config{})
		fmt.Printf("%d %s; ", i+1, v)
	}
	e = s.Estimate(kalman.Config{})
	fmt.Printf("a pod still takes %.2f\n", e.Cost)
	// Output:
	// a pod takes 0.125; an empty node has 0.95; known: true
	// 1 outlier; 2 outlier; 3 outlier; 4 outlier; 5 taken; 6 taken; a pod still takes 0.12
}

// An invalid measurement is refused, and the state is unchanged.
func ExampleStep_refused() {
	s, _, err := kalman.Step(kalman.State{}, math.NaN(), 2, kalman.Config{})
	fmt.Println(errors.Is(err, kalman.ErrInvalid), "started:", s.Started)
	fmt.Println(kalman.Config{Known: 2}.Validate())
	// Output:
	// true started: false
	// kalman: Known = 2: invalid configuration or input: must be 0 or in [0, 1]
}

// Before the pod count has changed, the cost is the prior and unknown.
func ExampleState_Estimate() {
	c := kalman.Config{Prior: .25}
	var s kalman.State
	for range 100 {
		s, _, _ = kalman.Step(s, .7, 2, c)
	}
	e := s.Estimate(c)
	fmt.Printf("cost %.2f, known: %v, room for %.1f more pods\n", e.Cost, e.Known, e.Capacity()/e.Cost-2)
	// Output: cost 0.25, known: false, room for 2.8 more pods
}

// A stored state is validated before it is used again.
func ExampleState_Validate() {
	s, _, _ := kalman.Step(kalman.State{}, .7, 2, kalman.Config{})
	fmt.Println(s.Validate())
	s.CostVar = -1
	fmt.Println(s.Validate())
	// Output:
	// <nil>
	// kalman: State.CostVar = -1: invalid configuration or input: is not a state
}

// The estimate of a node with little data is shrunk towards the fleet's.
func ExamplePool() {
	own := kalman.Estimate{Level: .5, MeanPods: 2, Cost: .05, CostSD: .1, Known: true}
	pooled := kalman.Pool(own, kalman.Fleet{Cost: .2}, 0, 0)
	fmt.Printf("%.3f ± %.3f\n", pooled.Cost, pooled.CostSD)
	// Output: 0.125 ± 0.071
}

// Two channels, CPU and memory, learn from one observation per second.
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

// The thesis's scalar signal: one channel, the headroom along the direction u₁
// of the load, as a share of the channel that u₁ loads most.
func ExampleNewPerChannel_scalar() {
	u := []float64{.8, .6}
	p, err := kalman.NewPerChannel(kalman.Config{})
	if err != nil {
		panic(err)
	}
	for i := range 300 {
		n := float64(i / 10 % 4)
		y := []float64{.05 + .12*n, .2 + .05*n}
		h := math.Min((1-y[0])/u[0], (1-y[1])/u[1])
		if err := p.Step(kalman.Observation{Headroom: []float64{h * u[0]}, Pods: n}); err != nil {
			panic(err)
		}
	}
	e := p.EstimatesTo(nil)[0]
	fmt.Printf("C = %.2f, c = %.3f\n", e.Capacity(), e.Cost)
	// Output: C = 0.95, c = 0.120
}

// On a full channel, and during a pause, the estimator learns nothing.
func ExamplePerChannel_VerdictsTo() {
	p, err := kalman.NewPerChannel(kalman.Config{}, kalman.Config{})
	if err != nil {
		panic(err)
	}
	for _, o := range []kalman.Observation{
		{Headroom: []float64{.5, .01}, Pods: 4},
		{Headroom: []float64{.3, .01}, Pods: 5, Pause: true},
	} {
		if err := p.Step(o); err != nil {
			panic(err)
		}
		for i, v := range p.VerdictsTo(nil) {
			fmt.Printf("channel %d: %s\n", i, v)
		}
	}
	// Output:
	// channel 0: taken
	// channel 1: censored
	// channel 0: frozen
	// channel 1: frozen
}

// One invalid channel refuses the whole observation.
func ExamplePerChannel_Step() {
	p, err := kalman.NewPerChannel(kalman.Config{}, kalman.Config{})
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Step(kalman.Observation{Headroom: []float64{.5, 1.5}, Pods: 1}))
	fmt.Println(p.Step(kalman.Observation{Headroom: []float64{.5}, Pods: 1}))
	fmt.Println(p.EstimatesTo(nil)[0].Started)
	// Output:
	// channel 1: kalman: Headroom = 1.5: invalid configuration or input: must be in [0, 1]
	// kalman: len(Headroom) = 1: wrong length: want 2
	// false
}
