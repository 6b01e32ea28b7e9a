package kube_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/kube"
)

func Example() {
	// In a cluster the REST config is that of rest.InClusterConfig.
	source, err := kube.New(kube.Config{REST: &rest.Config{Host: "https://10.0.0.1"}, Node: "worker-1"})
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
