package prediction_test

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/sim/prediction"
)

// Of twenty spikes fifteen were predicted within a second, and a quarter of eight alarms was false;
// the node rejected for a tenth of the time.
func ExampleScore() {
	s := prediction.Score{Spikes: 20, Alarms: 8, Samples: 1000, Rejecting: 100}
	s.Foretold[0], s.False[0] = 15, 2
	fmt.Printf("%d s: foretold %.0f %%, in vain %.0f %%, %.0f %% of the time\n",
		prediction.Windows[0], 100*s.ForetoldShare(0), 100*s.FalseShare(0), 100*s.Rejected())
	// Output: 1 s: foretold 75 %, in vain 25 %, 10 % of the time
}
