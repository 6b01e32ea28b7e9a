package demo_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/spazio-scheduler/spazio/cmd/demo"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/batch"
)

// Fifty pods run on two simulated nodes, under one profile after the other, in about a minute.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := demo.Run(ctx, demo.Config{
		Config: batch.Config{Pods: 50, CPUSeconds: 2}, Nodes: 2, Cores: 4,
	}, demo.Options{
		Progress: os.Stderr,
		OnResult: func(r demo.Result) error {
			_, err := fmt.Print(r.Table())
			return err
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
