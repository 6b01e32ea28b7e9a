package v1alpha1_test

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
)

// An object has a pod's usage as quantities, rounded up, and a ratio as text.
func ExampleFromDemand() {
	written := v1alpha1.FromDemand(profile.Demand{
		CPU:    profile.Share{Amount: .25, Confidence: .5},
		Memory: profile.Share{Amount: 100<<20 - 1, Confidence: .5},
	})
	fmt.Println(written.CPU.Amount.String(), written.Memory.Amount.String(), written.CPU.Confidence)
	read, err := written.Value()
	fmt.Println(read.CPU.Amount, read.Memory.Amount == 100<<20, err)
	// Output:
	// 250m 100Mi 0.5
	// 0.25 true <nil>
}
