//go:build !race

// One goroutine's arithmetic takes the race detector ten times as long, and has no race.

package tuning_test

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim/tuning"
)

func ExampleRun() {
	r, err := tuning.Run(tuning.Config{Scenario: tuning.Cut, Seed: 4, Minutes: 60})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("settled within the thesis's 50 minutes:", r.Settled <= 50)
	fmt.Println("limits are twice the requests:", math.Abs(r.Limits/r.Requests-2) < 1e-9)
	// Output:
	// settled within the thesis's 50 minutes: true
	// limits are twice the requests: true
}
