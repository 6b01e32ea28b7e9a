package podsource_test

import (
	"context"
	"fmt"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource"
)

func ExampleNewCRI() {
	// On a node the zero Config finds the runtime's socket.
	source, err := podsource.NewCRI(podsource.Config{Endpoint: "/run/containerd/containerd.sock"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // after the agent's life
	err = source.Run(ctx, func(e telemetry.PodEvent) { fmt.Println(e.Pods) })
	fmt.Println(err)

	_, err = podsource.NewCRI(podsource.Config{Endpoint: "tcp://10.0.0.1:1234"})
	fmt.Println(err)
	// Output:
	// <nil>
	// telemetry: Endpoint = tcp://10.0.0.1:1234: invalid configuration or input: neither an absolute path nor unix:// and one
}
