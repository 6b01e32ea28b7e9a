package pronto_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/svd"
)

// A single detector sees a level with noise, a peak, and the level again.
func Example_detector() {
	d, err := pronto.NewDetector(pronto.DetectorConfig{Lag: 5, Threshold: 3})
	if err != nil {
		panic(err)
	}
	for _, v := range []float64{.50, .52, .49, .51, .50, .51, .90, .50} {
		flag, err := d.Step(v)
		if err != nil {
			panic(err)
		}
		fmt.Print(flag, " ")
	}
	// Output: 0 0 0 0 0 0 1 0
}

// Two channels rise and fall together, CPU and its pressure: after two seconds at 10 Hz the tracker has
// the direction, and rejects on a jump along it.
func ExampleTracker() {
	tracker, err := pronto.New(pronto.Config{Model: svd.Options{Rank: 1}})
	if err != nil {
		panic(err)
	}
	now := time.Unix(0, 0)
	sway := []float64{.00, .02, .03, .01, -.01, -.03, -.02}
	for i := range 40 {
		load := .4 + sway[i%len(sway)]
		if i == 35 {
			load = .9
		}
		s, err := tracker.Step(now.Add(time.Duration(i)*100*time.Millisecond), []float64{load, load / 2})
		if err != nil {
			panic(err)
		}
		if s.Reject {
			fmt.Printf("sample %d: R = %.0f\n", i, s.R)
		}
	}
	// Output: sample 35: R = 1
}
