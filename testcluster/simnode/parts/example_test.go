package parts_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/testcluster/simnode/parts"
)

// Two parts run; the second fails, which ends the other.
func Example() {
	group, running := parts.New(context.Background(), func(err error) { fmt.Println("while stopping:", err) })
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
