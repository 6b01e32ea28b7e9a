//go:build !race

// One goroutine's arithmetic takes the race detector ten times as long, and has no race.

package tuning_test

import (
	"context"
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim/tuning"
)

func ExampleRun() {
	runs, err := tuning.Run(context.Background(), []tuning.Scenario{"cut"}, []tuning.Tuner{"spazio"}, []uint64{4}, tuning.Config{Minutes: 60}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("settled within the thesis's 50 minutes:", runs[0].Settled <= 50)
	fmt.Println("limits are twice the requests:", math.Abs(runs[0].Limits/runs[0].Requests-2) < 1e-9)
	// Output:
	// settled within the thesis's 50 minutes: true
	// limits are twice the requests: true
}
