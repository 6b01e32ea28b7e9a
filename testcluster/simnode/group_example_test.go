package simnode_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// Two parts run; the second fails, which ends the other.
func ExampleGroup() {
	group, running := simnode.NewGroup(context.Background(), func(err error) { fmt.Println("while stopping:", err) })
	group.Start("clock", func(ctx context.Context) error {
		<-ctx.Done()
		fmt.Println("the clock stops")
		return nil
	})
	group.Start("scheduler", func(context.Context) error { return errors.New("no room") })
	<-running.Done()
	fmt.Println(context.Cause(running))
	group.Stop()
	// Output:
	// scheduler: no room
	// the clock stops
}
