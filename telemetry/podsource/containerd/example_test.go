package containerd_test

import (
	"context"
	"fmt"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/containerd"
)

func Example() {
	source, err := containerd.New(containerd.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // after the agent's life
	err = source.Run(ctx, func(e telemetry.PodEvent) { fmt.Println(e.Pods) })
	fmt.Println(err)
	// Output: <nil>
}
