package energy_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
)

// A processor's counter is read a second apart, and two pods were busy meanwhile.
func Example() {
	at := time.Unix(0, 0)
	meter, _ := energy.NewMeter(energy.MeterConfig{})
	read := func(joules float64, at time.Time) []energy.Reading {
		return []energy.Reading{{Zone: "package-0", Counter: uint64(joules * 1e6), Range: 262143328850, At: at}}
	}
	_, err := meter.Add(read(1000, at))
	fmt.Println(err)
	interval, _ := meter.Add(read(1090, at.Add(time.Second)))
	fmt.Printf("%.0f W\n", interval.Watts)

	shares, rest, _ := energy.Split{}.AttributeTo(nil, &energy.Account{
		Joules: interval.Joules, SD: interval.SD, Idle: 40, IdleKnown: true,
		Busy: 2.5, Tree: 2, Capacity: 4,
		Consumers: []energy.Consumer{{Key: 1, CPU: 1.5}, {Key: 2, CPU: .5}},
	})
	for _, s := range shares {
		fmt.Printf("pod %d: %.0f J\n", s.Key, s.Joules)
	}
	fmt.Printf("idle %.0f J, the system %.0f J\n", rest.Idle, rest.System)
	// Output:
	// no reading before
	// 90 W
	// pod 1: 30 J
	// pod 2: 10 J
	// idle 40 J, the system 10 J
}

// The curve of a machine whose power was observed under load gives the cost of one more core.
func ExampleCurve() {
	curve, _ := energy.NewCurve(energy.CurveConfig{})
	for range 20 {
		for _, u := range []float64{0, .25, .5, .75, 1} {
			_ = curve.Learn(u, 40+80*u)
		}
	}
	idle, known := curve.Idle()
	fmt.Printf("%.0f W idle, %v\n", idle, known)
	slope, _ := curve.Marginal(.5, .25)
	fmt.Printf("%.0f W a core of 4\n", slope.Watts/4)
	// Output:
	// 40 W idle, true
	// 20 W a core of 4
}

// Goodness prefers the node whose power a pod raises least, unless it is full.
func ExampleGoodness() {
	small := energy.Power{Quality: energy.Measured, Marginal: 20, Busy: 1, Cores: 4}
	large := energy.Power{Quality: energy.Measured, Marginal: 50, Busy: 1, Cores: 16}
	full := small
	full.Busy = 4
	for _, n := range []energy.Power{small, large, full} {
		fmt.Printf("%.5f\n", energy.Goodness(&n, 3, 0, 1, energy.Marginal, false))
	}
	// Output:
	// 0.05000
	// 0.02000
	// 0.00020
}
